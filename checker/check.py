"""Check certificates of terms: `python checker/check.py FILE...`.

Nothing of what is judged is imported or run: a term's promise is derived anew from its JSON, its tables are checked
number by number, and the code that runs terms must be as it was when somebody read it. A table is in the certificate,
or is named there by the SHA-256 of a file in the folder `tables` beside it.

The code is the repository's around this file, or where `exactdp` is installed that copy's, or the folder's after
`--code`. A certificate names the hashes of the code that wrote it; they must be those of this code. README.md has more.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import hashlib
import json
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from checker import claims, rules
from checker.forms import Fields, Refused, parsed, read
from checker.laws import Law
from checker.readings import ROOT, hash_of, require_read
from checker.tables import check_table

SCHEMA = "exact-term/2"
TABLES = Path("tables")


@dataclass(frozen=True)
class Conclusion:
    """What a certificate shows."""

    statement: str
    cells: int
    readings: tuple[str, ...]


def check(certificate: Any, tables: Path = TABLES, code: Path = ROOT) -> Conclusion:
    """Check a certificate."""
    fields = Fields(certificate, "a certificate")
    fields.one_of("schema", SCHEMA)
    fields.take("name", str)
    form = fields.take("term")
    term = rules.release(form)
    relation, promised = fields.take("relation", str), claims.claim(fields.take("claim"))
    checked = [_checked(_text_of(table, tables)) for table in fields.take("tables", list)]
    written_by = fields.take("code", dict)
    fields.done()
    if term.neighbours is None or term.neighbours.relation != relation:
        raise Refused(
            f"the term's neighbours are {term.neighbours.relation if term.neighbours else 'any'}, not {relation}"
        )
    if not rules.derived("losses", partial(claims.keep, term.losses, promised)):
        raise Refused(f"the term is not seen to keep {promised}")
    _require_tables(term.tabled, [law for law, _ in checked])
    cells = sum(cells for _, cells in checked)
    shown = require_read(code)
    if other := sorted(path for path in {*shown, *written_by} if shown.get(path) != written_by.get(path)):
        raise Refused(f"the certificate was written by other code than {code} holds: {', '.join(other[:3])}")
    statement = f"{promised} for every pair of {term.neighbours.words}{_conditions(form, code, shown)}"
    read_files = tuple(path for path in shown if Path(path).parent.name in ("mechanisms", "core"))
    return Conclusion(statement, cells, read_files)


def _conditions(form: Any, code: Path, shown: dict[str, str]) -> str:
    """Say on which functions of somebody else a term rests; one whose file is there must be as the term says."""
    said = []
    for name, digest, argument in rules.functions(form):
        path = f"{name.partition(':')[0].replace('.', '/')}.py"
        known = shown.get(path) or (hash_of(code / path) if (code / path).is_file() else digest)
        if digest != known:
            raise Refused(f"{path} is not the file of {name} that the certificate was written with")
        said.append(f"`{name}` is a function of {argument}")
    return f", if {' and '.join(dict.fromkeys(said))}" if said else ""


def _text_of(table: Any, folder: Path) -> str:
    """Return the text of a table, from the file that the certificate names if it does."""
    if type(table) is not dict or "sha256" not in table:
        return json.dumps(table)
    fields = Fields(table, "a table")
    digest = fields.take("sha256", str)
    fields.done()
    if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
        raise Refused("a table must be named by 64 hexadecimal digits")
    try:
        content = (folder / f"{digest}.json").read_bytes()
    except OSError as error:
        raise Refused(f"the table {digest} cannot be read: {error.strerror}") from error
    if hashlib.sha256(content).hexdigest() != digest:
        raise Refused(f"the file of the table {digest} holds something else")
    return content.decode("utf-8", "replace")


@cache
def _checked(table: str) -> tuple[Law, int]:
    """Check a table once, however many certificates have it."""
    return rules.derived("a table", lambda: check_table(parsed(table, "a table")))


def _require_tables(wanted: frozenset[Law], given: list[Law]) -> None:
    missing = wanted - set(given)
    if missing:
        raise Refused(f"there is no table of {', '.join(sorted(map(str, missing)))}, which the term draws from")


def main(arguments: list[str]) -> int:
    """Check the certificates of some paths and print what each of them shows."""
    code = ROOT
    if len(arguments) > 1 and arguments[0] == "--code":
        code, arguments = Path(arguments[1]), arguments[2:]
    paths = [Path(argument) for argument in arguments]
    if not paths or any(argument.startswith("-") for argument in arguments):
        print("usage: python checker/check.py [--code FOLDER] FILE...", file=sys.stderr)
        return 2
    refused = 0
    for path in paths:
        try:
            shown = rules.derived("a certificate", partial(check, read(path), path.parent / TABLES, code))
        except Refused as error:
            refused += 1
            print(f"REFUSED   {path.stem}: {error}")
            continue
        print(f"ACCEPTED  {path.stem}: {shown.statement}")
        names = ", ".join(Path(file).stem for file in shown.readings if not file.endswith("__init__.py"))
        print(f"          checked {shown.cells:,} cells of tables; readings {names}")
    return int(refused > 0)


def run() -> int:
    """Be the command `exactdp-check`."""
    return main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(run())

"""Break the constructors of `mechanisms/core` in one place each, and count which mistakes their tests notice."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from bench.mutants.operators import mutants
from bench.mutants.page import page
from bench.mutants.running import CORE, KILLED, ROOT, TIMED_OUT, run

RECORD, PAGE = ROOT / "reports" / "data" / "mutants.jsonl", ROOT / "reports" / "mutations.md"


def main() -> None:
    """Make mutants, run the tests on each, and write the record and the page."""
    parser = argparse.ArgumentParser(prog="python -m bench.mutants", description=__doc__)
    parser.add_argument("--module", action="append", help="one of mechanisms/core; nothing is written [default: all]")
    parser.add_argument("--sample", type=int, default=300, help="how many mutants, 0 for all [default: 300]")
    parser.add_argument("--seed", type=int, default=0, help="which ones [default: 0]")
    parser.add_argument("--again", action="store_true", help="take from the record what was killed, and run the others")
    options = parser.parse_args()
    sources = {path.stem: path.read_text("utf-8") for path in sorted((ROOT / CORE).glob("*.py"))}
    chosen = [mutant for name in options.module or sources for mutant in mutants(name, sources[name])]
    chosen = sorted(chosen, key=lambda mutant: mutant.rank(options.seed))[: options.sample or None]
    before = map(json.loads, RECORD.read_text("utf-8").splitlines()) if options.again else ()
    rows = {row["key"]: row for row in before if row["outcome"] in (KILLED, TIMED_OUT)}
    rows = {mutant.key: rows[mutant.key] for mutant in chosen if mutant.key in rows}
    for row in run([mutant for mutant in chosen if mutant.key not in rows], sources):
        rows[row["key"]] = row
        print(f"{row['outcome']} in {row['seconds']:.0f} s: {row['key']}", flush=True)
    print(*(f"{count} {outcome}" for outcome, count in Counter(row["outcome"] for row in rows.values()).items()))
    if not options.module:
        ordered = sorted(rows.values(), key=_place)
        RECORD.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ordered), "utf-8")
        PAGE.write_text(page(ordered, options.seed), "utf-8")


def _place(row: Mapping[str, Any]) -> tuple[str, int, str]:
    return row["module"], row["line"], row["key"]


if __name__ == "__main__":
    main()

"""`attacklab list`: the targets, the attacks and the libraries, and one page about a flaw; no target is imported."""

import ast
import json as json_
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from attacklab.auditing.flaws import Flaw, catalogue
from attacklab.cli.messages import by_name
from attacklab.cli.output import console
from attacklab.libraries import NAMES, library
from attacklab.loading.environments import environments
from attacklab.model.errors import UsageError
from attacklab.model.plain_text import WIDTH
from attacklab.reporting.lab import CORPUS, FOLDER, is_lab
from attacklab.reporting.screen import wrapped
from attacklab.reporting.wording import EXAMPLE, explanation

INDENT = 28
"""The column at which the explanation of a name begins. A longer name has a line of its own."""

TARGETS = f"{FOLDER}.targets"
NAME = "attacks, libraries, experiments or targets; or a flaw by its name or code, such as AL04 [default: all]"


def command(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help=NAME)] = None,
    json: Annotated[bool, typer.Option("--json", help="Write the list to standard output, as JSON")] = False,
) -> None:
    """List what there is to attack or run; explain a flaw."""
    flaws: dict[str, Any] = {key: flaw for flaw in catalogue().values() for key in (flaw.name, flaw.code)}
    if name is not None and name not in SECTIONS:
        _explain(by_name(name, {**dict.fromkeys(SECTIONS), **flaws}, "list or flaw"))
        return
    listed = {section: rows for section in ([name] if name else SECTIONS) if (rows := list(SECTIONS[section]()))}
    if json:
        typer.echo(json_.dumps(listed, indent=1, ensure_ascii=False))
        return
    for section, rows in listed.items():
        _print(section, rows)
    if name is None and not is_lab(Path.cwd()):
        console().print("\nIn a checkout of the lab, targets and experiments are listed too.")


def _attacks() -> Iterator[dict[str, str]]:
    for flaw in sorted(catalogue().values(), key=lambda flaw: flaw.code):
        yield {"code": flaw.code, "name": flaw.name, "about": flaw.sentence}


def _libraries() -> Iterator[dict[str, str]]:
    known = environments(Path.cwd())
    for described in map(library, NAMES):
        places = [f"here, {described.installed}"] * bool(described.installed)
        built = (entry.name for entry in known if entry.library == described.name and not entry.is_missing)
        places += [f"--in-env {name}" for name in built]
        where = "; ".join(places) or f"pip install {described.distribution}"
        yield {"name": described.name, "about": f"{', '.join(described.mechanisms)} ({where})"}
    for entry in known:
        if entry.is_missing:
            yield {"name": entry.name, "about": f"not built; {entry.build}"}


def _experiments() -> Iterator[dict[str, str]]:
    for module, made in _statements(FOLDER, CORPUS):
        if isinstance(made, ast.Assign) and ast.unparse(made.targets[0]) == "QUESTION":
            yield {"name": module, "about": ast.literal_eval(made.value)}


def _targets() -> Iterator[dict[str, str]]:
    folder, offered = TARGETS.replace(".", "/"), set[str]()
    for module, made in _statements(folder):  # that of the package comes first
        if isinstance(made, ast.ImportFrom) and module == "__init__":
            offered.add(f"{made.module}")
        if isinstance(made, ast.FunctionDef) and made.decorator_list and f"{TARGETS}.{module}" in offered:
            yield {"name": f"{TARGETS}:{made.name}", "about": (ast.get_docstring(made) or "").partition("\n")[0]}


def _statements(*folders: str) -> Iterator[tuple[str, ast.stmt]]:
    """Yield (module's name, statement) for the modules in folders of the lab. Outside of a lab, yield nothing."""
    files = [file for folder in folders for file in sorted(Path(folder).glob("*.py"))]
    for file in files if is_lab(Path.cwd()) else ():
        try:
            yield from ((file.stem, made) for made in ast.parse(file.read_bytes()).body)
        except SyntaxError as error:
            raise UsageError(f"{file} is not Python: {error}; repair it") from error


SECTIONS: Mapping[str, Callable[[], Iterator[dict[str, str]]]] = {
    "attacks": _attacks,
    "libraries": _libraries,
    "experiments": _experiments,
    "targets": _targets,
}


def _print(section: str, rows: list[dict[str, str]]) -> None:
    out = console()
    out.print(f"\n{section}")
    for row in rows:
        head = f"  {row['code']} {row['name']}" if "code" in row else f"  {row['name']}"
        if len(head) >= INDENT:
            out.print(head)
            head = ""
        for line in wrapped(row["about"], WIDTH, f"{head:{INDENT}}", " " * INDENT):
            out.print(line)


def _explain(flaw: Flaw) -> None:
    out = console()
    out.print(f"{flaw.code} {flaw.name}: {flaw.sentence}")
    for title, text in explanation(flaw):
        out.print(f"\n{title}")
        for line in text.splitlines() if title == EXAMPLE else wrapped(text, out.width - 4, "", ""):
            out.print(f"    {line}".rstrip())

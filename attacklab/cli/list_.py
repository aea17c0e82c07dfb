"""`attacklab list`: the targets, the attacks and the libraries, and one page about a flaw; no target is imported."""

import ast
import json as json_
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from attacklab.auditing.flaws import Flaw, catalogue
from attacklab.cli.messages import by_name
from attacklab.cli.output import INDENT, console, print_wrapped
from attacklab.libraries import NAMES, library
from attacklab.loading.environments import environments
from attacklab.model.errors import UsageError
from attacklab.model.plain_text import WIDTH
from attacklab.reporting.lab import CORPUS, FOLDER, is_lab
from attacklab.reporting.wording import EXAMPLE, explanation

WIDEST_NAME = 24
"""A name with more characters than this has a line of its own."""

TARGETS = f"{FOLDER}.targets"
NAME = "attacks, libraries, experiments or targets; or a flaw by its name or code, such as AL04 [default: all]"


def command(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help=NAME)] = None,
    json: Annotated[bool, typer.Option("--json", help="Write the list to standard output, as JSON")] = False,
) -> None:
    """List what there is to attack or run; explain a flaw."""
    flaws = {key: flaw for flaw in catalogue().values() for key in (flaw.name, flaw.code)}
    if name is not None and name not in SECTIONS:
        known: dict[str, Flaw | None] = {**dict.fromkeys(SECTIONS), **flaws}
        if (flaw := by_name(name, known, "list or flaw")) is not None:
            _explain(flaw)
        return
    listed = {section: rows for section in ([name] if name else SECTIONS) if (rows := list(SECTIONS[section]()))}
    if json:
        typer.echo(json_.dumps(listed, indent=1, ensure_ascii=False))
        return
    for section, rows in listed.items():
        _print(section, rows)
    if name is None and not is_lab(Path.cwd()):
        print_wrapped(console(), "\nIn a checkout of the lab, targets and experiments are listed too.", "")


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
    for folder in (FOLDER, CORPUS):
        for file, source in _sources(folder):
            for made in source.body:
                if isinstance(made, ast.Assign) and ast.unparse(made.targets[0]) == "QUESTION":
                    yield {"name": file.stem, "about": ast.literal_eval(made.value)}


def _targets() -> Iterator[dict[str, str]]:
    folder = TARGETS.replace(".", "/")
    for file, source in _sources(folder):
        is_offered = f"from {TARGETS}.{file.stem} import" in Path(folder, "__init__.py").read_text("utf-8")
        for made in source.body if is_offered or file.name == "__init__.py" else ():
            if isinstance(made, ast.FunctionDef) and (made.decorator_list or not is_offered) and made.name[0] != "_":
                about = (ast.get_docstring(made) or "").partition("\n")[0]
                yield {"name": f"{TARGETS}:{made.name}", "about": about}


def _sources(folder: str) -> Iterator[tuple[Path, ast.Module]]:
    """The files of a folder of the lab with their syntax trees. Without a lab there are none."""
    for file in sorted(Path(folder).glob("*.py")) if is_lab(Path.cwd()) else ():
        try:
            yield file, ast.parse(file.read_bytes())
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
        head = f"{row['code']} {row['name']}" if "code" in row else row["name"]
        if len(head) > WIDEST_NAME:
            out.print(f"  {head}")
            head = ""
        for line in textwrap.wrap(row["about"], WIDTH - WIDEST_NAME - 4) or [""]:
            out.print(f"  {head:{WIDEST_NAME}}  {line}".rstrip())
            head = ""


def _explain(flaw: Flaw) -> None:
    out = console()
    out.print(f"{flaw.code} {flaw.name}: {flaw.sentence}")
    for title, text in explanation(flaw):
        out.print(f"\n{title}")
        if title == EXAMPLE:
            out.print(textwrap.indent(text, INDENT))
        else:
            print_wrapped(out, text, INDENT)

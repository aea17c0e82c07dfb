"""`attacklab list`: what there is to attack, to run and to load; and one page about a flaw."""

from __future__ import annotations

import json as json_
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import typer

from attacklab.attacks import ALL_ATTACKS
from attacklab.auditing.flaws import Flaw, catalogue
from attacklab.cli import options
from attacklab.cli.messages import by_name, say
from attacklab.cli.output import INDENT, console, print_wrapped
from attacklab.libraries import NAMES, library
from attacklab.libraries.environments import environments
from attacklab.model.errors import UsageError
from attacklab.model.loading import targets_of
from attacklab.reporting.experiment import load_experiments
from attacklab.reporting.lab import FOLDER, is_lab
from attacklab.reporting.screen import WIDTH
from attacklab.reporting.wording import EXAMPLE, explanation

WIDEST_NAME = 24
"""A longer name has a line of its own."""


def command(name: options.Listed = None, json: options.ListJson = False) -> None:
    """List what there is to attack or run; explain a flaw."""
    flaws = {key: flaw for flaw in catalogue().values() for key in (flaw.name, flaw.code)}
    chosen = list(SECTIONS) if name is None else [name]
    if name is not None and name not in SECTIONS:
        known: dict[str, Flaw | None] = {**dict.fromkeys(SECTIONS), **flaws}
        if (flaw := by_name(name, known, "list or flaw")) is not None:
            _explain(flaw, json=json)
        return
    listed: dict[str, list[dict[str, str]]] = {}
    for section in chosen:
        try:
            listed[section] = list(SECTIONS[section]())
        except UsageError as error:  # the others are there all the same
            if name is not None:
                raise
            say(f"{section} are not listed: {error}")
    if json:
        typer.echo(json_.dumps(listed, indent=1, ensure_ascii=False))
        return
    for section, rows in listed.items():
        if rows:
            _print(section, rows)
    if name is None and not is_lab(Path.cwd()):
        print_wrapped(console(), "\nIn a checkout of the lab, targets and experiments are listed too.", "")


def _attacks() -> Iterator[dict[str, str]]:
    flaws = catalogue()
    for flaw in sorted(flaws.values(), key=lambda flaw: flaw.code):
        yield {"code": flaw.code, "name": flaw.name, "about": flaw.sentence}
    for attack in ALL_ATTACKS:
        if attack.name not in flaws:
            yield {"code": "", "name": attack.name, "about": attack.flaw}


def _libraries() -> Iterator[dict[str, str]]:
    known = environments(Path.cwd())
    for described in map(library, NAMES):
        places = [f"here, {described.installed}"] if described.installed else []
        built = (entry for entry in known if entry.library == described.name and not entry.is_missing)
        places += [f"--in-env {entry.name}" for entry in built]
        where = "; ".join(places) or f"pip install {described.distribution}"
        yield {"name": described.name, "about": f"{', '.join(described.mechanisms)} ({where})"}
    for entry in known:
        if entry.is_missing:
            yield {"name": entry.name, "about": f"environment {entry.name} is not built; build it with: {entry.build}"}


def _experiments() -> Iterator[dict[str, str]]:
    if is_lab(Path.cwd()):
        for experiment in load_experiments(Path.cwd()).values():
            yield {"name": experiment.name, "about": experiment.question}


def _targets() -> Iterator[dict[str, str]]:
    if is_lab(Path.cwd()):
        for name, summary in targets_of(f"{FOLDER}.targets").items():
            yield {"name": f"{FOLDER}.targets:{name}", "about": summary}


SECTIONS: Mapping[str, Callable[[], Iterator[dict[str, str]]]] = {
    "attacks": _attacks,
    "libraries": _libraries,
    "experiments": _experiments,
    "targets": _targets,
}


def _print(section: str, rows: list[dict[str, str]]) -> None:
    out, heads = console(), [f"{row['code']:4} {row['name']}" if "code" in row else row["name"] for row in rows]
    column = min(max(map(len, heads)), WIDEST_NAME) + len(INDENT)
    out.print(f"\n{section}")
    for head, row in zip(heads, rows, strict=True):
        about = textwrap.wrap(row["about"], WIDTH - column, break_on_hyphens=False) or [""]
        if len(head) > column - 4:
            about.insert(0, "")
        for number, line in enumerate(about):
            print_wrapped(
                out, f"{head:{column - 2}}{line}" if number == 0 else line, "  " if number == 0 else " " * column
            )


def _explain(flaw: Flaw, *, json: bool) -> None:
    parts = explanation(flaw)
    if json:
        named = {"code": flaw.code, "name": flaw.name, "about": flaw.sentence}
        typer.echo(json_.dumps({**named, **dict(parts)}, indent=1, ensure_ascii=False))
        return
    out = console()
    out.print(f"{flaw.code} {flaw.name}: {flaw.sentence}")
    for title, text in parts:
        out.print(f"\n{title}")
        if title == EXAMPLE:
            out.print(textwrap.indent(text, INDENT), soft_wrap=True)
        else:
            print_wrapped(out, text, INDENT)

"""`attacklab demo` and `attacklab challenge`: attacks for the lecture hall, and mechanisms to break, in a clone."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Annotated, TypeAlias

import click
import typer

from attacklab.cli.messages import Seed, Status, by_name
from attacklab.model.plain_text import plain
from attacklab.reporting.lab import enter_lab

Language: TypeAlias = Annotated[str, typer.Option("--language", help="en for English, zh for Chinese")]


def demo(
    flaws: Annotated[
        list[str] | None, typer.Argument(metavar="FLAW", help="What to show [default: all, one after another]")
    ] = None,
    language: Language = "en",
    seed: Seed = 0,
) -> None:
    """Show attacks live, on naive and exact twins (in a clone)."""
    lab = _lab("experiments.demo", language)
    shows = {name: name for name in lab.SHOWS}
    chosen = [by_name(name, shows, "demonstration") for name in flaws or shows]
    wait = (lambda: click.getchar() not in ("q", "Q")) if sys.stdin.isatty() and sys.stdout.isatty() else None
    lab.play(chosen, language=language, seed=seed, say=typer.echo, wait=wait)


def challenge(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="An attack, a repair or a verdict to judge [default: list the mechanisms]"),
    ] = None,
    language: Language = "en",
) -> None:
    """List challenges, or judge what was handed in (in a clone)."""
    lab = _lab("challenges", language)
    lines, is_passed = lab.listed(language), True
    if file is not None:
        grade = lab.grade(file, language=language)
        lines, is_passed = grade.lines, grade.passed
    for line in lines:
        typer.echo(plain(line))
    raise typer.Exit(Status.OK if is_passed else Status.REFUTED)


def _lab(name: str, language: str) -> ModuleType:
    """A package of the lab, which speaks the language."""
    enter_lab(Path.cwd())
    module = importlib.import_module(name)
    by_name(language, {known: known for known in module.LANGUAGES}, "language")
    return module

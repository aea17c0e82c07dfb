"""`attacklab demo`: an attack for the lecture hall, where a lab is."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Annotated

import click
import typer

from attacklab.cli.messages import by_name
from attacklab.cli.options import Language, Seed
from attacklab.reporting.lab import enter_lab


def command(
    flaws: Annotated[
        list[str] | None, typer.Argument(metavar="FLAW", help="What to show [default: all, one after another]")
    ] = None,
    language: Language = "en",
    seed: Seed = 0,
) -> None:
    """Show attacks live, on naive mechanisms and exact twins."""
    enter_lab(Path.cwd())
    demo = importlib.import_module("experiments.demo")
    shows = {name: name for name in demo.SHOWS}
    chosen = [by_name(name, shows, "demonstration") for name in flaws or shows]
    spoken = by_name(language, {name: name for name in demo.LANGUAGES}, "language")
    wait = (lambda: click.getchar() not in ("q", "Q")) if sys.stdin.isatty() and sys.stdout.isatty() else None
    demo.play(chosen, language=spoken, seed=seed, say=typer.echo, wait=wait)

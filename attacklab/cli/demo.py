"""`attacklab demo`: an attack for the lecture hall, where a lab is."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import click
import typer

from attacklab.cli import options
from attacklab.cli.messages import by_name
from attacklab.reporting.lab import enter_lab


def command(flaws: options.DemoFlaws = None, language: options.Language = "en", seed: options.Seed = 0) -> None:
    """Show attacks live, on naive mechanisms and exact twins."""
    enter_lab(Path.cwd())
    demo = importlib.import_module("experiments.demo")
    shows = {name: name for name in demo.SHOWS}
    chosen = [by_name(name, shows, "demonstration") for name in flaws or shows]
    spoken = by_name(language, {name: name for name in demo.LANGUAGES}, "language")
    wait = (lambda: click.getchar() not in ("q", "Q")) if sys.stdin.isatty() and sys.stdout.isatty() else None
    demo.play(chosen, language=spoken, seed=seed, say=typer.echo, wait=wait)

"""`attacklab challenge`: eleven mechanisms of a fictitious library, and a judge of attacks and repairs, in a clone."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Annotated, Literal

import typer

from attacklab.cli.messages import Status, by_name
from attacklab.cli.options import Language
from attacklab.model.errors import UsageError
from attacklab.model.plain_text import plain
from attacklab.reporting.lab import enter_lab


def command(
    action: Annotated[
        Literal["list", "check"], typer.Argument(help="list: the mechanisms; check: judge a file")
    ] = "list",
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="What was handed in: an attack, a repair or a verdict")
    ] = None,
    language: Language = "en",
) -> None:
    """List challenges, or judge what was handed in."""
    enter_lab(Path.cwd())
    challenges = importlib.import_module("challenges")
    spoken = by_name(language, {name: name for name in challenges.LANGUAGES}, "language")
    if action == "list":
        if file is not None:
            raise UsageError(f"list takes no file; to judge one: attacklab challenge check {file}")
        lines, status = challenges.listed(spoken), Status.OK
    elif file is None:
        raise UsageError("check takes a file: attacklab challenge check FILE")
    else:
        grade = challenges.grade(file, language=spoken)
        lines, status = grade.lines, Status.OK if grade.passed else Status.REFUTED
    for line in lines:
        typer.echo(plain(line))
    raise typer.Exit(status)

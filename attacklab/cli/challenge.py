"""`attacklab challenge`: eleven mechanisms of a fictitious library, and a judge of attacks and repairs, in a clone."""

from __future__ import annotations

import importlib
from pathlib import Path

import typer

from attacklab.cli import options
from attacklab.cli.messages import by_name
from attacklab.cli.options import ChallengeAction
from attacklab.cli.status import Status
from attacklab.model.errors import UsageError
from attacklab.model.plain_text import plain
from attacklab.reporting.lab import enter_lab


def command(
    action: options.ChallengeDo = ChallengeAction.LIST,
    file: options.ChallengeFile = None,
    language: options.Language = "en",
) -> None:
    """List challenges, or judge what was handed in."""
    enter_lab(Path.cwd())
    challenges = importlib.import_module("challenges")
    spoken = by_name(language, {name: name for name in challenges.LANGUAGES}, "language")
    if action is ChallengeAction.LIST:
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

"""How a command ends, lines on standard error, and the choice of a thing by its name."""

from __future__ import annotations

import contextlib
import difflib
import enum
import shlex
from collections.abc import Mapping
from typing import TypeVar

import typer

from attacklab.model.errors import UsageError
from attacklab.model.plain_text import plain

Named = TypeVar("Named")


class Status(enum.IntEnum):
    """How a command ends."""

    OK = 0
    """Nothing was refuted."""
    REFUTED = 1
    """A claim was refuted; of `challenge check`, what was handed in does not pass."""
    FAILED = 2
    """A usage error, an ERROR finding, nothing that could be decided, or a bug."""
    INTERRUPTED = 130
    """The user pressed Ctrl-C."""


def say(line: str) -> None:
    """Print one line on standard error, if somebody reads it."""
    with contextlib.suppress(OSError):
        typer.echo(f"attacklab: {plain(line)}", err=True)


def words_of(command: str) -> list[str]:
    """The words of the program after --exec.

    Raises:
        UsageError: a quotation in it does not end.
    """
    try:
        return shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--exec {command}: {str(error).lower()}; quote the command as a shell would") from error


def by_name(name: str, known: Mapping[str, Named], label: str) -> Named:
    """Look a thing up by the name that the user gave.

    Args:
        name: what the user wrote.
        known: everything there is, by name.
        label: what the thing is called in the message, such as "attack".

    Raises:
        UsageError: nothing has that name; the message suggests a similar one, or lists them all.
    """
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(known)}"
    raise UsageError(f"there is no {label} {name!r}; {hint}")

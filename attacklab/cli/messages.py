"""What commands share: exit statuses, lines on standard error, look-up by name, and options."""

import contextlib
import difflib
import enum
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

import typer

from attacklab.model.errors import UsageError
from attacklab.model.plain_text import plain

Named = TypeVar("Named")

CLAIM, INPUTS, BUDGET, WHERE, OUTPUT = "Claim", "Inputs", "Budget", "Where it runs", "Output"
"""The groups of options in the help."""


def option(group: str, help_: str, *names: str, **rest: Any) -> Any:
    """Return a typer option that the help shows in a group."""
    return typer.Option(*names, help=help_, rich_help_panel=group, **rest)


Alpha: TypeAlias = Annotated[float, option(BUDGET, "Probability of a false alarm in the whole run")]
Seed: TypeAlias = Annotated[int, option(BUDGET, "Seed of all randomness", min=0, metavar="N")]
Json: TypeAlias = Annotated[
    Path | None, option(OUTPUT, "Write all findings here; - to standard output", metavar="FILE")
]
Verbose: TypeAlias = Annotated[bool | None, option(OUTPUT, "Print all, or one line", "--verbose/--quiet", "-v/-q")]


class Status(enum.IntEnum):
    """The exit status of a command."""

    OK = 0  # nothing was refuted
    REFUTED = 1  # a claim was refuted, or a challenge is not solved
    FAILED = 2  # a usage error, an ERROR finding, nothing that could be decided, or a bug
    INTERRUPTED = 130  # the user pressed Ctrl-C


def say(line: str) -> None:
    """Print one line on standard error, if somebody reads it."""
    with contextlib.suppress(OSError):
        typer.echo(f"attacklab: {plain(line)}", err=True)


def words_of(command: str) -> list[str]:
    """Split the command after --exec into words, as a shell does; refuse it if a quotation does not end."""
    try:
        return shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--exec {command}: {str(error).lower()}; quote the command as a shell would") from error


def by_name(name: str, known: Mapping[str, Named], label: str) -> Named:
    """Look up what the user named; `label` says what it is, such as "attack". An error suggests an existing name."""
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(known)}"
    raise UsageError(f"there is no {label} {name!r}; {hint}")

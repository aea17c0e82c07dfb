"""Lines on either stream, and the choice of a thing by its name."""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import shlex
import shutil
import sys
import textwrap
from collections.abc import Mapping
from typing import TypeVar

import typer
from rich.console import Console

from attacklab.model.errors import UsageError
from attacklab.model.plain_text import plain

Named = TypeVar("Named")

INDENT = " " * 4

UNWRAPPED = 1_000_000
"""The width of what is not a terminal, in columns: no line is that long."""


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


def console() -> Console:
    """Standard output, as wide as COLUMNS or the terminal says; without either, no line is wrapped."""
    out = Console(markup=False, highlight=False)
    if not re.fullmatch("0*[1-9][0-9]*", os.environ.get("COLUMNS", "")):
        out.width = shutil.get_terminal_size().columns if sys.stdout.isatty() else UNWRAPPED
    return out


def print_wrapped(out: Console, text: str, indent: str) -> None:
    """Print a paragraph, each of its lines indented, at the console's width."""
    wrapper = textwrap.TextWrapper(
        out.width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    for line in wrapper.wrap(plain(text)):
        out.print(line, soft_wrap=True)

"""Text from targets as people may see it: nothing in it steers a terminal or the log of a continuous integration.

Terminals obey escape sequences. GitHub Actions obeys lines that begin with `::`; Azure Pipelines and TeamCity obey
`##[`, `##vso[` and `##teamcity[`. Records keep the text as it is; whatever shows it to a person calls `plain`.

Source: GitHub Actions, 'Workflow commands'; Azure Pipelines, 'Logging commands'; TeamCity, 'Service messages'.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

WIDTH = 80
"""How many columns one screen has."""

_COMMANDS = re.compile(r"(?<!\S):(?=:)|#(?=#\w*\[)")


def plain(text: str) -> str:
    """One line of printable characters.

    White space becomes spaces. A control character, a mark that turns the direction of writing, and whatever else does
    not print, is shown as Python writes it in a string. What a log would take for a command gets a space in it.
    """
    shown = text
    if not text.isprintable():
        shown = "".join(char if char.isprintable() else " " if char.isspace() else _escaped(char) for char in text)
    return _COMMANDS.sub(lambda match: f"{match[0]} ", shown)


def escaped(text: str, kept: str, write: Callable[[str], str]) -> str:
    """A text in which every character that does not print is escaped as strings of its language write it.

    Args:
        text: in which such characters stand in strings and comments alone.
        kept: the characters that are left as they are.
        write: writes a string in that language, in quotes.
    """
    if all(line.isprintable() for line in text.split("\n")):
        return text
    return "".join(char if char.isprintable() or char in kept else write(char)[1:-1] for char in text)


def quoted(value: Any) -> str:
    """A value as Python writes it, in tuples too, with Python's own types in the place of numpy's scalars."""
    return repr(_as_python(value))


def _as_python(value: Any) -> Any:
    if type(value).__module__ == "numpy" and hasattr(value, "item"):  # without numpy, so that --help comes at once
        return value.item()
    return tuple(map(_as_python, value)) if type(value) is tuple else value


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")

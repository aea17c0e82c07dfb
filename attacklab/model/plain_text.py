"""Makes text from targets safe to show: it cannot control a terminal or the log of a CI system.

Terminals obey escape sequences. GitHub Actions obeys lines that begin with `::`; Azure Pipelines and TeamCity obey
`##[`, `##vso[` and `##teamcity[`. Records keep the text unchanged; code that shows it to a person calls `plain`.

Source: GitHub Actions, 'Workflow commands'; Azure Pipelines, 'Logging commands'; TeamCity, 'Service messages'.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

WIDTH = 80
"""The number of columns of a screen."""

_COMMANDS = re.compile(r"(?<!\S):(?=:)|#(?=#\w*\[)")


def plain(text: str) -> str:
    """Return a text as one line of printable characters.

    White space becomes spaces. Other characters that do not print, such as control characters and marks of writing
    direction, become Python escapes. A space is put into text that a log would take for a command.
    """
    shown = text
    if not text.isprintable():
        shown = "".join(char if char.isprintable() else " " if char.isspace() else ascii(char)[1:-1] for char in text)
    return _COMMANDS.sub(lambda match: f"{match[0]} ", shown)


def escaped(text: str, kept: str, write: Callable[[str], str]) -> str:
    """Return a text with each character that does not print replaced by an escape of the text's language.

    Args:
        text: a text with such characters in strings and comments only.
        kept: the characters to leave unchanged.
        write: returns a string as a quoted literal of that language.
    """
    if all(line.isprintable() for line in text.split("\n")):
        return text
    return "".join(char if char.isprintable() or char in kept else write(char)[1:-1] for char in text)


def quoted(value: Any) -> str:
    """Return the repr of a value, with numpy scalars, also in tuples, written as Python numbers."""
    return repr(_as_python(value))


def _as_python(value: Any) -> Any:
    if type(value).__module__ == "numpy" and hasattr(value, "item"):  # without numpy, so that --help comes at once
        return value.item()
    return tuple(map(_as_python, value)) if type(value) is tuple else value

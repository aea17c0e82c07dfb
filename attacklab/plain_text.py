"""Text from targets as people may see it: nothing in it steers a terminal or the log of a continuous integration.

Terminals obey escape sequences. GitHub Actions obeys lines that begin with `::`; Azure Pipelines and TeamCity obey
`##[`, `##vso[` and `##teamcity[`. Records keep the text as it is; whatever shows it to a person calls `plain`.

Source: GitHub Actions, 'Workflow commands'; Azure Pipelines, 'Logging commands'; TeamCity, 'Service messages'.
"""

from __future__ import annotations

import re

_COMMANDS = re.compile(r"(?<!\S):(?=:)|#(?=#\w*\[)")


def plain(text: str) -> str:
    """One line of printable characters.

    White space becomes spaces. A control character, a mark that turns the direction of writing, and whatever else does
    not print, is shown as Python writes it in a string. What a log would take for a command gets a space in it.
    """
    shown = text
    if not text.isprintable():
        shown = "".join(one if one.isprintable() else " " if one.isspace() else _escaped(one) for one in text)
    return _COMMANDS.sub(lambda found: f"{found[0]} ", shown)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")

"""What the files of vectors hold, what the flags of their cases mean, and where mechanisms are defined."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from attacklab.vectors import Group, Note, VectorFile

_DATA = Path(__file__).parent.parent / "data"
_DESCRIPTIONS, _NOTES = (
    tomllib.loads((_DATA / f"vector_{it}.toml").read_text("utf-8")) for it in ("descriptions", "notes")
)

SOURCES: Mapping[str, str] = _DESCRIPTIONS["sources"]
"""Where the definition of each mechanism stands."""

PARAMETERS: Mapping[str, str] = _DESCRIPTIONS["parameters"]
UTILITIES: Mapping[str, list[int]] = _DESCRIPTIONS["utilities"]


def file_of(type_: str, groups: Sequence[Group]) -> VectorFile:
    """A file with the description of its type and the notes."""
    return VectorFile(type_, _DESCRIPTIONS[type_], {flag: Note(**note) for flag, note in _NOTES.items()}, groups)


def fractions(text: str) -> list[Fraction]:
    """Rational numbers, written with spaces between them."""
    return [Fraction(word) for word in text.split()]

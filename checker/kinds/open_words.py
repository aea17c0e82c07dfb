"""A word of which nothing is known: each comparison splits the words into those below a number and the others."""

from __future__ import annotations

from typing import Any

from checker.core.tape import Uniform, plain

WORD = 64
"""The bits of a word."""


class OpenWord(Uniform):
    """A word of which nothing is known but what comparisons told."""

    def __add__(self, other: int) -> _Sum:
        return _Sum(self, other)

    def __and__(self, other: int) -> tuple[str, OpenWord, int]:
        return ("and", self, other)

    def __lshift__(self, other: int) -> Any:
        raise Further


class _Sum:
    """An open word plus an integer."""

    def __init__(self, word: OpenWord, plus: int) -> None:
        self.word, self.plus = word, plus

    def __le__(self, other: Any) -> bool:
        return self.word <= plain(other) - self.plus


class Further(Exception):
    """More bits than the word's are asked for."""


class NoBits:
    """A source of bits that gives none."""

    def take(self, _: int) -> int:
        """Say that more bits are needed."""
        raise Further

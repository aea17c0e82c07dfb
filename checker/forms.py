"""Reading certificates strictly: each field is of the type that is expected, there once, and none is left over."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

LARGEST_EXPONENT = 970
"""2^k for a grid of doubles: 2^53 steps of 2^970 are just below the largest double."""

LEAST_EXPONENT = -1021

Item = TypeVar("Item")


class Refused(Exception):
    """The certificate does not show what it states; the message says what is wrong or missing."""


def read(path: Path) -> Any:
    """Read a file of JSON in which no key is there twice."""
    try:
        return parsed(path.read_text("utf-8"), path.name)
    except (OSError, ValueError) as error:
        raise Refused(f"{path.name} cannot be read: {error}") from error


def parsed(text: str, name: str) -> Any:
    """Read a text of JSON in which no key is there twice."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_not_json)
    except (ValueError, RecursionError) as error:
        raise Refused(f"{name} is not JSON as it should be: {error}") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a key is there twice")
    return fields


def _not_json(name: str) -> Any:
    raise ValueError(f"{name} is not a number of JSON")


class Fields:
    """The fields of an object of JSON, each of which is taken once."""

    def __init__(self, value: Any, what: str) -> None:
        if type(value) is not dict:
            raise Refused(f"{what} must be an object, not {_shortened(value)}")
        self.what, self._left = what, dict(value)

    def take(self, name: str, *kinds: type) -> Any:
        """Take a field of one of some types, to the letter: a truth value is not an integer."""
        if name not in self._left:
            raise Refused(f"{self.what} has no field {name!r}")
        value = self._left.pop(name)
        if kinds and type(value) not in kinds:
            names = " or ".join(kind.__name__ for kind in kinds)
            raise Refused(f"{name} of {self.what} must be {names}, not {_shortened(value)}")
        return value

    def rational(self, name: str) -> Fraction:
        """Take a number: an integer or {"rational": "p/q"}."""
        value = self.take(name, int, dict)
        return Fraction(value) if type(value) is int else rational(value, f"{name} of {self.what}")

    def positive(self, name: str) -> Fraction:
        """Take a number above 0."""
        value = self.rational(name)
        if value <= 0:
            raise Refused(f"{name} of {self.what} must be above 0")
        return value

    def at_least(self, name: str, least: int) -> int:
        """Take an integer that is not below another."""
        value: int = self.take(name, int)
        if value < least:
            raise Refused(f"{name} of {self.what} must be at least {least}, not {_shortened(value)}")
        return value

    def one_of(self, name: str, *words: str) -> str:
        """Take one of some words."""
        value: str = self.take(name, str)
        if value not in words:
            raise Refused(f"{name} of {self.what} must be {' or '.join(words)}, not {_shortened(value)}")
        return value

    def step(self, name: str = "grid") -> Fraction:
        """Take a grid and return its step, 2^k."""
        grid = Fields(self.take(name), name)
        grid.one_of("is", "Grid")
        exponent: int = grid.take("exponent", int)
        grid.done()
        if not LEAST_EXPONENT <= exponent <= LARGEST_EXPONENT:
            raise Refused(f"the grid's exponent must be in [{LEAST_EXPONENT}, {LARGEST_EXPONENT}]")
        return Fraction(2) ** exponent

    def each(self, name: str, of: Callable[[Any], Item]) -> tuple[Item, ...]:
        """Take a list of at least one item and read every item."""
        items = tuple(of(item) for item in self.take(name, list))
        if not items:
            raise Refused(f"{name} of {self.what} must not be empty")
        return items

    def done(self) -> None:
        """Check that no field is left."""
        if self._left:
            raise Refused(f"{self.what} has fields that it should not have: {', '.join(sorted(self._left))}")


def rational(value: Any, what: str) -> Fraction:
    """Read {"rational": "p/q"}."""
    fields = Fields(value, what)
    text: str = fields.take("rational", str)
    fields.done()
    digits = text.removeprefix("-").replace("/", "", 1)
    if not digits.isascii() or not digits.isdigit():
        raise Refused(f"{what} must be a rational number, not {_shortened(text)}")
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError) as error:
        raise Refused(f"{what}: {error}") from error


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."

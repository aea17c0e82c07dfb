"""Paths into outputs: steps from the values at one place of every output to the values at a place inside them.

A step takes an array or a list of values and returns the part of each, or `MISSING` for a value that has no such part.
So a path is a pure function that is defined for any outputs. What was recently read off outputs is cached, so that a
part that many features share is extracted only once.
"""

from __future__ import annotations

import itertools
import math
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import as_double
from attacklab.attacks.features.values import EXACT, MISSING, Parts, is_foreign, opened
from attacklab.model.plain_text import quoted

Values: TypeAlias = "NDArray[Any] | list[Any]"

Made = TypeVar("Made")

NUMBER_IN_TEXT: Final = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?(?:[pP][+-]?\d+)?|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)"
    r"|(?<![A-Za-z])[+-]?(?:inf(?:inity)?|nan)(?![A-Za-z])",
    re.IGNORECASE,
)

EXACT_IN_DOUBLES = 1 << 53
KEPT: Final = 24  # how many arrays or lists of outputs and of their parts are remembered


class _Memory(threading.local):
    def __init__(self) -> None:
        self.of: OrderedDict[int, tuple[Any, dict[Hashable, Any]]] = OrderedDict()


_MEMORY = _Memory()


def recalled(values: Any, key: Hashable, make: Callable[[], Made]) -> Made:
    """Return what is cached for these very values under that key; otherwise cache and return `make()`.

    Values are compared by identity, and must not be changed. Each thread has its own cache, of the last few values.
    """
    known = _MEMORY.of.pop(id(values), None)
    if known is None or known[0] is not values:
        known = (values, {})
    _MEMORY.of[id(values)] = known
    while len(_MEMORY.of) > KEPT:
        _MEMORY.of.popitem(last=False)
    if key not in known[1]:
        known[1][key] = make()
    value: Made = known[1][key]
    return value


@dataclass(frozen=True, slots=True)
class Position:
    """The step to the part at a position of a sequence, a row or bytes."""

    place: int

    def __call__(self, values: Values) -> Values:
        """Return the part of each value at that position."""
        if isinstance(values, np.ndarray) and values.dtype != object:
            inside = values.ndim > 1 and self.place < values.shape[1]
            return values[:, self.place] if inside else [MISSING] * len(values)
        return [self._of(opened(value)) for value in values]

    def _of(self, value: Any) -> Any:
        if isinstance(value, list | tuple | np.ndarray | bytes) and self.place < len(value):
            return opened(value[self.place])
        return MISSING

    def words(self, whole: str) -> str:
        """Return a description of the part; `whole` describes the value that it is a part of."""
        return f"number {self.place} of {whole}"


@dataclass(frozen=True, slots=True)
class Named:
    """The step to the value under a key of a dict or, if `of_parts`, to the part of an object that has that name."""

    name: Any
    of_parts: bool = False

    def __call__(self, values: Values) -> Values:
        """Return the part of each value under that key or name."""
        if isinstance(values, np.ndarray) and values.dtype.names is not None:
            return values[self.name] if self.name in values.dtype.names else [MISSING] * len(values)
        return [self._of(opened(value)) for value in values]

    def _of(self, value: Any) -> Any:
        if isinstance(value, Parts):
            return opened(value.named.get(self.name, MISSING)) if self.of_parts else MISSING
        return opened(value.get(self.name, MISSING)) if isinstance(value, dict) and not self.of_parts else MISSING

    def words(self, whole: str) -> str:
        """Return a description of the part; `whole` describes the value that it is a part of."""
        return f"{self.name if self.of_parts else quoted(self.name)} of {whole}"


Step: TypeAlias = Position | Named


def followed(outputs: Values, steps: tuple[Step, ...]) -> Values:
    """Return the parts at the end of a path in all outputs, as an array or a list (see `as_table`)."""
    if not steps:
        return recalled(outputs, "table", lambda: as_table(outputs))
    return recalled(outputs, steps, lambda: as_table(steps[-1](followed(outputs, steps[:-1]))))


def as_table(values: Values) -> Values:
    """Return numbers of one type, or rows of them of equal length, as an array. Return others as a list, `opened`."""
    if isinstance(values, np.ndarray) and values.dtype != object:
        return values
    values = list(map(opened, values))
    types = set(map(type, values))
    if types == {np.ndarray}:
        alike = len({(value.shape, value.dtype) for value in values}) == 1 and values[0].dtype.kind in "biuf"
        return np.stack(values) if alike else values
    if types in ({list}, {tuple}):
        if len(set(map(len, values))) == 1 and values[0]:
            table = _table_of(list(itertools.chain.from_iterable(values)))
            return values if table is None else table.reshape(len(values), -1)
        return values
    table = _table_of(values) if types else None
    return values if table is None else table


def _table_of(values: list[Any]) -> NDArray[Any] | None:
    types = set(map(type, values))
    if len(types) == 1 and issubclass(next(iter(types)), float | np.floating):
        return np.array(values)
    if types == {int} and max(map(abs, values)) <= EXACT_IN_DOUBLES:
        return np.array(values, dtype=np.int64)
    return None


def as_numbers(values: Values) -> NDArray[Any]:
    """Return numbers as an array, in their own float format if all share it; NaN for what is not a number.

    Exact numbers become the nearest doubles, or ±∞ beyond the largest double.
    """
    if isinstance(values, np.ndarray) and (values.dtype.kind in "biuf" or is_foreign(values.dtype)):
        if values.ndim > 1:
            return np.full(len(values), math.nan)
        return values.astype(np.float32) if is_foreign(values.dtype) else values
    return _opened_as_numbers([opened(value) for value in values])


def _opened_as_numbers(known: list[Any]) -> NDArray[Any]:
    types = {type(value) for value in known}
    if types == {bool}:
        return np.array(known, dtype=bool)
    if types == {int} and all(-(1 << 63) <= value < 1 << 63 for value in known):
        return np.array(known, dtype=np.int64)
    formats = {kind for kind in types if issubclass(kind, np.floating | float)}
    if len(formats) == 1 and not types & {int, bool, *EXACT}:
        (form,) = formats
        blank = form(math.nan)
        return np.array([value if type(value) is form else blank for value in known], dtype=form)
    return np.fromiter(map(_as_double, known), dtype=np.float64, count=len(known))


def _as_double(value: Any) -> float:
    return as_double(value) if isinstance(value, int | float | np.floating | EXACT[0] | EXACT[1]) else math.nan

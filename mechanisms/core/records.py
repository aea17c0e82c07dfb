"""Queries: what is counted or added up, in whole steps of a public grid, and how far one record moves it.

Each record becomes an integer by a function of that record alone, and from then on sums are sums of integers. So one
person moves them by no more than the bounds say, however records were rounded and in whatever order they are added.

Source: Casacuberta, Shoemate, Vadhan and Wagaman 2022, 'Widespread Underestimation of Sensitivity in Differentially
Private Libraries and How to Fix It', sections 5.3 and 6 (integer and fixed-point sums).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechanisms.core.grid import Grid
from mechanisms.core.numbers import clamped, convert, positive, rational, truth, vector, within
from mechanisms.core.term import Query, Relation

_LOW_BITS = 26
_CELL_TYPES = (str, int, bool, float, Fraction, np.str_, np.bool_, np.int64, np.float64)


@dataclass(frozen=True)
class Answer(Query[int]):
    """An answer that the caller has computed, rounded to a grid, half a step upward.

    The data are the answer itself. With d = ⌈sensitivity/step⌉ and R(x) = ⌊x + ½⌋ in steps, a ≤ b ≤ a + d gives
    R(a) ≤ R(b) ≤ R(a + d) = R(a) + d, as R is monotone and commutes with adding an integer; clamping to the grid is
    monotone and moves no two answers further apart.
    """

    sensitivity: Fraction
    grid: Grid

    relation: ClassVar[Relation] = "answers"

    def __post_init__(self) -> None:
        convert(self, positive, "sensitivity")

    @property
    def stability(self) -> int:
        """The sensitivity in steps, rounded up."""
        return math.ceil(self.sensitivity / self.grid.step)

    def of(self, data: Any) -> int:
        """Return the answer in steps from 0."""
        return self.grid.nearest(data)

    def of_each(self, data: Any) -> NDArray[np.int64]:
        """Return each of many answers in steps from 0, shape (n,)."""
        return self.grid.nearest_each(data)


@dataclass(frozen=True)
class Total(Query[int]):
    """The sum of records, each clamped to public bounds and rounded to a grid by itself.

    Each record becomes an integer of steps in [l, u], the bounds in steps. So adding or removing a record moves the sum
    by max(|l|, |u|) at most, and replacing one by u − l at most. The high and the low parts of these integers are added
    up separately: neither sum leaves 64 bits for fewer than 2^36 records, more than fit into memory.

    Args:
        lower: the least value of a record, a point of the grid; a NaN counts as `lower`.
        upper: the largest value of a record, a point of the grid above `lower`.
        grid: the public grid that records are rounded to.
        relation: which records are neighbours.
        above_lower: whether to add up record − `lower` in place of the record. The bounds are then doubles whose
            difference is a point of the grid; they need not be points of the grid themselves.
    """

    lower: Fraction
    upper: Fraction
    grid: Grid
    relation: Relation = "add-remove"
    above_lower: bool = False

    def __post_init__(self) -> None:
        convert(self, rational, "lower", "upper")
        convert(self, truth, "above_lower")
        if not all(abs(bound) < 1 << 1024 and float(bound) == bound for bound in (self.lower, self.upper)):
            raise ValueError(f"bounds must be doubles, not {self.lower} and {self.upper}; records are clamped to them")
        if not self.lower < self.upper:
            raise ValueError(f"upper must be above lower, not {float(self.upper)} against {float(self.lower)}")
        require_records(self.relation)
        self._steps  # noqa: B018 # checks that they are points of the grid

    @property
    def _steps(self) -> tuple[int, int]:
        """The bounds in steps: the least and the largest integer that a record becomes."""
        if self.above_lower:
            return 0, self.grid.steps_of("upper − lower", self.upper - self.lower)
        return self.grid.steps_of("lower", self.lower), self.grid.steps_of("upper", self.upper)

    @property
    def stability(self) -> int:
        """The most that one record moves the sum, in steps."""
        low, high = self._steps
        moves = {"add-remove": max(abs(low), abs(high)), "substitute": high - low}
        return max(move for relation, move in moves.items() if relation in self.relation)

    def each(self, data: Any) -> NDArray[np.int64]:
        """Return the number that each record adds to the sum, in steps, shape (n,)."""
        origin = self.lower if self.above_lower else Fraction(0)
        return self.grid.nearest_each(_within(vector("records", data), self.lower, self.upper, origin))

    def of(self, data: Any) -> int:
        """Return the sum over all records, in steps."""
        steps = self.each(data)
        high = steps >> _LOW_BITS
        low = steps & (1 << _LOW_BITS) - 1
        return (int(high.sum()) << _LOW_BITS) + int(low.sum())


@dataclass(frozen=True)
class Count(Query[int]):
    """The number of records, which replacing a record does not change."""

    relation: Relation = "add-remove"

    grid: ClassVar[Grid] = Grid(0)

    def __post_init__(self) -> None:
        require_records(self.relation)

    @property
    def stability(self) -> int:
        """1 for add-remove, 0 for substitute, which leaves the number of records as it is."""
        return 0 if self.relation == "substitute" else 1

    def of(self, data: Sequence[Any]) -> int:
        """Return the number of records."""
        return len(data)


@dataclass(frozen=True)
class CountFrom(Query[int]):
    """The number of records that are at least a public bound; a NaN is not counted."""

    bound: Fraction = Fraction(1)
    relation: Relation = "add-remove"

    grid: ClassVar[Grid] = Grid(0)
    stability: ClassVar[int] = 1

    def __post_init__(self) -> None:
        convert(self, rational, "bound")
        require_records(self.relation)

    def of(self, data: Any) -> int:
        """Return how many records are at least the bound."""
        return sum(bool(number >= self.bound) for number in vector("records", data))


@dataclass(frozen=True)
class Histogram(Query[NDArray[np.int64]]):
    """The number of records in each of several public cells; records in none of these cells are not counted.

    One record is in one cell at most, so that adding or removing it moves one count by 1, and replacing it at most two
    counts by 1 each. The stability is the sum of these moves.
    """

    cells: tuple[Hashable, ...]
    relation: Relation = "add-remove"

    grid: ClassVar[Grid] = Grid(0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cells", tuple(self.cells))
        if not self.cells or len(set(self.cells)) < len(self.cells):
            raise ValueError("cells must name at least one cell, and each of them once")
        require_records(self.relation)

    @property
    def stability(self) -> int:
        """The most that one record moves the counts, added up over all counts."""
        return 1 if self.relation == "add-remove" else 2

    def of(self, data: Any) -> NDArray[np.int64]:
        """Return the count of each cell, shape (cells,)."""
        if isinstance(data, Mapping):
            raise TypeError("records must be a list or an array, one entry a record, not a mapping")
        records = data.tolist() if isinstance(data, np.ndarray) else list(data)
        if wrong := {type(record).__name__ for record in records if type(record) not in _CELL_TYPES}:
            raise TypeError(f"a record of a histogram must be a string or a number, not {sorted(wrong)[0]}")
        counts = Counter(records)
        return np.array([counts[cell] for cell in self.cells], dtype=np.int64)


@dataclass(frozen=True)
class Counts(Query[NDArray[np.int64]]):
    """Counts that the caller computed, one for each cell of a histogram; one record moves one count by 1."""

    relation: ClassVar[Relation] = "answers"
    grid: ClassVar[Grid] = Grid(0)
    stability: ClassVar[int] = 1

    def of(self, data: Any) -> NDArray[np.int64]:
        """Return the counts, each rounded by itself, shape (cells,)."""
        return self.grid.nearest_each(data)


def require_records(relation: str) -> None:
    """Raise ValueError unless a relation is about adding, removing or replacing records."""
    if relation not in ("add-remove", "substitute", "add-remove or substitute"):
        raise ValueError(f"relation must be 'add-remove', 'substitute' or 'add-remove or substitute', not {relation!r}")


def _within(
    numbers: NDArray[Any] | list[Fraction | float], lower: Fraction, upper: Fraction, origin: Fraction
) -> NDArray[Any] | list[Fraction]:
    """Return each number, clamped to the bounds (a NaN to the lower one), minus the origin.

    If the origin is not 0, each number is rounded to the nearest double before the subtraction, whatever type the
    others have. It stays within the bounds, because they are doubles and rounding is monotone.
    """
    if isinstance(numbers, list) or numbers.dtype != np.float64:
        values = numbers if isinstance(numbers, list) else [Fraction(number) for number in numbers.tolist()]
        listed = [clamped(number, lower, upper, missing=lower) for number in values]
        if not origin:
            return listed
        numbers = np.array([float(number) for number in listed], dtype=np.float64)
    kept: NDArray[np.float64] = within(numbers, float(lower), float(upper))
    return kept - float(origin)

"""Utilities of outcomes: the queries that selections look at."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechanisms.core.numbers import Number, are_doubles, clamped, convert, positive, rational, truth, vector, within
from mechanisms.core.term import Query, Relation

Scored = NDArray[np.float64] | list[Fraction]
"""One utility for each outcome, finite and exact: doubles, or fractions where doubles might not be exact."""

WIDEST_RANGE = (-(Fraction(2) ** 1022), Fraction(2) ** 1022)
"""The widest range of utilities: the difference of any two is a finite double."""


class Scores(Query[Scored]):
    """A query that gives each of several public outcomes a utility; larger is better."""

    sensitivity: Fraction
    lower: Fraction
    upper: Fraction
    monotone: bool

    @property
    def stability(self) -> int:
        """Raise TypeError: all utilities may move by the sensitivity at once, so noise for one number is not enough."""
        raise TypeError(f"{type(self).__name__} gives utilities, which a selection takes; noise is for numbers")

    @abstractmethod
    def of(self, data: Any) -> Scored:
        """Return the utilities, shape (outcomes,), at least one."""


@dataclass(frozen=True)
class Utilities(Scores):
    """Utilities that the caller has computed, each clamped to a public range; a NaN counts as its lower end.

    Clamping moves no two utilities further apart and keeps their order, so that neighbours' utilities still differ by
    at most the sensitivity, and in one direction if they did before. Errors depend on type and length alone.
    """

    sensitivity: Fraction = Fraction(1)
    lower: Fraction = WIDEST_RANGE[0]
    upper: Fraction = WIDEST_RANGE[1]
    monotone: bool = False

    relation: ClassVar[Relation] = "utilities"

    def __post_init__(self) -> None:
        convert(self, positive, "sensitivity")
        convert(self, rational, "lower", "upper")
        convert(self, truth, "monotone")
        if not WIDEST_RANGE[0] <= self.lower <= self.upper <= WIDEST_RANGE[1]:
            raise ValueError("utility_range must not end below its start and must lie within ±2^1022")

    def of(self, data: Any) -> Scored:
        """Return the utilities; see `Scores.of`."""
        numbers = vector("utilities", data)
        if len(numbers) == 0:
            raise ValueError("utilities must name at least one outcome")
        return self._within(numbers)

    def of_each(self, rows: Any) -> NDArray[np.float64] | list[list[Fraction]]:
        """Return the clamped utilities of each row, from an array of two dimensions or from rows of equal length."""
        if isinstance(rows, np.ndarray):
            if rows.ndim != 2 or not rows.shape[1]:
                raise ValueError(f"utilities must be rows of at least one outcome, not of shape {rows.shape}")
            scored = self._within(vector("utilities", rows.reshape(-1)))
            if isinstance(scored, np.ndarray):
                return scored.reshape(rows.shape)
            return [scored[start : start + rows.shape[1]] for start in range(0, len(scored), rows.shape[1])]
        listed = [self.of(row) for row in rows]
        if len({len(row) for row in listed}) > 1:
            raise ValueError("utilities must be rows of one length")
        doubles = [row for row in listed if isinstance(row, np.ndarray)]
        if listed and len(doubles) == len(listed):
            return np.stack(doubles)
        return [[Fraction(utility) for utility in row] for row in listed]

    @cached_property
    def _ends(self) -> tuple[float, float] | None:
        """The ends of the range if both are doubles, otherwise None."""
        ends = float(self.lower), float(self.upper)
        return ends if tuple(map(Fraction, ends)) == (self.lower, self.upper) else None

    def _within(self, numbers: NDArray[Any] | list[Fraction | float]) -> Scored:
        """Return the numbers clamped to the range, exactly: doubles if numbers and range are, otherwise fractions."""
        if isinstance(numbers, np.ndarray) and self._ends and are_doubles(numbers):
            return within(numbers.astype(np.float64, copy=False), *self._ends)
        listed: Iterable[Any] = numbers.tolist() if isinstance(numbers, np.ndarray) else numbers
        return [_clamped(number, self.lower, self.upper) for number in listed]


def utilities(
    sensitivity: Number = 1, utility_range: tuple[Number, Number] = WIDEST_RANGE, monotone: bool = False
) -> Utilities:
    """Return a query that reads utilities computed by the caller; every number stands for its exact rational value."""
    lower, upper = (rational("utility_range", end) for end in utility_range)
    return Utilities(positive("sensitivity", sensitivity), lower, upper, monotone)


def _clamped(number: Any, lower: Fraction, upper: Fraction) -> Fraction:
    return clamped(number, lower, upper, missing=lower)

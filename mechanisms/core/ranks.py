"""Utilities for selecting a quantile: the distance in rank of each public candidate from it, negated.

Source: Smith 2011, 'Privacy-preserving Statistical Estimation with Optimal Convergence Rates', section 3 (the utility);
there, all numbers of an interval are candidates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechanisms.core.grid import Grid
from mechanisms.core.numbers import clamped, convert, rational, vector, within
from mechanisms.core.scores import WIDEST_RANGE, Scores
from mechanisms.core.term import Relation

MOST_CANDIDATES = 1 << 24
"""The largest number of candidates; arrays with an entry for each must fit into memory."""

GREATEST_DENOMINATOR = 1 << 20
"""The largest denominator of a quantile: utilities then fit 53 bits for 2^33 records, more than fit into memory."""


@dataclass(frozen=True)
class RankScores(Scores):
    """The utility −|(q − p)·#{x < c} − p·#{x > c}| of each point c of a grid in an interval, for the quantile p/q.

    It is q times the distance in rank, and records that equal c count on neither side. The difference is a sum over the
    records, whatever their number and order: each adds q − p, −p or 0. So one record more or fewer moves it, and its
    modulus, by max(p, q − p) at most. Each record is clamped to the interval.
    """

    quantile: Fraction
    first: Fraction
    last: Fraction
    grid: Grid
    sensitivity: Fraction = field(init=False)
    lower: Fraction = field(init=False, default=WIDEST_RANGE[0])
    upper: Fraction = field(init=False, default=Fraction(0))
    monotone: bool = field(init=False, default=False)

    relation: ClassVar[Relation] = "add-remove"

    def __post_init__(self) -> None:
        convert(self, rational, "quantile", "first", "last")
        if not 0 <= self.quantile <= 1 or self.quantile.denominator > GREATEST_DENOMINATOR:
            raise ValueError(f"quantile must lie in [0, 1], with a denominator of at most 2^20, not {self.quantile}")
        if not 2 <= self.entries <= MOST_CANDIDATES:
            raise ValueError(f"there must be from 2 to {MOST_CANDIDATES} candidates, not {self.entries}")
        share = self.quantile
        object.__setattr__(self, "sensitivity", Fraction(max(share.numerator, share.denominator - share.numerator)))

    @property
    def entries(self) -> int:
        """The number of candidates."""
        return self.grid.steps_of("last", self.last) - self.origin + 1

    @property
    def origin(self) -> int:
        """The least candidate, in steps from 0."""
        return self.grid.steps_of("first", self.first)

    def of(self, data: Any) -> NDArray[np.float64]:
        """Return the utilities, shape (candidates,)."""
        numbers = vector("records", data)
        reached, passed = self._places(numbers)
        below = np.cumsum(np.bincount(passed, minlength=self.entries + 1))[:-1]
        above = len(numbers) - np.cumsum(np.bincount(reached, minlength=self.entries))
        share = self.quantile
        distances: NDArray[np.float64] = np.abs(
            (share.denominator - share.numerator) * below - share.numerator * above
        ).astype(np.float64)
        return -distances

    def _places(self, numbers: NDArray[Any] | list[Fraction | float]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return, for each record, the number of candidates below it, and the number of candidates not above it."""
        if isinstance(numbers, list) or numbers.dtype != np.float64:
            exact = numbers if isinstance(numbers, list) else map(Fraction, numbers.tolist())
            kept = [clamped(number, self.first, self.last, missing=self.first) for number in exact]
            places = [(number - self.first) / self.grid.step for number in kept]
            return np.array([*map(math.ceil, places)], np.int64), np.array([*map(math.floor, places)], np.int64) + 1
        points = self.grid.values(np.arange(self.origin, self.origin + self.entries))
        inside = within(numbers, points[0], points[-1])
        return np.searchsorted(points, inside, side="left"), np.searchsorted(points, inside, side="right")

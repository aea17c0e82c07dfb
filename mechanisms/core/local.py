"""Queries with bounds on their local sensitivity at each distance, which noise can be scaled to.

The *local sensitivity* of a query at x is the most its value changes from x to a neighbour of x. *At distance k* it is
the greatest local sensitivity at a database that differs from x by k changes of a record. A query with such bounds can
be released with noise scaled to a smooth bound (`mechanisms.core.smooth`) or by propose-test-release (`.tested`).

Source: Nissim, Raskhodnikova and Smith 2007, 'Smooth Sensitivity and Sampling in Private Data Analysis', section 3.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from mechanisms.core.grid import Grid
from mechanisms.core.numbers import convert, rational
from mechanisms.core.records import Total
from mechanisms.core.term import Query, Relation


class LocalQuery(Query[int]):
    """A query whose value is an integer, in steps of a grid, with a bound on its local sensitivity at each distance.

    Each subclass proves three inequalities for all neighbours x and x′, where A_k(x) is the bound at distance k:
    |f(x) − f(x′)| ≤ `stability`; |f(x) − f(x′)| ≤ A_0(x); and A_k(x) ≤ A_{k+1}(x′). The last one holds for the
    textbook's A_k, since k + 1 changes of x′ reach whatever k changes of x reach. The bounds need not be smooth: the
    mechanisms smooth them.
    """

    grid: Grid

    @abstractmethod
    def sensitivities(self, data: Any) -> Iterable[int]:
        """Return A_0, A_1, A_2, …, in steps. If the sequence ends, all further A_k are `stability`."""


@dataclass(frozen=True)
class OfBounded(LocalQuery):
    """A query on records. Each record is clamped to public bounds and rounded by itself to a grid, ties upward."""

    lower: Fraction
    upper: Fraction
    grid: Grid

    def __post_init__(self) -> None:
        convert(self, rational, "lower", "upper")
        self.records  # noqa: B018 # checks the bounds

    @property
    def records(self) -> Total:
        """The query that turns records into steps, and adds them up."""
        return Total(self.lower, self.upper, self.grid)

    @property
    def ends(self) -> tuple[int, int]:
        """The lower and the upper bound, in steps from 0."""
        return self.grid.steps_of("lower", self.lower), self.grid.steps_of("upper", self.upper)

    @property
    def stability(self) -> int:
        """W, the number of steps between the bounds."""
        return self.ends[1] - self.ends[0]


@dataclass(frozen=True)
class Mean(OfBounded):
    """The mean of bounded records, rounded to the grid, half a step upward.

    Neighbours differ by one record, added or removed. Let W be the steps between the bounds, and n the records of the
    larger neighbour. The mean moves by at most W/n: for n ≥ 2 it moves by (v − mean of the others)/n, where v is the
    record removed. The mean of no records is the middle, so W bounds the move for n = 1. Rounding is monotone and
    commutes with adding an integer, so the rounded mean moves by L(n) = ⌈W/n⌉ at most, and L(n) ≤ L(n − 1). At x of n
    records the worst neighbour has n − 1, so A_0(x) = L(n), with L(0) = W. Removing k records leads to L(n − k), so
    A_k(x) = L(max(n − k, 0)) ≤ L(max(n′ − k − 1, 0)) = A_{k+1}(x′) for n′ ≤ n + 1.
    """

    relation: ClassVar[Relation] = "add-remove"

    def of(self, data: Any) -> int:
        """Return the rounded mean, in steps from 0."""
        total, size = self.records.of(data), len(data)
        if size == 0:
            return self.ends[0] + self.stability // 2
        return (2 * total + size) // (2 * size)

    def sensitivities(self, data: Any) -> Iterable[int]:
        """Return ⌈W/(n − k)⌉ for each distance k below n."""
        return (-(-self.stability // size) for size in range(len(data), 0, -1))


@dataclass(frozen=True)
class Median(OfBounded):
    """The median of bounded records, the lower of the two middle ones if their number is even.

    Neighbours differ by one record, added, removed or replaced. Let z_1 ≤ … ≤ z_n be the records in steps, z_i the
    lower bound for i < 1 and the upper one for i > n, and m = ⌈n/2⌉. The median is z_m; for n = 0 it is the lower
    bound. A_k(x) is the greatest z_j − z_i with j = i + k + 1 and i ≤ m ≤ j. From k = n on it is the whole range.

    Let x′ be a neighbour, with z′ and m′. (1) If a record is added, or replaced by a smaller one, then
    z′_i ≤ z_i ≤ z′_{i+1}, and m′ is m or m + 1. (2) If a record is removed, or replaced by a larger one, then
    z′_{i−1} ≤ z_i ≤ z′_i, and m′ is m or m − 1. If a record is replaced, m′ = m. *The median moves by A_0(x) at most*:
    in each case z′_{m′} lies between z_{m−1} and z_{m+1}. *A_k(x) ≤ A_{k+1}(x′)*: for a window i … j of x, the window
    i … j + 1 of x′ in case 1, or i − 1 … j in case 2, spans at least as much and contains m′.

    Source: Nissim, Raskhodnikova and Smith 2007, section 3.1, for records that are replaced.
    """

    relation: ClassVar[Relation] = "add-remove or substitute"

    def of(self, data: Any) -> int:
        """Return the median, in steps from 0."""
        ordered = np.sort(self.records.each(data))
        if not len(ordered):
            return self.ends[0]
        return int(ordered[(len(ordered) - 1) // 2])

    def sensitivities(self, data: Any) -> Iterator[int]:
        """Yield A_0, …, A_{n−1}, but stop after one that equals `stability`. It takes up to n²/2 differences."""
        ordered = np.sort(self.records.each(data))
        size, (low, high) = len(ordered), self.ends
        padded = np.concatenate([np.full(size + 1, low), ordered, np.full(size + 1, high)])
        middle = size + (size + 1) // 2  # where z_m lies, as z_1 lies at n + 1
        for distance in range(size):
            starts = padded[middle - distance - 1 : middle + 1]
            ends = padded[middle : middle + distance + 2]
            yield (widest := int((ends - starts).max()))
            if widest == self.stability:
                return


def require_local(query: object) -> None:
    """Raise TypeError if a query is not a `LocalQuery`."""
    if not isinstance(query, LocalQuery):
        raise TypeError(
            "query must be a LocalQuery, which bounds its local sensitivity at each distance: "
            f"noise scaled by the data needs these; {type(query).__name__} has none, use Noisy for it"
        )

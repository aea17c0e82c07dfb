"""Queries that know their local sensitivity, here and at each distance: what adaptive noise is scaled to.

The *local sensitivity* of a query at x is how far its value moves to any neighbour of x; *at distance k*, the most of
it at a database that k changes of a record lead to. Whoever bounds these has noise scaled to a smooth bound
(`mechanisms.core.smooth`) and propose-test-release (`mechanisms.core.tested`) at once.

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
    """An integer, in steps of a grid, whose local sensitivity is bounded at each distance.

    Whoever writes one shows three things, for all neighbours x and x′, with A_k(x) for the bound at distance k:
    |f(x) − f(x′)| ≤ `stability`; |f(x) − f(x′)| ≤ A_0(x); and A_k(x) ≤ A_{k+1}(x′). The last one holds for the
    textbook's A_k, since what k changes of x lead to, k + 1 changes of x′ lead to. Nothing has to be smooth: the
    constructors make it so.
    """

    grid: Grid

    @abstractmethod
    def sensitivities(self, data: Any) -> Iterable[int]:
        """Return A_0, A_1, A_2, …, in steps; from the end of the sequence on, each is `stability`."""


@dataclass(frozen=True)
class OfBounded(LocalQuery):
    """A query of records, each clamped to public bounds and rounded to a grid by itself, half a step upward."""

    lower: Fraction
    upper: Fraction
    grid: Grid

    def __post_init__(self) -> None:
        convert(self, rational, "lower", "upper")
        self.records  # noqa: B018 # checks the bounds

    @property
    def records(self) -> Total:
        """What turns records into steps, and adds them up."""
        return Total(self.lower, self.upper, self.grid)

    @property
    def ends(self) -> tuple[int, int]:
        """The bounds, in steps from 0."""
        return self.grid.steps_of("lower", self.lower), self.grid.steps_of("upper", self.upper)

    @property
    def stability(self) -> int:
        """W, the steps between the bounds."""
        return self.ends[1] - self.ends[0]


@dataclass(frozen=True)
class Mean(OfBounded):
    """The mean of bounded records, rounded, half a step upward.

    Neighbours differ by one record, added or removed. With W steps between the bounds and n records, the larger of two
    neighbours, the mean moves by at most W/n: for n ≥ 2 it is (v − mean of the others)/n for the record v that goes.
    The mean of nobody is the middle, so that W bounds it for n = 1. Rounding is monotone and commutes with adding an
    integer, so the rounded mean moves by L(n) = ⌈W/n⌉ at most, and L(n) ≤ L(n − 1). At x of n records the worse
    neighbour has one less and A_0(x) = L(n), with L(0) = W; k records less lead to L(n − k), so that A_k(x) = L(max(n −
    k, 0)) ≤ L(max(n′ − k − 1, 0)) = A_{k+1}(x′) for n′ ≤ n + 1.
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
    """The median of bounded records, the lower one of two in the middle.

    Neighbours differ by one record, added, removed or replaced. Let z_1 ≤ … ≤ z_n be the records in steps, z_i the
    lower bound for i < 1 and the upper one for i > n, and m = ⌈n/2⌉: the median is z_m, and of nobody the lower bound.
    A_k(x) is the most that a window of k + 1 gaps with m in it spans: z_j − z_i with j = i + k + 1 and i ≤ m ≤ j. From
    k = n on it is the whole range.

    For a neighbour x′, with z′ and m′: a record more gives z′_i ≤ z_i ≤ z′_{i+1} and m′ − m of 0 or 1; a record less,
    z′_{i−1} ≤ z_i ≤ z′_i and m′ − m of −1 or 0; a larger one in a record's place, the latter with m′ = m; a smaller
    one, the former with m′ = m. *The median moves by A_0(x) at most*: in each case z′_{m′} lies between z_{m−1} and
    z_{m+1}. *A_k(x) ≤ A_{k+1}(x′)*: of a window from i to j, that from i to j + 1 in the former cases, and from i − 1
    to j in the latter, spans as much in x′, and has m′ in it.

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
        """Return the widest span of each distance below n, or until one is the whole range: n²/2 differences."""
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
    """Check that a query bounds its local sensitivity."""
    if not isinstance(query, LocalQuery):
        raise TypeError(
            "query must be a LocalQuery, which bounds its local sensitivity at each distance: "
            f"noise scaled by the data needs these; {type(query).__name__} has none, use Noisy for it"
        )

"""Queries that know their local sensitivity, here and at each distance: what adaptive noise is scaled to.

The *local sensitivity* of a query at x is how far its value moves to any neighbour of x; *at distance k*, the most of
it at a database that k changes of a record lead to. Whoever bounds these has noise scaled to a smooth bound
(`mechanisms.core.smooth`) and propose-test-release (`mechanisms.core.tested`) at once.

Source: Nissim, Raskhodnikova and Smith 2007, 'Smooth Sensitivity and Sampling in Private Data Analysis', section 3.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

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
class Mean(LocalQuery):
    """The mean of records, each clamped to public bounds and rounded to a grid by itself; rounded, half a step upward.

    Neighbours differ by one record, added or removed. With W steps between the bounds and n records, the larger of two
    neighbours, the mean moves by at most W/n: for n ≥ 2 it is (v − mean of the others)/n for the record v that goes.
    The mean of nobody is the middle, so that W bounds it for n = 1. Rounding is monotone and commutes with adding an
    integer, so the rounded mean moves by L(n) = ⌈W/n⌉ at most, and L(n) ≤ L(n − 1). At x of n records the worse
    neighbour has one less and A_0(x) = L(n), with L(0) = W; k records less lead to L(n − k), so that A_k(x) = L(max(n −
    k, 0)) ≤ L(max(n′ − k − 1, 0)) = A_{k+1}(x′) for n′ ≤ n + 1.

    Args:
        lower: the least value of a record, a point of the grid; a NaN counts as it.
        upper: the largest one, a point of the grid above `lower`.
        grid: the public grid that records and the mean are rounded to.

    Raises:
        TypeError: a bound is not a number.
        ValueError: a bound is not where it must be.
    """

    lower: Fraction
    upper: Fraction
    grid: Grid

    relation: ClassVar[Relation] = "add-remove"

    def __post_init__(self) -> None:
        convert(self, rational, "lower", "upper")
        self._total  # noqa: B018 # checks the bounds

    @property
    def _total(self) -> Total:
        return Total(self.lower, self.upper, self.grid)

    @property
    def stability(self) -> int:
        """W, the steps between the bounds."""
        return int((self.upper - self.lower) / self.grid.step)

    def of(self, data: Any) -> int:
        """Return the rounded mean, in steps from 0."""
        total, size = self._total.of(data), len(data)
        if size == 0:
            return self.grid.steps_of("lower", self.lower) + self.stability // 2
        return (2 * total + size) // (2 * size)

    def sensitivities(self, data: Any) -> Iterable[int]:
        """Return ⌈W/(n − k)⌉ for each distance k below n."""
        return (-(-self.stability // size) for size in range(len(data), 0, -1))


def require_local(query: object) -> None:
    """Check that a query bounds its local sensitivity.

    Raises:
        TypeError: it does not.
    """
    if not isinstance(query, LocalQuery):
        raise TypeError(
            "query must be a LocalQuery, which bounds its local sensitivity at each distance: "
            f"noise scaled by the data needs these; {type(query).__name__} has none, use Noisy for it"
        )

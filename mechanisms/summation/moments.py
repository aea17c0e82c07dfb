"""Sums of squares and of products, the variance, and counts of pairs, computed with bounded sensitivity.

A mean of the records themselves moves with every one of them, and so do all deviations from it: in floating point the
sum of their squares moves by its rounding, times the number of records. A public centre moves for nobody. What a record
adds is then a function of that record, rounded to the grid by itself, and the sums are those of integers (`Total`).

A record agrees with any number of others; the counts of values, from which agreeing pairs follow, move by 1. Where a
list is paired by halves (OpenDP, issue 2950), one record more puts out another, or moves all pairs.

Arguments are those of `mechanisms.summation.exact`; centres and cells are public.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mechanisms.core.column import Column
from mechanisms.core.compose import Both, Mapped, Size
from mechanisms.core.grid import Grid
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.core.maps import ratio
from mechanisms.core.noisy import noisy
from mechanisms.core.numbers import Number, positive, rational
from mechanisms.core.records import Histogram, Total
from mechanisms.core.term import Relation


@dataclass(frozen=True)
class Deviations:
    """The product of a record's deviations from public centres. A record that is one number is used at every centre."""

    centres: tuple[Number, ...]

    def __call__(self, record: Any) -> Any:
        """Return the product."""
        product: Any = 1
        values = record if isinstance(record, tuple) else (record,) * len(self.centres)
        for value, centre in zip(values, self.centres, strict=True):
            product = product * (value - centre)
        return product


def sum_of_squares(
    *, lower: Number, upper: Number, centre: Number, grid: Grid, relation: Relation = "add-remove or substitute"
) -> Column:
    """Return the query Σ (x − centre)² over records x; the largest square must be a point of the grid."""
    far = max(abs(rational("bound", bound) - rational("centre", centre)) for bound in (lower, upper))
    return Column(Total(rational("0", 0), far**2, grid, relation), Deviations((centre, centre)))


def sum_of_products(
    *, most: Number, centres: tuple[Number, Number], grid: Grid, relation: Relation = "add-remove or substitute"
) -> Column:
    """Return the query Σ (x − a)·(y − b) over records (x, y), for centres (a, b); each product is clamped to ±most."""
    largest = rational("most", most)
    return Column(Total(-largest, largest, grid, relation), Deviations(centres))


@dataclass(frozen=True)
class AboutMean:
    """Computes the variance, at least 0, from two released numbers: the mean square about a centre, and the mean."""

    centre: float

    def __call__(self, released: tuple[Any, Any]) -> Any:
        """Return the variance, elementwise on arrays."""
        square, mean = released
        return np.maximum(square - (mean - self.centre) ** 2, 0.0)


def exact_variance(*, epsilon: Number, lower: Number, upper: Number, grid: Grid) -> Mapped:
    """Return a mechanism for the variance, by two noisy means, ε/2 each; n is public; neighbours replace a record."""
    low, high, loss = rational("lower", lower), rational("upper", upper), positive("epsilon", epsilon)
    square = sum_of_squares(lower=low, upper=high, centre=(low + high) / 2, grid=grid, relation="substitute")
    mean_square = ratio(noisy(square, DiscreteLaplace, loss / 2), Size(), 0, ((high - low) / 2) ** 2)
    mean = ratio(noisy(Total(low, high, grid, "substitute"), DiscreteLaplace, loss / 2), Size(), low, high)
    return Mapped(Both((mean_square, mean)), AboutMean(float((low + high) / 2)))


@dataclass(frozen=True)
class AgreeingPairs:
    """Estimates the number of agreeing pairs from noisy counts; `variance` is the variance of each count's noise."""

    variance: float

    def __call__(self, counts: Any) -> Any:
        """Return an unbiased number of pairs, shape (...), for counts of shape (..., cells)."""
        return ((counts * (counts - 1) - self.variance) / 2).sum(axis=-1)


def exact_agreeing_pairs(*, epsilon: Number, cells: Sequence[Hashable], relation: Relation = "add-remove") -> Mapped:
    """Return a mechanism that estimates how many pairs of records share a cell, from noisy counts of cells: ε-DP."""
    query, loss = Histogram(tuple(cells), relation), positive("epsilon", epsilon)
    falloff = math.exp(-float(loss / query.stability))
    variance = 2 * falloff / (1 - falloff) ** 2
    return Mapped(noisy(query, DiscreteLaplace, loss), AgreeingPairs(variance))


def pairs_by_place(places: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return the pairs of places 0 and 1, 2 and 3, …; an absent person is None. Their number is public and even."""
    return list(zip(places[::2], places[1::2], strict=True))

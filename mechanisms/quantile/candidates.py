"""Public candidates for a quantile, and how far each lies from it in rank: the utilities of the exact mechanism.

With the quantile α = p/q in lowest terms, a candidate c has the utility −|(q − p)·#{x < c} − p·#{x > c}|. It is 0 where
a share α of the records lies below c and 1 − α above, and records that equal c count on neither side. One record more
or fewer moves it by max(p, q − p) at most. Without ties it is q times the distance in rank, |#{x < c} − α·n|.

Source: Smith 2011, 'Privacy-preserving Statistical Estimation with Optimal Convergence Rates', section 3 (the utility);
he has all numbers of an interval for candidates.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mechanisms.grid import Grid
from mechanisms.parameters import exact_rational
from mechanisms.private_numbers import PrivateNumbers, doubles

MOST_POINTS = 1 << 24
"""The most candidates: arrays of them must fit into memory."""

GREATEST_DENOMINATOR = 1 << 20
"""A quantile's denominator at most; 2^42 records then keep utilities within 64 bits."""


@dataclass(frozen=True)
class Candidates:
    """The points of a grid in a closed interval.

    Args:
        lower: the least candidate.
        upper: the largest one.
        grid: the public grid.

    Raises:
        TypeError: an end is not a number.
        ValueError: an end is not on the grid, lower ≥ upper, or there are more than 2^24 points.
    """

    lower: float | Fraction
    upper: float | Fraction
    grid: Grid

    def __post_init__(self) -> None:
        first, last = (self.grid.steps_of(name, getattr(self, name)) for name in ("lower", "upper"))
        if not 1 <= last - first < MOST_POINTS:
            raise ValueError(f"there must be from 2 to {MOST_POINTS} candidates, not {last - first + 1}")

    def values(self) -> NDArray[np.float64]:
        """Return the candidates in increasing order, shape (points,)."""
        first, last = (self.grid.steps_of("candidate", end) for end in (self.lower, self.upper))
        return self.grid.values(np.arange(first, last + 1))


def rank_utilities(records: PrivateNumbers, quantile: float | Fraction, candidates: Candidates) -> NDArray[np.int64]:
    """Return the utility of each candidate.

    Args:
        records: shape (n,); each counts as the nearest number between the least and the largest candidate, and NaN as
            the least.
        quantile: α, in [0, 1], with a denominator of at most 2^20.
        candidates: the candidates.

    Returns:
        Integers of at most 0, shape (points,); the largest lies nearest to the quantile.

    Raises:
        TypeError: a record is not a number, by its type, or `quantile` is not one.
        ValueError: `records` is not one-dimensional, or `quantile` is out of its range.
    """
    weight_below, weight_above = rank_weights(quantile)
    values = candidates.values()
    ranked = np.sort(np.fmin(np.fmax(doubles("records", records), values[0]), values[-1]))
    below = np.searchsorted(ranked, values, side="left")
    above = ranked.size - np.searchsorted(ranked, values, side="right")
    distances: NDArray[np.int64] = np.abs(weight_below * below - weight_above * above)
    return -distances


def rank_weights(quantile: float | Fraction) -> tuple[int, int]:
    """Return what a record below a candidate counts for, q − p, and what one above it does, p.

    Their maximum is the sensitivity of `rank_utilities` where neighbours differ by one record, added or removed.

    Raises:
        TypeError: `quantile` is not a number.
        ValueError: `quantile` is outside [0, 1], or its denominator is above 2^20.
    """
    exact = exact_rational("quantile", quantile)
    if not 0 <= exact <= 1 or exact.denominator > GREATEST_DENOMINATOR:
        raise ValueError(f"quantile must lie in [0, 1], with a denominator of at most 2^20, not {quantile}")
    return exact.denominator - exact.numerator, exact.numerator

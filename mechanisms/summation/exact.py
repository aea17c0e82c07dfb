"""Bounded sums and means in fixed point, whose sensitivity is what they claim.

Each record is clipped and rounded to the public grid on its own, which makes it a whole number of steps in
[lower/2^k, upper/2^k]; from there on sums are sums of integers and one person moves them by what the bounds say, not by
what rounding makes of it. Noise is discrete Laplace in steps of the same grid. Source of the remedy: Casacuberta et al.
2022, section 7 (fixed-point arithmetic); README.md has the proofs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mechanisms.grid import Grid
from mechanisms.laplace.exact import discrete_laplace
from mechanisms.parameters import exact_rational, positive_rational
from mechanisms.randomness import RandomBits
from mechanisms.summation.relations import Relation, sum_sensitivity

_LOW_BITS = 26


@dataclass(frozen=True)
class Bounds:
    """The public range of a record, both of whose ends are points of the grid.

    Args:
        lower: the least value of a record.
        upper: the largest value of a record.
        grid: the public grid that records are rounded to.

    Raises:
        ValueError: lower ≥ upper, or a bound is not finite or not on the grid.
        TypeError: a bound is not a number.
    """

    lower: float | Fraction
    upper: float | Fraction
    grid: Grid

    def __post_init__(self) -> None:
        sum_sensitivity(self._steps("lower"), self._steps("upper"), "substitute")

    def _steps(self, end: str) -> int:
        steps = exact_rational(end, getattr(self, end)) / self.grid.step
        if steps.denominator != 1 or abs(steps) > self.grid.limit:
            raise ValueError(
                f"{end} must be a multiple of the grid's step 2^{self.grid.exponent}, "
                f"at most 2^53 steps from 0, not {getattr(self, end)}"
            )
        return int(steps)

    @property
    def lower_steps(self) -> int:
        """The lower bound in steps of the grid."""
        return self._steps("lower")

    @property
    def upper_steps(self) -> int:
        """The upper bound in steps of the grid."""
        return self._steps("upper")

    def sensitivity(self, relation: Relation) -> int:
        """Return how many steps one person moves the sum, which some pair of neighbours attains.

        Raises:
            ValueError: the relation is neither add-remove nor substitute.
        """
        return sum_sensitivity(self.lower_steps, self.upper_steps, relation)

    def total(self, records: NDArray[np.float64]) -> int:
        """Add up the clipped and rounded records, exactly.

        A record takes part as a function of itself alone, so each of the roundings below may go either way; NaN counts
        as 0, or as the bound nearest to 0. With at most 2^53 steps a record, the high and the low halves of up to
        2^36 records each add up to less than 2^63 in magnitude: an int64 never wraps around.

        Args:
            records: shape (n,).

        Returns:
            The sum in steps of the grid.

        Raises:
            ValueError: `records` is not one-dimensional.
        """
        values = np.asarray(records, dtype=np.float64)
        if values.ndim != 1:
            raise ValueError(f"records must be one-dimensional, not of shape {values.shape}")
        with np.errstate(all="ignore"):  # or a caller's np.seterr(all="raise") makes an underflow here an event
            clipped = np.clip(np.where(np.isnan(values), 0.0, values), float(self.lower), float(self.upper))
            steps = np.rint(np.ldexp(clipped, -self.grid.exponent)).astype(np.int64)
        high, low = steps >> _LOW_BITS, steps & ((1 << _LOW_BITS) - 1)
        return (int(high.sum()) << _LOW_BITS) + int(low.sum())


def exact_bounded_sum(
    records: NDArray[np.float64],
    bits: RandomBits,
    *,
    epsilon: float | Fraction,
    bounds: Bounds,
    relation: Relation = "add-remove",
) -> float:
    """Release the sum of bounded records with discrete Laplace noise.

    Args:
        records: the records, shape (n,).
        bits: the source of randomness.
        epsilon: the privacy loss, positive; a float stands for the rational that it is.
        bounds: the range of a record and the grid.
        relation: what neighbours are.

    Returns:
        A point of the grid, or the nearest end of it, with ε-DP.

    Raises:
        ValueError: a public parameter is out of its range, or `records` is not one-dimensional.
    """
    scale = bounds.grid.noise_steps(bounds.sensitivity(relation) / positive_rational("epsilon", epsilon))
    return bounds.grid.value(bounds.total(records) + bits.call(discrete_laplace, scale))


def exact_bounded_mean(
    records: NDArray[np.float64],
    bits: RandomBits,
    *,
    epsilon: float | Fraction,
    bounds: Bounds,
    relation: Relation = "substitute",
) -> float:
    """Release the mean of bounded records: a noisy sum over n, or over a noisy n.

    Under substitution n is public and divides the noisy sum. Under add-remove it is not: half of ε goes to the sum and
    half to the count, and a noisy count below 1 counts as 1. Both then are functions of what was released: the quotient
    is clamped to the bounds and rounded to the nearest double.

    Args:
        records: the records, shape (n,); n ≥ 1 under substitution.
        bits: the source of randomness.
        epsilon: the privacy loss, positive.
        bounds: the range of a record and the grid.
        relation: what neighbours are.

    Returns:
        A double within the bounds, with ε-DP.

    Raises:
        ValueError: a public parameter is out of its range, or `records` is not one-dimensional.
    """
    budget = positive_rational("epsilon", epsilon) / (1 if relation == "substitute" else 2)
    scale = bounds.grid.noise_steps(bounds.sensitivity(relation) / budget)
    total, count = bounds.total(records), len(records)
    if relation == "add-remove":
        count = max(1, count + bits.call(discrete_laplace, 1 / budget))
    elif count == 0:
        raise ValueError("records must not be empty: a mean divides by their number")
    position = Fraction(total + bits.call(discrete_laplace, scale), count)
    clamped = min(max(position, Fraction(bounds.lower_steps)), Fraction(bounds.upper_steps))
    return float(clamped * bounds.grid.step)

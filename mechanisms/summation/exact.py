"""Bounded sums and means in fixed point, whose sensitivity is what they claim.

Each record is clipped and rounded to the public grid on its own, which makes it a whole number of steps between the
bounds; from there on sums are sums of integers, and one person moves them by what the bounds say and not by what
rounding makes of it. The total then goes through the exact discrete Laplace mechanism on the same grid. Source of the
remedy: Casacuberta, Shoemate, Vadhan and Wagaman 2022 (integer and fixed-point sums); README.md has the proofs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mechanisms.certified import CHUNK
from mechanisms.grid import Grid
from mechanisms.laplace.exact import exact_discrete_laplace
from mechanisms.laplace.exact_fast import exact_discrete_laplace_fast
from mechanisms.parameters import positive_rational
from mechanisms.randomness import RandomBits
from mechanisms.records import doubles
from mechanisms.summation.relations import Relation, sum_sensitivity

_COUNTS = Grid(0)


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
        for name, end in (("lower", self.lower), ("upper", self.upper)):
            self.grid.steps_of(name, end)
        self.sensitivity("substitute")

    def sensitivity(self, relation: Relation) -> Fraction:
        """Return how far one person moves the total, which some pair of neighbours attains.

        Raises:
            ValueError: the relation is neither add-remove nor substitute.
        """
        return sum_sensitivity(Fraction(self.lower), Fraction(self.upper), relation)

    def total(self, records: NDArray[np.float64]) -> Fraction:
        """Add up the clipped and rounded records, exactly.

        A record takes part as a function of itself alone, so rounding it may go either way; NaN counts as the lower
        bound. A chunk adds up to less than 2^63 in magnitude, so an int64 never wraps around; a step is a power of two,
        so dividing by it is exact but for underflows, which round to 0 anyway.

        Args:
            records: shape (n,).

        Returns:
            The sum, a multiple of the grid's step.

        Raises:
            ValueError: `records` is not one-dimensional.
        """
        values = doubles("records", records)
        lower, upper = float(self.lower), float(self.upper)
        most_steps = int(self.sensitivity("add-remove") / self.grid.step)
        chunk_size = min(CHUNK, (2**63 - 1) // most_steps)
        total = 0
        with np.errstate(all="ignore"):  # or a caller's np.seterr(all="raise") makes an underflow here an event
            for start in range(0, len(values), chunk_size):
                clipped = np.fmin(np.fmax(values[start : start + chunk_size], lower), upper)
                clipped *= 2.0**-self.grid.exponent
                total += int(np.rint(clipped, out=clipped).astype(np.int64).sum())
        return total * self.grid.step


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
        A point of the grid, with ε-DP; sums beyond the grid count as its nearest end.

    Raises:
        ValueError: a public parameter is out of its range, or `records` is not one-dimensional.
    """
    return exact_discrete_laplace(
        bounds.total(records), bits, epsilon=epsilon, sensitivity=bounds.sensitivity(relation), grid=bounds.grid
    )


def exact_bounded_sum_fast(
    records: NDArray[np.float64],
    trials: int,
    bits: RandomBits,
    *,
    epsilon: float | Fraction,
    bounds: Bounds,
    relation: Relation = "add-remove",
) -> NDArray[np.float64]:
    """Release the sum many times, with the law, the arguments and the errors of `exact_bounded_sum`.

    Returns:
        One output a trial, shape (trials,).
    """
    return exact_discrete_laplace_fast(
        bounds.total(records), trials, bits, epsilon=epsilon, sensitivity=bounds.sensitivity(relation), grid=bounds.grid
    )


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
    half to the count, and a noisy count below 1 counts as 1. Either way the quotient, rounded to a double and clamped
    to the bounds, is a function of what was released.

    Args:
        records: the records, shape (n,); n ≥ 1 under substitution.
        bits: the source of randomness.
        epsilon: the privacy loss, positive.
        bounds: the range of a record and the grid, which must reach as far as the sum.
        relation: what neighbours are.

    Returns:
        A double within the bounds, with ε-DP.

    Raises:
        ValueError: a public parameter is out of its range, or `records` is not one-dimensional.
    """
    budget = _budget(records, epsilon, relation)
    total = exact_bounded_sum(records, bits, epsilon=budget, bounds=bounds, relation=relation)
    if relation == "substitute":
        count = float(len(records))
    else:
        count = exact_discrete_laplace(len(records), bits, epsilon=budget, grid=_COUNTS)
    return min(max(total / max(count, 1.0), float(bounds.lower)), float(bounds.upper))


def exact_bounded_mean_fast(
    records: NDArray[np.float64],
    trials: int,
    bits: RandomBits,
    *,
    epsilon: float | Fraction,
    bounds: Bounds,
    relation: Relation = "substitute",
) -> NDArray[np.float64]:
    """Release the mean many times, with the law, the arguments and the errors of `exact_bounded_mean`.

    Returns:
        One output a trial, shape (trials,).
    """
    budget = _budget(records, epsilon, relation)
    totals = exact_bounded_sum_fast(records, trials, bits, epsilon=budget, bounds=bounds, relation=relation)
    if relation == "substitute":
        counts = np.array(float(len(records)))
    else:
        counts = np.maximum(exact_discrete_laplace_fast(len(records), trials, bits, epsilon=budget, grid=_COUNTS), 1.0)
    with np.errstate(under="ignore"):
        totals /= counts
    return np.clip(totals, float(bounds.lower), float(bounds.upper), out=totals)


def _budget(records: NDArray[np.float64], epsilon: float | Fraction, relation: Relation) -> Fraction:
    """Return what of ε goes to the sum, which for an unknown number of records is half."""
    exact_epsilon = positive_rational("epsilon", epsilon)
    if relation != "substitute":
        return exact_epsilon / 2
    if len(records) == 0:
        raise ValueError("records must not be empty: a mean divides by their number")
    return exact_epsilon

"""Bounded sums and means in fixed point, whose sensitivity is what they claim.

Each record is clipped and rounded to the public grid on its own, which makes it a whole number of steps between the
bounds. From then on sums are sums of integers, and one person moves them by no more than the bounds say, however
records were rounded. The total then goes through the exact discrete Laplace mechanism on the same grid. Source of the
remedy: Casacuberta, Shoemate, Vadhan and Wagaman 2022 (integer and fixed-point sums); README.md has the proofs.
"""

from __future__ import annotations

from fractions import Fraction

from mechanisms.grid import Grid
from mechanisms.laplace.exact import exact_discrete_laplace
from mechanisms.parameters import positive_rational
from mechanisms.private_numbers import PrivateNumbers
from mechanisms.randomness import RandomBits
from mechanisms.summation.bounds import Bounds, NarrowBounds
from mechanisms.summation.relations import Relation

COUNTS = Grid(0)
"""The grid of counts of records."""


def exact_bounded_sum(
    records: PrivateNumbers,
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


def exact_narrow_sum(
    records: PrivateNumbers, bits: RandomBits, *, epsilon: float | Fraction, bounds: NarrowBounds
) -> float:
    """Release the sum of records of a narrow range with discrete Laplace noise; neighbours substitute a record.

    What the records have above the lower bound is added up and released; the public number of records, times the lower
    bound, is added afterwards, and the sum rounded to a double.

    Args:
        records: the records, shape (n,), n public.
        bits: the source of randomness.
        epsilon: the privacy loss, positive.
        bounds: the range of a record and the grid.

    Returns:
        A double, with ε-DP.

    Raises:
        ValueError: a public parameter is out of its range, or `records` is not one-dimensional.
    """
    total, count = bounds.total_and_count(records)
    above = exact_discrete_laplace(total, bits, epsilon=epsilon, sensitivity=bounds.sensitivity, grid=bounds.grid)
    return count * bounds.lower + above


def exact_bounded_mean(
    records: PrivateNumbers,
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
    total, count = bounds.total_and_count(records)
    budget = budget_of_sum(count, epsilon, relation)
    noisy_total = exact_discrete_laplace(
        total, bits, epsilon=budget, sensitivity=bounds.sensitivity(relation), grid=bounds.grid
    )
    if relation == "substitute":
        divisor = float(count)
    else:
        divisor = exact_discrete_laplace(count, bits, epsilon=budget, grid=COUNTS)
    return min(max(noisy_total / max(divisor, 1.0), float(bounds.lower)), float(bounds.upper))


def budget_of_sum(count: int, epsilon: float | Fraction, relation: Relation) -> Fraction:
    """Return the part of ε that the sum gets: half, if the number of records is unknown."""
    exact_epsilon = positive_rational("epsilon", epsilon)
    if relation != "substitute":
        return exact_epsilon / 2
    if count == 0:
        raise ValueError("records must not be empty: a mean divides by their number")
    return exact_epsilon

"""Bounded sums and means in fixed point, many at once: the laws of `mechanisms.summation.exact`.

The total is added up once; only the noise is drawn for each trial (`mechanisms.laplace.exact_fast`).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mechanisms.laplace.exact_fast import exact_discrete_laplace_fast
from mechanisms.private_numbers import PrivateNumbers
from mechanisms.randomness import RandomBits
from mechanisms.summation.bounds import Bounds, NarrowBounds
from mechanisms.summation.exact import COUNTS, budget_of_sum
from mechanisms.summation.relations import Relation


def exact_bounded_sum_fast(
    records: PrivateNumbers,
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


def exact_narrow_sum_fast(
    records: PrivateNumbers, trials: int, bits: RandomBits, *, epsilon: float | Fraction, bounds: NarrowBounds
) -> NDArray[np.float64]:
    """Release the sum many times, with the law, the arguments and the errors of `exact_narrow_sum`.

    Returns:
        One output a trial, shape (trials,).
    """
    total, count = bounds.total_and_count(records)
    above = exact_discrete_laplace_fast(
        total, trials, bits, epsilon=epsilon, sensitivity=bounds.sensitivity, grid=bounds.grid
    )
    return count * bounds.lower + above


def exact_bounded_mean_fast(
    records: PrivateNumbers,
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
    total, count = bounds.total_and_count(records)
    budget = budget_of_sum(count, epsilon, relation)
    totals = exact_discrete_laplace_fast(
        total, trials, bits, epsilon=budget, sensitivity=bounds.sensitivity(relation), grid=bounds.grid
    )
    if relation == "substitute":
        counts = np.array(float(count))
    else:
        counts = np.maximum(exact_discrete_laplace_fast(count, trials, bits, epsilon=budget, grid=COUNTS), 1.0)
    with np.errstate(under="ignore"):
        totals /= counts
    return np.clip(totals, float(bounds.lower), float(bounds.upper), out=totals)

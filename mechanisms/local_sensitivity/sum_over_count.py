"""The mean as a noisy sum over a noisy count, with epsilon split between the two.

Where the naive twin spends epsilon on each, we spend half; records are clipped on both sides and counted from the lower
end, so that one person moves the sum by at most the width of the range. Source: Near and Abuah, section 8.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mechanisms.laplace.exact import discrete_laplace
from mechanisms.local_sensitivity.domain import Domain, nearest_integer
from mechanisms.parameters import positive_rational
from mechanisms.randomness import RandomBits


def noisy_sum_and_count(total: int, count: int, width: int, epsilon: Fraction, bits: RandomBits) -> tuple[int, int]:
    """Release a sum of records in [0, width] and their number: epsilon-DP, half of it for each.

    Args:
        total: the sum of the records.
        count: the number of records.
        width: the largest value of a record.
        epsilon: the privacy loss of both together.
        bits: the source of randomness.
    """
    noisy_total = total + bits.call(discrete_laplace, 2 * width / epsilon)
    noisy_count = count + bits.call(discrete_laplace, 2 / epsilon)
    return noisy_total, noisy_count


def _release(total: int, count: int, domain: Domain, epsilon: Fraction, bits: RandomBits) -> float:
    noisy_total, noisy_count = noisy_sum_and_count(total, count, domain.width, epsilon, bits)
    return domain.value(min(max(nearest_integer(noisy_total, max(noisy_count, 1)), 0), domain.width))


def prepare_sum_over_count(
    records: Sequence[float] | NDArray[np.float64], *, domain: Domain, epsilon: float | Fraction
) -> Callable[[RandomBits], float]:
    """Do once what does not depend on the randomness of `exact_sum_over_count`.

    Args:
        records: one value a person, shape (n,).
        domain: the public grid points that records are rounded to.
        epsilon: the privacy loss of one release, under addition or removal of a person.

    Returns:
        A function that releases one answer from random bits.

    Raises:
        ValueError: `records` is not one-dimensional, or `epsilon` is not positive and finite.
    """
    positions = domain.positions(records)
    return partial(_release, int(positions.sum()), len(positions), domain, positive_rational("epsilon", epsilon))


def exact_sum_over_count(
    records: Sequence[float] | NDArray[np.float64], bits: RandomBits, *, domain: Domain, epsilon: float | Fraction
) -> float:
    """Release a mean by noisy sum and noisy count, epsilon-DP; arguments and errors as in `prepare_sum_over_count`."""
    return prepare_sum_over_count(records, domain=domain, epsilon=epsilon)(bits)

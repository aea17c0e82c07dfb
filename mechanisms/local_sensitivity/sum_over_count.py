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
from mechanisms.local_sensitivity.grid import Grid, Rational, positive_rational
from mechanisms.randomness import RandomBits


def _release(total: int, count: int, grid: Grid, epsilon: Fraction, bits: RandomBits) -> Fraction:
    noisy_total = total + bits.call(discrete_laplace, 2 * grid.width / epsilon)
    noisy_count = count + bits.call(discrete_laplace, 2 / epsilon)
    # Both are released already in effect: what follows only makes a number in the range of them.
    position = Fraction(noisy_total, max(noisy_count, 1))
    return grid.value(min(max(position, Fraction(0)), Fraction(grid.width)))


def prepare_sum_over_count(
    records: Sequence[float] | NDArray[np.float64], *, grid: Grid, epsilon: Rational
) -> Callable[[RandomBits], Fraction]:
    """Do once what does not depend on the randomness of `exact_sum_over_count`.

    Args:
        records: one value a person, shape (n,).
        grid: the public grid that records are rounded to.
        epsilon: the privacy loss of one release, under addition or removal of a person.

    Returns:
        A function that releases one answer from random bits.

    Raises:
        ValueError: `records` is not one-dimensional, or `epsilon` is not positive and finite.
    """
    positions = grid.positions(records)
    return partial(_release, int(positions.sum()), len(positions), grid, positive_rational("epsilon", epsilon))


def exact_sum_over_count(
    records: Sequence[float] | NDArray[np.float64], bits: RandomBits, *, grid: Grid, epsilon: Rational
) -> Fraction:
    """Release a mean by noisy sum and noisy count, epsilon-DP; arguments and errors as in `prepare_sum_over_count`."""
    return prepare_sum_over_count(records, grid=grid, epsilon=epsilon)(bits)

"""The mean as a noisy sum over a noisy count, with ε split between the two.

Records are clamped on both sides and counted from the lower end, so that one person moves the sum by the width of the
range at most. Source: Near and Abuah, 'Programming Differential Privacy', section 8.1.
"""

from __future__ import annotations

from mechanisms.core.compose import Mapped
from mechanisms.core.grid import Grid
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.core.maps import ratio
from mechanisms.core.noisy import noisy
from mechanisms.core.numbers import Number, positive, rational
from mechanisms.core.records import Count, Total


def exact_sum_over_count(*, epsilon: Number, lower: Number, upper: Number, grid: Grid) -> Mapped:
    """Return the noisy sum over the noisy count, half of ε each: ε-DP if a record is added or removed.

    Args:
        epsilon: ε, above 0; a float stands for the rational that it is.
        lower: the least value of a record and of the mean.
        upper: the largest one, a whole number of steps above `lower`.
        grid: the public grid that records are rounded to.

    Raises:
        TypeError: a parameter is not a number.
        ValueError: a parameter is out of its range, or the noise is too large for the grid.
    """
    half = positive("epsilon", epsilon) / 2
    total = Total(rational("lower", lower), rational("upper", upper), grid, above_lower=True)
    noisy_total, noisy_count = noisy(total, DiscreteLaplace, half), noisy(Count(), DiscreteLaplace, half)
    return ratio(noisy_total, noisy_count, lower, upper, origin=lower)

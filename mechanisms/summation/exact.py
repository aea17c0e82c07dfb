"""Bounded sums and means in whole steps of a public grid, whose sensitivity is what they claim.

Each record is clamped and rounded by itself, and from then on sums are sums of integers. Source of the remedy:
Casacuberta, Shoemate, Vadhan and Wagaman 2022 (integer and fixed-point sums); Dwork and Roth 2014, section 3.3.

Every function here takes

    lower, upper: the public range of a record, points of the grid; a NaN counts as `lower`
    grid: the public grid that records are rounded to, which must reach as far as the sum
    epsilon: ε, above 0; a float stands for the rational that it is
    relation: which records are neighbours

and returns a mechanism with ε-DP. It raises TypeError where a parameter is not a number, and ValueError where one is
out of its range or the noise is too large for the grid.
"""

from __future__ import annotations

from mechanisms.core.compose import Both, Mapped, Size
from mechanisms.core.grid import Grid
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.core.maps import WithOrigins, ratio
from mechanisms.core.noisy import Noisy, noisy
from mechanisms.core.numbers import Number, positive, rational
from mechanisms.core.records import Count, Total
from mechanisms.core.term import Relation


def exact_bounded_sum(
    *, epsilon: Number, lower: Number, upper: Number, grid: Grid, relation: Relation = "add-remove or substitute"
) -> Noisy:
    """Return a mechanism that adds discrete Laplace noise to the sum of the records; outputs are points of the grid."""
    return noisy(Total(rational("lower", lower), rational("upper", upper), grid, relation), DiscreteLaplace, epsilon)


def exact_narrow_sum(*, epsilon: Number, lower: Number, upper: Number, grid: Grid) -> Mapped:
    """Return a mechanism for a noisy sum of records of a narrow range far from 0; neighbours substitute a record.

    Steps are counted from `lower`, as from 0 a record would be more steps than a double holds. n·`lower` is added
    afterwards: n is public. The bounds are doubles whose difference is a point of the grid.
    """
    above = Total(rational("lower", lower), rational("upper", upper), grid, "substitute", above_lower=True)
    return Mapped(Both((noisy(above, DiscreteLaplace, epsilon), Size())), WithOrigins(float(lower)))


def exact_bounded_mean(
    *, epsilon: Number, lower: Number, upper: Number, grid: Grid, relation: Relation = "add-remove or substitute"
) -> Mapped:
    """Return a mechanism that divides a noisy sum by a noisy count, half of ε each, and clamps to the bounds.

    If neighbours substitute a record, their number is public, and the sum gets all of ε.
    """
    total = Total(rational("lower", lower), rational("upper", upper), grid, relation)
    loss = positive("epsilon", epsilon)
    if relation == "substitute":
        return ratio(noisy(total, DiscreteLaplace, loss), Size(), lower, upper)
    count = Count(relation)
    return ratio(noisy(total, DiscreteLaplace, loss / 2), noisy(count, DiscreteLaplace, loss / 2), lower, upper)

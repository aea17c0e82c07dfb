"""Laplace noise on a finite public grid, exactly: a base-2 exponential mechanism whose utility is −|f(D) − o|.

No noise is drawn and nothing is added: each point of the grid is an outcome, and one of them is selected.
README.md shows why the finite grid costs twice the loss that textbooks state.

Source: Ilvento 2020, section 3 (the base-2 exponential mechanism); Dwork and Roth 2014, section 3.4.
"""

from __future__ import annotations

from fractions import Fraction

from gmpy2 import mpq

from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.exact_base2 import exact_exponential_base2
from mechanisms.parameters import exact_rational, positive_integer, positive_rational
from mechanisms.private_numbers import PrivateNumber, clamped, exact_number
from mechanisms.randomness import RandomBits


def exact_laplace_on_grid(
    answer: PrivateNumber,
    bits: RandomBits,
    *,
    eta: BaseTwoEta,
    lower: float | Fraction,
    spacing: float | Fraction,
    points: int,
    sensitivity: float | Fraction = 1,
) -> Fraction:
    """Release an answer with Laplace noise on a finite public grid: the exponential mechanism with utility −|f − o|.

    The probability of o is in proportion to 2^(−η·|f − o|/Δf) and the base-2 loss is 2η. Textbooks write the utility
    as −2·|f − o|, whose sensitivity is 2Δf: the same mechanism. They then divide by Δf alone, which is right on an
    unbounded grid, where the sum of the weights is the same for every answer; on a finite one it is not.

    Args:
        answer: f, clamped to the grid's ends; infinite answers are, and a NaN counts as the lower end.
        bits: the source of randomness.
        eta: the decay of a probability with each sensitivity of distance.
        lower: the least point of the grid.
        spacing: the distance between neighbouring points.
        points: how many points there are.
        sensitivity: Δf, the most that one record moves the answer.

    Returns:
        The point released.

    Raises:
        TypeError: an argument is not a number, or `points` not an integer.
        ValueError: `points` is less than 1, or another argument is not finite or, where it must be, not positive.
    """
    positive_integer("points", points)
    start, step = exact_rational("lower", lower), positive_rational("spacing", spacing)
    grid = [start + index * step for index in range(points)]
    lowest, highest = mpq(grid[0]), mpq(grid[-1])
    centre = clamped(exact_number("answer", answer), lowest, highest, missing=lowest)
    utilities = [-abs(centre - point) for point in grid]
    farthest = grid[0] - grid[-1]
    chosen = exact_exponential_base2(utilities, bits, eta=eta, utility_range=(farthest, 0), sensitivity=sensitivity)
    return grid[chosen]

"""The sparse vector technique, exactly: AboveThreshold, and its form that releases values, on a public grid.

Answers are rounded to the grid, the threshold is one of its points, and both get discrete Laplace noise in whole steps:
the threshold once, each answer its own. What is compared are integers of any size. README.md proves what is lost.

Sources: Dwork and Roth 2014, 'The Algorithmic Foundations of Differential Privacy', Algorithms 1 to 3; Lyu, Su and Li
2017, 'Understanding the Sparse Vector Technique for Differential Privacy', Algorithms 1 and 7. They draw real noise; we
draw discrete noise, and take the values' noise after the last comparison, which changes no law.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from mechanisms.grid import Grid
from mechanisms.laplace.exact import discrete_laplace, discrete_scale
from mechanisms.parameters import positive_integer, positive_rational
from mechanisms.private_numbers import PrivateNumber
from mechanisms.randomness import RandomBits

NOT_REPORTED = -math.inf
"""What stands where no value is released; every value is finite."""


def noise_scales(
    positives: int,
    epsilon_threshold: float | Fraction,
    epsilon_answers: float | Fraction,
    sensitivity: float | Fraction,
    grid: Grid,
) -> tuple[Fraction, Fraction]:
    """Return the scales of the threshold's noise and of each answer's, in steps: d/ε₁ and 2cd/ε₂ with d = ⌈Δ/2^k⌉.

    Raises:
        TypeError: `positives` is not an integer, or another parameter not a number.
        ValueError: a parameter is not above 0, or the grid is too fine for the noise.
    """
    each = positive_rational("epsilon_answers", epsilon_answers) / (2 * positive_integer("positives", positives))
    return discrete_scale(epsilon_threshold, sensitivity, grid), discrete_scale(each, sensitivity, grid)


def value_scale(
    positives: int, epsilon_values: float | Fraction, sensitivity: float | Fraction, grid: Grid
) -> Fraction:
    """Return the scale of the noise of each value, in steps: cd/ε₃ with d = ⌈Δ/2^k⌉; errors as of `noise_scales`."""
    each = positive_rational("epsilon_values", epsilon_values) / positive_integer("positives", positives)
    return discrete_scale(each, sensitivity, grid)


def exact_above_threshold(
    answers: Iterable[PrivateNumber],
    bits: RandomBits,
    *,
    threshold: float | Fraction,
    positives: int,
    epsilon_threshold: float | Fraction,
    epsilon_answers: float | Fraction,
    sensitivity: float | Fraction = 1,
    grid: Grid,
) -> tuple[bool, ...]:
    """Report which answers are above a threshold, in their order, until `positives` of them were.

    Args:
        answers: the true answers, one a query; each is rounded to the grid by itself, and NaN counts as 0.
        bits: the source of randomness.
        threshold: a point of the grid.
        positives: c, how many answers are reported above before the mechanism stops.
        epsilon_threshold: ε₁, what the threshold's noise costs; a float stands for its exact value.
        epsilon_answers: ε₂, what the noise of the answers above costs.
        sensitivity: Δ, how far each answer can move between neighbours.
        grid: the public grid of answers.

    Returns:
        Whether each answer was reported above, one a query; False for those after the last that could be. It is
        (ε₁ + ε₂)-DP, however many answers there are.

    Raises:
        TypeError: an answer is not a number, by its type.
        ValueError: a public parameter is out of its range, or the threshold is not a point of the grid.
    """
    threshold_scale, answer_scale = noise_scales(positives, epsilon_threshold, epsilon_answers, sensitivity, grid)
    wholes = [grid.nearest(answer) for answer in answers]
    noisy_threshold = grid.steps_of("threshold", threshold) + bits.call(discrete_laplace, threshold_scale)
    left, reported = positives, []
    for whole in wholes:
        above = left > 0 and whole + bits.call(discrete_laplace, answer_scale) >= noisy_threshold
        left -= above
        reported.append(above)
    return tuple(reported)


def exact_numeric_sparse(
    answers: Iterable[PrivateNumber],
    bits: RandomBits,
    *,
    threshold: float | Fraction,
    positives: int,
    epsilon_threshold: float | Fraction,
    epsilon_answers: float | Fraction,
    epsilon_values: float | Fraction,
    sensitivity: float | Fraction = 1,
    grid: Grid,
) -> tuple[float, ...]:
    """Release the values of answers above a threshold, with noise of their own, until there were `positives` of them.

    Args:
        answers: as for `exact_above_threshold`, as are all but one of the others.
        bits: the source of randomness.
        threshold: a point of the grid.
        positives: c, how many values are released before the mechanism stops.
        epsilon_threshold: ε₁.
        epsilon_answers: ε₂.
        epsilon_values: ε₃, what the noise of the values costs.
        sensitivity: Δ.
        grid: the public grid of answers and of values.

    Returns:
        A point of the grid for each answer that is reported above, −∞ for every other. It is (ε₁ + ε₂ + ε₃)-DP.

    Raises:
        TypeError, ValueError: as by `exact_above_threshold`.
    """
    scale = value_scale(positives, epsilon_values, sensitivity, grid)
    known = list(answers)
    reported = exact_above_threshold(
        known,
        bits,
        threshold=threshold,
        positives=positives,
        epsilon_threshold=epsilon_threshold,
        epsilon_answers=epsilon_answers,
        sensitivity=sensitivity,
        grid=grid,
    )
    return tuple(
        grid.value(grid.nearest(answer) + bits.call(discrete_laplace, scale)) if above else NOT_REPORTED
        for answer, above in zip(known, reported, strict=True)
    )

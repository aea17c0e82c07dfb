"""The sparse vector technique, exactly and many times at once: the laws of `mechanisms.sparse_vector.exact`.

The noise is that of `mechanisms.laplace.exact_fast`. It is compared and not shown, so that it must not be cut off at
2^62: at the cut, the threshold's noise could no longer make up for an answer that moved.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechanisms.chunks import GREATEST_NOISE
from mechanisms.grid import Grid
from mechanisms.laplace.exact_fast import discrete_laplace_many
from mechanisms.laplace.exponential_variates import floor_of_exponential
from mechanisms.private_numbers import PrivateNumber
from mechanisms.randomness import RandomBits
from mechanisms.sparse_vector.exact import NOT_REPORTED, noise_scales, value_scale


def unbounded_laplace_many(scale: Fraction, trials: int, bits: RandomBits) -> NDArray[Any]:
    """Draw integers n with probability proportional to e^(−|n|/scale), however large.

    What `discrete_laplace_many` brought to ±2^62 goes on from there: by how much more, is geometric again.

    Args:
        scale: a rational number, above 0 and at most 2^46.
        trials: how many integers to draw.
        bits: the source of randomness.

    Returns:
        Shape (trials,): 64-bit integers, or Python's where one of them reached 2^62.
    """
    noise: NDArray[Any] = discrete_laplace_many(scale, trials, bits)
    far = np.flatnonzero(np.abs(noise) == GREATEST_NOISE).tolist()
    if far:
        noise = noise.astype(object)
        for place in far:
            more = bits.call(floor_of_exponential, Fraction(0), scale)
            noise[place] += more if noise[place] > 0 else -more
    return noise


def exact_above_threshold_fast(
    answers: Iterable[PrivateNumber],
    trials: int,
    bits: RandomBits,
    *,
    threshold: float | Fraction,
    positives: int,
    epsilon_threshold: float | Fraction,
    epsilon_answers: float | Fraction,
    sensitivity: float | Fraction = 1,
    grid: Grid,
) -> NDArray[np.bool_]:
    """Report which answers are above a threshold, many times; the law is that of `exact_above_threshold`.

    Every answer gets noise, and what comes after the last positive is not shown.

    Args:
        answers: as for `exact_above_threshold`, shape (queries,).
        trials: how many times.
        bits: the source of randomness.
        threshold: a point of the grid.
        positives: c, how many answers are reported above before the mechanism stops.
        epsilon_threshold: ε₁, what the threshold's noise costs.
        epsilon_answers: ε₂, what the noise of the answers above costs.
        sensitivity: Δ, how far each answer can move between neighbours.
        grid: the public grid of answers.

    Returns:
        Array of shape (trials, queries).

    Raises:
        TypeError, ValueError: as by `exact_above_threshold`.
    """
    threshold_scale, answer_scale = noise_scales(positives, epsilon_threshold, epsilon_answers, sensitivity, grid)
    wholes = [grid.nearest(answer) for answer in answers]
    thresholds = unbounded_laplace_many(threshold_scale, trials, bits) + grid.steps_of("threshold", threshold)
    noise = unbounded_laplace_many(answer_scale, trials * len(wholes), bits).reshape(trials, len(wholes))
    above: NDArray[np.bool_] = noise + wholes >= thresholds[:, np.newaxis]
    return above & (np.cumsum(above, axis=1) <= positives)


def exact_numeric_sparse_fast(
    answers: Iterable[PrivateNumber],
    trials: int,
    bits: RandomBits,
    *,
    threshold: float | Fraction,
    positives: int,
    epsilon_threshold: float | Fraction,
    epsilon_answers: float | Fraction,
    epsilon_values: float | Fraction,
    sensitivity: float | Fraction = 1,
    grid: Grid,
) -> NDArray[np.float64]:
    """Release the values of answers above a threshold, many times; the law is that of `exact_numeric_sparse`.

    Args:
        answers: as for `exact_numeric_sparse`, shape (queries,).
        trials: how many times.
        bits: the source of randomness.
        threshold: a point of the grid.
        positives: c, how many values are released before the mechanism stops.
        epsilon_threshold: ε₁.
        epsilon_answers: ε₂.
        epsilon_values: ε₃, what the noise of the values costs.
        sensitivity: Δ.
        grid: the public grid of answers and of values.

    Returns:
        Array of shape (trials, queries).

    Raises:
        TypeError, ValueError: as by `exact_numeric_sparse`.
    """
    scale = value_scale(positives, epsilon_values, sensitivity, grid)
    known = list(answers)
    reported = exact_above_threshold_fast(
        known,
        trials,
        bits,
        threshold=threshold,
        positives=positives,
        epsilon_threshold=epsilon_threshold,
        epsilon_answers=epsilon_answers,
        sensitivity=sensitivity,
        grid=grid,
    )
    wholes = np.array([grid.nearest(answer) for answer in known])
    queries = np.nonzero(reported)[1]
    values = np.full(reported.shape, NOT_REPORTED)
    values[reported] = grid.values(wholes[queries] + discrete_laplace_many(scale, len(queries), bits))
    return values

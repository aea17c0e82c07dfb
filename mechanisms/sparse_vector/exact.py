"""The sparse vector technique, exactly: AboveThreshold, and its form that releases values, on a public grid.

Answers are rounded to the grid, the threshold is one of its points, and both get discrete Laplace noise in whole steps:
the threshold once, each answer its own. `mechanisms.core.threshold` says what is lost.
"""

from __future__ import annotations

from mechanisms.core.grid import Grid
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.core.numbers import Number, count, positive, rational
from mechanisms.core.records import Answer
from mechanisms.core.threshold import AboveThreshold


def exact_above_threshold(
    *,
    threshold: Number,
    positives: int,
    epsilon_threshold: Number,
    epsilon_answers: Number,
    epsilon_values: Number | None = None,
    sensitivity: Number = 1,
    grid: Grid,
) -> AboveThreshold:
    """Return the mechanism that reports which answers are above a threshold, in order, until `positives` are.

    Answers of neighbours are at most d = ⌈sensitivity/step⌉ steps apart; let c = `positives`. The noise has the scale
    d/`epsilon_threshold` on the threshold, 2cd/`epsilon_answers` on each answer, and cd/`epsilon_values` on each value
    that is released.
    """
    answer, most = Answer(positive("sensitivity", sensitivity), grid), count("positives", positives)
    d = answer.stability
    values = None if epsilon_values is None else DiscreteLaplace(most * d / positive("epsilon_values", epsilon_values))
    return AboveThreshold(
        answer,
        rational("threshold", threshold),
        most,
        DiscreteLaplace(d / positive("epsilon_threshold", epsilon_threshold)),
        DiscreteLaplace(2 * most * d / positive("epsilon_answers", epsilon_answers)),
        values,
    )

"""Randomized response by one comparison of doubles: tell the truth when a uniform is below e^ε/(1 + e^ε).

The flaw: for ε > 37 the probability rounds to 1 and no answer is ever a lie; beyond 709 it is NaN and every answer is.

Source: Warner 1965, 'Randomized Response'.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mechanisms.parameters import positive_rational, trial_count


def naive_randomized_response(
    truth: bool, trials: int, rng: np.random.Generator, *, epsilon: float
) -> NDArray[np.bool_]:
    """Tell the truth when one uniform is below e^ε/(1 + e^ε), its opposite otherwise.

    Args:
        truth: the private bit.
        trials: how many outputs to draw.
        rng: the source of randomness.
        epsilon: privacy parameter, above 0.

    Returns:
        Array of `trials` answers.

    Raises:
        ValueError: a parameter is out of its range.
    """
    positive_rational("epsilon", epsilon)
    with np.errstate(over="ignore", invalid="ignore"):
        odds = np.exp(np.float64(epsilon))
        keep = odds / (1 + odds)
    truthful: NDArray[np.bool_] = rng.random(trial_count(trials)) < keep
    return truthful if truth else ~truthful

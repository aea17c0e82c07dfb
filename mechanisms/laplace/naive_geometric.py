"""The geometric mechanism as textbooks define it: an integer plus the difference of two variates counted in loops.

The flaw: each loop runs once for every step of the noise, so the time taken tells how large the noise is. And the
binary64 ratio e^(−ε/Δ) is rounded, so that ε is met only nearly.

Source: Ghosh, Roughgarden and Sundararajan 2009, 'Universally Utility-Maximizing Privacy Mechanisms', section 2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mechanisms.laplace.naive import noise_scale
from mechanisms.parameters import trial_count


def naive_two_sided_geometric(
    answer: int, trials: int, rng: np.random.Generator, *, epsilon: float, sensitivity: float = 1.0
) -> NDArray[np.int64]:
    """Add to an integer the difference of two geometric variates, each counted in a loop.

    Args:
        answer: the true answer f(D).
        trials: how many outputs to draw.
        rng: the source of randomness.
        epsilon: privacy parameter, above 0.
        sensitivity: how far neighbouring answers can be apart, above 0.

    Returns:
        Array of `trials` outputs.

    Raises:
        ValueError: a parameter is out of its range.
    """
    ratio = np.exp(-1 / noise_scale(epsilon, sensitivity))

    def successes() -> int:
        count = 0
        while rng.random() < ratio:
            count += 1
        return count

    return np.array([answer + successes() - successes() for _ in range(trial_count(trials))], dtype=np.int64)

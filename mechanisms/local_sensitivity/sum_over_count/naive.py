"""The mean as a noisy sum over a noisy count, each of which spends all of epsilon.

The two losses add up to nearly 2ε, and records are clipped from above only.

Source: Near and Abuah, 'Programming Differential Privacy', section 8.3, `gs_avg`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mechanisms.core.numbers import count, positive


def naive_sum_over_count(
    records: NDArray[np.float64], trials: int, rng: np.random.Generator, *, upper: float, epsilon: float
) -> NDArray[np.float64]:
    """Release the mean as a noisy sum over a noisy count, each of which spends all of epsilon.

    Args:
        records: the records, shape (n,).
        trials: how many independent answers.
        rng: the source of randomness.
        upper: the largest value of a record; smaller values are not clipped.
        epsilon: the claimed privacy loss.

    Returns:
        The answers, shape (trials,).

    Raises:
        ValueError: `upper` or `epsilon` is not positive and finite.
    """
    positive("upper", upper)
    positive("epsilon", epsilon)
    total = float(np.sum(np.clip(records, None, upper)))
    noisy_sums = total + rng.laplace(0.0, upper / epsilon, count("trials", trials, least=0))
    noisy_counts = len(records) + rng.laplace(0.0, 1.0 / epsilon, count("trials", trials, least=0))
    return noisy_sums / noisy_counts

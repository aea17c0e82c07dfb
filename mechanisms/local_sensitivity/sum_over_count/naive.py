"""The mean as a noisy sum over a noisy count, each of which spends all of epsilon.

The two losses add up to nearly 2ε, and records are clipped from above only.

Source: Near and Abuah, 'Programming Differential Privacy', section 8.3, `gs_avg`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mechanisms.local_sensitivity.textbook_noise import add_laplace
from mechanisms.parameters import positive_rational


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
    positive_rational("upper", upper)
    positive_rational("epsilon", epsilon)
    total = float(np.sum(np.clip(records, None, upper)))
    noisy_sums = add_laplace(total, trials, rng, sensitivity=upper, epsilon=epsilon)
    noisy_counts = add_laplace(len(records), trials, rng, sensitivity=1.0, epsilon=epsilon)
    return noisy_sums / noisy_counts

"""The mean with noise scaled to its local sensitivity: the mistake that the rest of this family avoids.

The scale upper/((n + 1)·epsilon) is a function of n, the number of people, and a few answers are enough to estimate it.
The set-up is done once a call and only the noise once a trial, which leaves the law of the outputs as it was.

Source: Near and Abuah, 'Programming Differential Privacy', sections 8.1 and 8.2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mechanisms.core.numbers import count, positive


def sensitivity_at_distance(size: int, upper: float, distance: int) -> float:
    """Return |u/(n − k + 1)|, the most that *adding* a record after k removals moves the mean.

    Raises:
        ZeroDivisionError: k is n + 1.
    """
    return abs(upper / (size - distance + 1))


def naive_local_sensitivity_mean(
    records: NDArray[np.float64], trials: int, rng: np.random.Generator, *, upper: float, epsilon: float
) -> NDArray[np.float64]:
    """Release the mean of the records, clipped to [0, upper], with noise scaled to its local sensitivity.

    The scale upper/((n + 1)·epsilon) gives n away to whoever estimates it from a few answers.

    Args:
        records: the records, shape (n,).
        trials: how many independent answers.
        rng: the source of randomness.
        upper: the largest value of a record.
        epsilon: the claimed privacy loss.

    Returns:
        The answers, shape (trials,).

    Raises:
        ValueError: `upper` or `epsilon` is not positive and finite.
    """
    positive("upper", upper)
    positive("epsilon", epsilon)
    mean = float(np.mean(np.clip(records, 0.0, upper)))
    sensitivity = sensitivity_at_distance(len(records), upper, 0)
    return mean + rng.laplace(0.0, sensitivity / epsilon, count("trials", trials, least=0))

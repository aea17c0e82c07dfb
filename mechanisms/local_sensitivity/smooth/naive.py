"""The mean with noise scaled to a textbook's smooth sensitivity, whose maximum stops after 200 distances.

The bound then jumps between 199 and 200 people, where smoothness allows a factor of e^β; below 199 people the code
divides by zero.

Source: Near and Abuah, 'Programming Differential Privacy', section 8.4; the framework is that of Nissim, Raskhodnikova
and Smith 2007.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mechanisms.core.numbers import count, failure_probability, positive
from mechanisms.local_sensitivity.mean.naive import sensitivity_at_distance

_SMOOTHING_DISTANCES = 200


def naive_smooth_sensitivity(size: int, *, upper: float, epsilon: float, delta: float) -> float:
    """Return the β-smooth sensitivity of the mean of `size` records, with the maximum over 200 distances only.

    Args:
        size: the number n of records.
        upper: the largest value of a record.
        epsilon: the privacy loss; β = epsilon/(2·ln(2/delta)).
        delta: the failure probability.

    Returns:
        The largest of exp(−βk)·|upper/(n − k + 1)| over k < 200.

    Raises:
        ZeroDivisionError: `size` is less than 199.
    """
    beta = epsilon / (2 * math.log(2 / delta))
    return max(
        float(np.exp(-beta * distance)) * sensitivity_at_distance(size, upper, distance)
        for distance in range(_SMOOTHING_DISTANCES)
    )


def naive_smooth_mean(
    records: NDArray[np.float64],
    trials: int,
    rng: np.random.Generator,
    *,
    upper: float,
    epsilon: float,
    delta: float,
) -> NDArray[np.float64]:
    """Release the mean with Laplace noise of scale 2S/epsilon, S its smooth sensitivity.

    Args:
        records: the records, shape (n,).
        trials: how many independent answers.
        rng: the source of randomness.
        upper: the largest value of a record; smaller values are not clipped.
        epsilon: the claimed privacy loss.
        delta: the claimed failure probability.

    Returns:
        The answers, shape (trials,).

    Raises:
        ValueError: a parameter is not positive and finite, or delta is more than 1/2.
        ZeroDivisionError: there are fewer than 199 records.
    """
    positive("upper", upper)
    positive("epsilon", epsilon)
    failure_probability(delta)
    smooth_sensitivity = naive_smooth_sensitivity(len(records), upper=upper, epsilon=epsilon, delta=delta)
    mean = float(np.mean(np.clip(records, None, upper)))
    return mean + rng.laplace(0.0, 2 * smooth_sensitivity / epsilon, count("trials", trials, least=0))

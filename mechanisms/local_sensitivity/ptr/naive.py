"""Propose-test-release of the mean with a textbook's threshold, which lets too many tests pass.

Three flaws: the threshold ln(2/δ)/(2ε) is lower than the tail of the test's noise asks for; the test and the release
spend ε each; and the distance is that of adding a record, not of removing one.

Source: Near and Abuah, 'Programming Differential Privacy', section 8.3; the framework is that of Dwork and Lei 2009.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mechanisms.core.numbers import count, failure_probability, positive
from mechanisms.local_sensitivity.mean.naive import sensitivity_at_distance


def naive_ptr_mean(
    records: NDArray[np.float64],
    trials: int,
    rng: np.random.Generator,
    *,
    upper: float,
    bound: float,
    epsilon: float,
    delta: float,
) -> list[float | None]:
    """Propose-test-release of the mean: refuse unless the database seems far from one of local sensitivity `bound`.

    Args:
        records: the records, shape (n,).
        trials: how many independent answers.
        rng: the source of randomness.
        upper: the largest value of a record; smaller values are not clipped.
        bound: the proposed bound on the local sensitivity, which the noise is scaled to.
        epsilon: the claimed privacy loss; the test and the release spend it once each.
        delta: the claimed failure probability.

    Returns:
        One answer a trial, None where the test refuses.

    Raises:
        ValueError: a parameter is not positive and finite, or delta is more than 1/2.
        ZeroDivisionError: `bound` exceeds `upper`.
    """
    for name, value in (("upper", upper), ("bound", bound), ("epsilon", epsilon)):
        positive(name, value)
    failure_probability(delta)
    distance = 0
    while sensitivity_at_distance(len(records), upper, distance) < bound:
        distance += 1
    mean = float(np.mean(np.clip(records, None, upper)))
    noisy_distances = distance + rng.laplace(0.0, 1.0 / epsilon, count("trials", trials, least=0))
    answers = mean + rng.laplace(0.0, bound / epsilon, count("trials", trials, least=0))
    refused = noisy_distances < math.log(2 / delta) / (2 * epsilon)
    return [None if refuse else answer for refuse, answer in zip(refused.tolist(), answers.tolist(), strict=True)]

"""The mean with too little noise: five ways of textbooks and of code in use.

- By its local sensitivity: the scale upper/((n + 1)·epsilon) is a function of n, the number of people, and a few
  answers are enough to estimate it (sections 8.1 and 8.2).
- As a noisy sum over a noisy count, each of which spends all of epsilon: the losses add up to nearly 2ε, and records
  are clipped from above only (section 8.3, `gs_avg`).
- By propose-test-release: the threshold ln(2/δ)/(2ε) is lower than the tail of the test's noise asks for; the test and
  the release spend ε each; and the distance is that of adding a record, not of removing one (section 8.3).
- By a smooth sensitivity whose maximum stops after 200 distances: the bound jumps between 199 and 200 people, where
  smoothness allows a factor of e^β, and below 199 people the code divides by zero (section 8.4).
- By sample and aggregate with chunks that are cut by the records' *positions*: one record less shifts every chunk
  behind it, and fewer chunks may be cut than the noise is scaled to (section 8.5).

The median's local sensitivity jumps: on some databases no neighbour moves it, so that no noise is added, and on one of
their neighbours a record moves it by as much as any could. One answer tells the two apart.

Each prepares once per call and draws only noise for each trial, which does not change the law of the outputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mechanisms.core.numbers import count, failure_probability, positive


def sensitivity_at_distance(size: int, upper: float, distance: int) -> float:
    """Return |u/(n − k + 1)|, the most that *adding* a record after k removals moves the mean."""
    return abs(upper / (size - distance + 1))


def naive_local_sensitivity_mean(
    records: NDArray[np.float64], trials: int, rng: np.random.Generator, *, upper: float, epsilon: float
) -> NDArray[np.float64]:
    """Release the mean of the records, clipped to [0, upper], with noise scaled to its local sensitivity.

    The scale upper/((n + 1)·epsilon) gives n away to whoever estimates it from a few answers.
    """
    positive("upper", upper)
    positive("epsilon", epsilon)
    mean = float(np.mean(np.clip(records, 0.0, upper)))
    sensitivity = sensitivity_at_distance(len(records), upper, 0)
    return mean + rng.laplace(0.0, sensitivity / epsilon, count("trials", trials, least=0))


def naive_sum_over_count(
    records: NDArray[np.float64], trials: int, rng: np.random.Generator, *, upper: float, epsilon: float
) -> NDArray[np.float64]:
    """Release the mean as a noisy sum over a noisy count, each of which spends all of epsilon.

    Arguments, result and errors as in `naive_local_sensitivity_mean`, but records below 0 are not clipped.
    """
    positive("upper", upper)
    positive("epsilon", epsilon)
    total = float(np.sum(np.clip(records, None, upper)))
    noisy_sums = total + rng.laplace(0.0, upper / epsilon, count("trials", trials, least=0))
    noisy_counts = len(records) + rng.laplace(0.0, 1.0 / epsilon, count("trials", trials, least=0))
    return noisy_sums / noisy_counts


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

    The test and the release spend epsilon once each. Arguments as in `naive_sum_over_count`; besides, `bound` is the
    proposed bound on the local sensitivity, which the noise is scaled to, and `delta` the claimed failure probability.
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


_SMOOTHING_DISTANCES = 200


def naive_smooth_sensitivity(size: int, *, upper: float, epsilon: float, delta: float) -> float:
    """Return the β-smooth sensitivity of the mean of `size` records, with the maximum over 200 distances only."""
    beta = epsilon / (2 * math.log(2 / delta))
    return max(
        float(np.exp(-beta * distance)) * sensitivity_at_distance(size, upper, distance)
        for distance in range(_SMOOTHING_DISTANCES)
    )


def naive_smooth_mean(
    records: NDArray[np.float64], trials: int, rng: np.random.Generator, *, upper: float, epsilon: float, delta: float
) -> NDArray[np.float64]:
    """Release the mean with Laplace noise of scale 2S/epsilon, S its smooth sensitivity.

    Arguments and result as in `naive_sum_over_count`; `delta` is the claimed failure probability.
    """
    positive("upper", upper)
    positive("epsilon", epsilon)
    failure_probability(delta)
    smooth_sensitivity = naive_smooth_sensitivity(len(records), upper=upper, epsilon=epsilon, delta=delta)
    mean = float(np.mean(np.clip(records, None, upper)))
    return mean + rng.laplace(0.0, 2 * smooth_sensitivity / epsilon, count("trials", trials, least=0))


def naive_sample_aggregate(
    records: NDArray[np.float64],
    trials: int,
    rng: np.random.Generator,
    *,
    chunks: int,
    lower: float,
    upper: float,
    epsilon: float,
    statistic: Callable[[NDArray[np.float64]], float] = np.mean,
) -> NDArray[np.float64]:
    """Sample and aggregate: the mean of a statistic over chunks that are cut by the records' *positions*."""
    positive("chunks", chunks)
    positive("epsilon", epsilon)
    if not lower < upper:
        raise ValueError(f"lower must be less than upper, not {lower!r} against {upper!r}")
    chunk_size = math.ceil(len(records) / chunks)
    answers = [statistic(records[start : start + chunk_size]) for start in range(0, len(records), chunk_size)]
    mean = float(np.mean(np.clip(answers, lower, upper)))
    return mean + rng.laplace(0.0, (upper - lower) / chunks / epsilon, count("trials", trials, least=0))


def naive_median(
    records: NDArray[np.float64], trials: int, rng: np.random.Generator, *, lower: float, upper: float, epsilon: float
) -> NDArray[np.float64]:
    """Release the lower median of the records with noise scaled to its local sensitivity."""
    positive("epsilon", epsilon)
    if not lower < upper:
        raise ValueError(f"lower must be less than upper, not {lower!r} against {upper!r}")
    ordered = np.sort(np.clip(records, lower, upper))
    below, median, above = np.concatenate([[lower, lower], ordered, [upper]])[(len(ordered) + 1) // 2 :][:3]
    sensitivity = max(above - median, median - below)
    return float(median) + rng.laplace(0.0, sensitivity / epsilon, count("trials", trials, least=0))

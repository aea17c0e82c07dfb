"""Five mechanisms around local sensitivity with the arithmetic, and the flaws, of a textbook's code.

The input is the vector of the records, one a person; neighbours differ by one person added or removed. The set-up is
done once a call and only the noise once a trial, which leaves the outputs' law as it was. README.md says what is wrong
in each. Sources: Near and Abuah, 'Programming Differential Privacy', chapter 8; the frameworks are those of Dwork and
Lei 2009 (propose-test-release) and of Nissim, Raskhodnikova and Smith 2007 (smooth sensitivity, sample and aggregate).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mechanisms.local_sensitivity.constants import failure_probability
from mechanisms.parameters import positive_rational, trial_count

_SMOOTHING_DISTANCES = 200


def _add_laplace(
    value: float, trials: int, rng: np.random.Generator, *, sensitivity: float, epsilon: float
) -> NDArray[np.float64]:
    return value + rng.laplace(loc=0.0, scale=sensitivity / epsilon, size=trial_count(trials))


def _sensitivity_at_distance(size: int, upper: float, distance: int) -> float:
    """|u/(n − k + 1)|, the largest effect of *adding* a record after k removals; it divides by zero at k = n + 1."""
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

    Source: Near and Abuah, sections 8.1 and 8.2.
    """
    positive_rational("upper", upper)
    positive_rational("epsilon", epsilon)
    mean = float(np.mean(np.clip(records, 0.0, upper)))
    sensitivity = _sensitivity_at_distance(len(records), upper, 0)
    return _add_laplace(mean, trials, rng, sensitivity=sensitivity, epsilon=epsilon)


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

    Source: Near and Abuah, section 8.3.
    """
    for name, value in (("upper", upper), ("bound", bound), ("epsilon", epsilon)):
        positive_rational(name, value)
    failure_probability(delta)
    distance = 0
    while _sensitivity_at_distance(len(records), upper, distance) < bound:
        distance += 1
    mean = float(np.mean(np.clip(records, None, upper)))
    noisy_distances = _add_laplace(distance, trials, rng, sensitivity=1.0, epsilon=epsilon)
    answers = _add_laplace(mean, trials, rng, sensitivity=bound, epsilon=epsilon)
    refused = noisy_distances < math.log(2 / delta) / (2 * epsilon)
    return [None if refuse else answer for refuse, answer in zip(refused.tolist(), answers.tolist(), strict=True)]


def naive_smooth_sensitivity(size: int, *, upper: float, epsilon: float, delta: float) -> float:
    """The β-smooth sensitivity of the mean of `size` records, with the maximum taken over 200 distances only.

    Args:
        size: the number n of records.
        upper: the largest value of a record.
        epsilon: the privacy loss; β = epsilon/(2·ln(2/delta)).
        delta: the failure probability.

    Returns:
        The largest of exp(−βk)·|upper/(n − k + 1)| over k < 200.

    Raises:
        ZeroDivisionError: `size` is less than 199.

    Source: Near and Abuah, section 8.4.
    """
    beta = epsilon / (2 * math.log(2 / delta))
    return max(
        float(np.exp(-beta * distance)) * _sensitivity_at_distance(size, upper, distance)
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

    Source: Near and Abuah, section 8.4.
    """
    positive_rational("upper", upper)
    positive_rational("epsilon", epsilon)
    failure_probability(delta)
    smooth_sensitivity = naive_smooth_sensitivity(len(records), upper=upper, epsilon=epsilon, delta=delta)
    mean = float(np.mean(np.clip(records, None, upper)))
    return _add_laplace(mean, trials, rng, sensitivity=2 * smooth_sensitivity, epsilon=epsilon)


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
    """Sample and aggregate: the mean of a statistic over chunks that are cut by the records' *positions*.

    Args:
        records: the records in their order, shape (n,).
        trials: how many independent answers.
        rng: the source of randomness.
        chunks: the number k of chunks asked for, to which the noise is scaled; ceil(n / ceil(n / k)) are cut.
        lower: the least value of a chunk's answer; smaller ones are clipped.
        upper: the largest value of a chunk's answer.
        epsilon: the claimed privacy loss.
        statistic: what is computed from each chunk.

    Returns:
        The answers, shape (trials,).

    Raises:
        ValueError: `chunks` or `epsilon` is not positive, `lower` is not less than `upper`, or there is no record.

    Source: Near and Abuah, section 8.5.
    """
    positive_rational("chunks", chunks)
    positive_rational("epsilon", epsilon)
    if not lower < upper:
        raise ValueError(f"lower must be less than upper, not {lower!r} against {upper!r}")
    chunk_size = math.ceil(len(records) / chunks)
    answers = [statistic(records[start : start + chunk_size]) for start in range(0, len(records), chunk_size)]
    mean = float(np.mean(np.clip(answers, lower, upper)))
    return _add_laplace(mean, trials, rng, sensitivity=(upper - lower) / chunks, epsilon=epsilon)


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

    Source: Near and Abuah, section 8.3, `gs_avg`.
    """
    positive_rational("upper", upper)
    positive_rational("epsilon", epsilon)
    total = float(np.sum(np.clip(records, None, upper)))
    noisy_sums = _add_laplace(total, trials, rng, sensitivity=upper, epsilon=epsilon)
    noisy_counts = _add_laplace(len(records), trials, rng, sensitivity=1.0, epsilon=epsilon)
    return noisy_sums / noisy_counts

"""Histograms by threshold as textbooks and libraries write them: Laplace noise in binary64, thresholds for reals.

Flaws, one a function: the order of the keys, and low bits of the noise; and, where integer noise is drawn exactly, a
threshold made for reals, and one that forgets the person's own count.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from mechanisms.core.numbers import count, positive


def naive_partition_selection(
    keys: Iterable[str], trials: int, rng: np.random.Generator, *, epsilon: float, delta: float
) -> list[dict[str, float]]:
    """Count in a dictionary, add Laplace noise, and show the counts above 1 + ln(1/(2δ))/ε.

    A dictionary keeps its keys in the order in which they came: whoever sees two keys sees whose person came first.
    """
    return _released(Counter(map(str, keys)), trials, rng, epsilon, 1 + _depth(epsilon, delta))


def naive_partition_selection_sorted(
    keys: Iterable[str], trials: int, rng: np.random.Generator, *, epsilon: float, delta: float
) -> list[dict[str, float]]:
    """Do as `naive_partition_selection`, but sort the keys; the low bits of a noisy count still tell the true count.

    Arguments and result as in `naive_partition_selection`.
    """
    return _released(dict(sorted(Counter(map(str, keys)).items())), trials, rng, epsilon, 1 + _depth(epsilon, delta))


def threshold_for_reals(epsilon: float, delta: float) -> int:
    """Return the threshold for Laplace noise, 1 + ln(1/(2δ))/ε, cut to an integer, for integer noise.

    It lies below the real one, and a noisy count *at* the threshold has a probability above 0, and is shown.
    """
    return int(1 + _depth(epsilon, delta))


def threshold_for_noise_alone(epsilon: float, delta: float) -> int:
    """Return ⌊ln(1/(2δ))/ε⌋, which noise alone exceeds with probability about δ, but a count starts at 1.

    Arguments as in `threshold_for_reals`.
    """
    return int(_depth(epsilon, delta))


def _depth(epsilon: float, delta: float) -> float:
    """Return ln(1/(2δ))/ε, which Laplace noise of scale 1/ε exceeds with probability δ."""
    positive("epsilon", epsilon)
    if not 0 < delta < 0.5:
        raise ValueError(f"delta must be above 0 and below 1/2, not {delta}")
    return math.log(1 / (2 * delta)) / epsilon


def _released(
    counts: Mapping[str, int], trials: int, rng: np.random.Generator, epsilon: float, threshold: float
) -> list[dict[str, float]]:
    true = np.array(list(counts.values()), dtype=np.float64)
    noisy = true + rng.laplace(0.0, 1 / epsilon, (count("trials", trials, least=0), len(counts)))
    return [
        {key: people for key, people in zip(counts, row, strict=True) if people > threshold} for row in noisy.tolist()
    ]

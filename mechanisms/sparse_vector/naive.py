"""The sparse vector technique in floating point: the sound algorithm, and published variants that leave out noise.

Names of the variants are those of Lyu, Su and Li's figure 1. Each claims ε; with c positives it loses:

- SVT1, `naive_above_threshold`: ε, were the noise real numbers.
- SVT3, `naive_numeric_sparse_reused`: more than any ε; the value shown is the noisy answer that was compared.
- SVT4, `naive_above_threshold_unscaled`: (1 + 6c)/4·ε; the answers' noise does not grow with c.
- SVT5, `naive_above_threshold_noiseless`: more than any ε; answers have no noise.
- SVT6, `naive_above_threshold_endless`: more than any ε; it never stops.

README.md derives these figures, and says what floating point adds to them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def naive_above_threshold(
    answers: ArrayLike,
    trials: int,
    rng: np.random.Generator,
    *,
    threshold: float,
    positives: int,
    epsilon: float,
    sensitivity: float = 1.0,
) -> NDArray[np.bool_]:
    """Report which answers are above a noisy threshold, each with noise of its own, until `positives` of them were.

    Half of ε is for the threshold, half for the answers.
    """
    values = np.asarray(answers, dtype=np.float64)
    thresholds = threshold + rng.laplace(0.0, 2 * sensitivity / epsilon, (trials, 1))
    noisy = values + rng.laplace(0.0, 4 * positives * sensitivity / epsilon, (trials, len(values)))
    return _until(noisy >= thresholds, positives)


def naive_above_threshold_unscaled(
    answers: ArrayLike,
    trials: int,
    rng: np.random.Generator,
    *,
    threshold: float,
    positives: int,
    epsilon: float,
    sensitivity: float = 1.0,
) -> NDArray[np.bool_]:
    """SVT4: a quarter of ε for the threshold, and noise of scale Δ/(¾ε) for each answer, however many positives.

    Arguments and result as in `naive_above_threshold`.
    """
    values = np.asarray(answers, dtype=np.float64)
    thresholds = threshold + rng.laplace(0.0, sensitivity / (epsilon / 4), (trials, 1))
    noisy = values + rng.laplace(0.0, sensitivity / (3 * epsilon / 4), (trials, len(values)))
    return _until(noisy >= thresholds, positives)


def naive_above_threshold_noiseless(
    answers: ArrayLike,
    trials: int,
    rng: np.random.Generator,
    *,
    threshold: float,
    epsilon: float,
    sensitivity: float = 1.0,
) -> NDArray[np.bool_]:
    """SVT5: all answers are compared, without noise, and there is no limit to the positives.

    Arguments and result as in `naive_above_threshold`.
    """
    thresholds = threshold + rng.laplace(0.0, 2 * sensitivity / epsilon, (trials, 1))
    return np.asarray(np.asarray(answers, dtype=np.float64) >= thresholds)


def naive_above_threshold_endless(
    answers: ArrayLike,
    trials: int,
    rng: np.random.Generator,
    *,
    threshold: float,
    epsilon: float,
    sensitivity: float = 1.0,
) -> NDArray[np.bool_]:
    """SVT6: all answers are compared, with noise of scale 2Δ/ε, and there is no limit to the positives.

    Arguments and result as in `naive_above_threshold`.
    """
    values = np.asarray(answers, dtype=np.float64)
    thresholds = threshold + rng.laplace(0.0, 2 * sensitivity / epsilon, (trials, 1))
    return np.asarray(values + rng.laplace(0.0, 2 * sensitivity / epsilon, (trials, len(values))) >= thresholds)


def naive_numeric_sparse(
    answers: ArrayLike,
    trials: int,
    rng: np.random.Generator,
    *,
    threshold: float,
    positives: int,
    epsilon: float,
    sensitivity: float = 1.0,
) -> NDArray[np.float64]:
    """Release answers above a noisy threshold with fresh noise; two thirds of ε decide which, one third is for values.

    Arguments as in `naive_above_threshold`.
    """
    values = np.asarray(answers, dtype=np.float64)
    above = naive_above_threshold(
        values, trials, rng, threshold=threshold, positives=positives, epsilon=2 * epsilon / 3, sensitivity=sensitivity
    )
    noisy = values + rng.laplace(0.0, positives * sensitivity / (epsilon / 3), above.shape)
    return np.where(above, noisy, -np.inf)


def naive_numeric_sparse_reused(
    answers: ArrayLike,
    trials: int,
    rng: np.random.Generator,
    *,
    threshold: float,
    positives: int,
    epsilon: float,
    sensitivity: float = 1.0,
) -> NDArray[np.float64]:
    """SVT3: an answer above is released as the noisy number that was compared, whose noise has scale cΔ/(ε/2).

    Arguments and result as in `naive_numeric_sparse`.
    """
    values = np.asarray(answers, dtype=np.float64)
    thresholds = threshold + rng.laplace(0.0, 2 * sensitivity / epsilon, (trials, 1))
    noisy = values + rng.laplace(0.0, 2 * positives * sensitivity / epsilon, (trials, len(values)))
    return np.where(_until(noisy >= thresholds, positives), noisy, -np.inf)


def _until(above: NDArray[np.bool_], positives: int) -> NDArray[np.bool_]:
    """Return `above` with False after the first `positives` positives of each row."""
    return np.asarray(above & (np.cumsum(above, axis=1) <= positives))

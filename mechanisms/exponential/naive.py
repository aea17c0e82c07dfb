"""The exponential mechanism in floating point, as textbooks and libraries write it.

Weights by `np.exp`, cumulative sums divided by their total, one uniform number, the first outcome whose
cumulative weight exceeds it. Two flaws (Ilvento 2020, section 2): weights *vanish* when exp underflows
(zero-rounding), and a small weight added to a large sum leaves it as it was (truncated addition). Either way
an outcome of positive ideal probability gets probability 0, and no finite ε describes that.

Source of the mechanism: McSherry and Talwar 2007; Dwork and Roth 2014, section 3.4.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

Selections = NDArray[np.int64] | list[None]


def naive_exponential(
    utilities: ArrayLike, trials: int, rng: np.random.Generator, *, epsilon: float, sensitivity: float = 1.0
) -> Selections:
    """Select with weights exp(ε·u / (2Δu)) that are not rescaled."""
    exponents = epsilon * np.asarray(utilities, dtype=np.float64) / (2 * sensitivity)
    with np.errstate(over="ignore"):
        weights = np.exp(exponents)
    return _select(weights, trials, rng)


def naive_exponential_stabilised(
    utilities: ArrayLike, trials: int, rng: np.random.Generator, *, epsilon: float, sensitivity: float = 1.0
) -> Selections:
    """Select with weights exp(ε·(u − max u) / (2Δu)), so that the largest is 1 and nothing overflows.

    Arguments and result as in `naive_exponential`. Utilities far below the best still vanish.
    """
    return _select(_stabilised_weights(utilities, epsilon, sensitivity), trials, rng)


def naive_exponential_low_precision(
    utilities: ArrayLike,
    trials: int,
    rng: np.random.Generator,
    *,
    epsilon: float,
    sensitivity: float = 1.0,
    dtype: DTypeLike,
) -> Selections:
    """Select with stabilised weights rounded to a short format and added up one after another in it.

    That is what an accelerator does. Once the sum is 2^p times a weight, p the significand's bits, adding
    that weight no longer changes the sum: an outcome behind 256 heavier ones is out of reach in bfloat16.

    Other arguments as in `naive_exponential`; dtype is the format: `np.float32`, `np.float16`, `ml_dtypes.bfloat16`.
    """
    weights = _stabilised_weights(utilities, epsilon, sensitivity)
    return _select(weights.astype(dtype), trials, rng)


def _stabilised_weights(utilities: ArrayLike, epsilon: float, sensitivity: float) -> NDArray[np.float64]:
    exponents = epsilon * np.asarray(utilities, dtype=np.float64) / (2 * sensitivity)
    with np.errstate(invalid="ignore"):
        weights: NDArray[np.float64] = np.exp(exponents - exponents.max())
    return weights


def _select(weights: NDArray[np.floating], trials: int, rng: np.random.Generator) -> Selections:
    """Select the first outcome whose cumulative share of the weight exceeds a uniform number."""
    # Shares stay in the weights' format until here, and a wider one holds them exactly.
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        sums = np.cumsum(weights, dtype=weights.dtype)
        shares = (sums / sums[-1]).astype(np.float64)
    if np.isnan(shares[-1]):
        return [None] * trials
    return np.searchsorted(shares, rng.random(trials), side="right").astype(np.int64, copy=False)

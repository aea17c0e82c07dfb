"""Report noisy max in floating point: add noise to every utility, report the index of the largest sum.

The scale of the noise is 2Δu/ε. Δu/ε suffices only when the utilities are monotone (one record moves all of
them in the same direction, as it does counts under add-remove): textbooks that give Δu/ε for every utility
lose up to 2ε, see README.md. What floating point does to it: noise has gaps and holes in its low bits and a
largest value, so that an outcome far enough behind is never reported, whatever ε says.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

_CHUNK = 1 << 20
"""The most noise numbers drawn at a time, so that memory is bounded for any number of trials."""


def naive_laplace_noisy_max(
    utilities: ArrayLike,
    trials: int,
    rng: np.random.Generator,
    *,
    epsilon: float,
    sensitivity: float = 1.0,
    monotone: bool = False,
) -> NDArray[np.int64]:
    """Report noisy max with two-sided Laplace noise."""
    scale = _noise_scale(epsilon, sensitivity, monotone)
    return _noisy_max(utilities, trials, lambda shape: rng.laplace(0.0, scale, shape))


def naive_gumbel_noisy_max(
    utilities: ArrayLike,
    trials: int,
    rng: np.random.Generator,
    *,
    epsilon: float,
    sensitivity: float = 1.0,
    monotone: bool = False,
) -> NDArray[np.int64]:
    """Report noisy max with Gumbel noise: in real arithmetic, this is the exponential mechanism.

    Arguments and result as in `naive_laplace_noisy_max`.
    """
    scale = _noise_scale(epsilon, sensitivity, monotone)
    return _noisy_max(utilities, trials, lambda shape: rng.gumbel(0.0, scale, shape))


def naive_exponential_noisy_max(
    utilities: ArrayLike,
    trials: int,
    rng: np.random.Generator,
    *,
    epsilon: float,
    sensitivity: float = 1.0,
    monotone: bool = False,
) -> NDArray[np.int64]:
    """Report noisy max with one-sided exponential noise: in real arithmetic, this is permute-and-flip.

    Arguments and result as in `naive_laplace_noisy_max`.
    """
    scale = _noise_scale(epsilon, sensitivity, monotone)
    return _noisy_max(utilities, trials, lambda shape: rng.exponential(scale, shape))


def _noise_scale(epsilon: float, sensitivity: float, monotone: bool) -> float:
    return sensitivity / epsilon if monotone else 2 * sensitivity / epsilon


def _noisy_max(
    utilities: ArrayLike, trials: int, noise: Callable[[tuple[int, int]], NDArray[np.float64]]
) -> NDArray[np.int64]:
    scores = np.asarray(utilities, dtype=np.float64)
    selected = np.empty(trials, dtype=np.int64)
    rows = max(1, _CHUNK // len(scores))
    for start in range(0, trials, rows):
        chunk = selected[start : start + rows]
        chunk[:] = np.argmax(scores + noise((len(chunk), len(scores))), axis=1)
    return selected

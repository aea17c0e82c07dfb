"""Counting queries with noise, of which one keeps its claim."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def laplace_count(count: float, trials: int, rng: np.random.Generator, *, epsilon: float = 1.0) -> NDArray[np.float64]:
    """The textbook's: continuous noise in floating point, whose low bits tell the count."""
    return count + rng.laplace(0.0, 1 / epsilon, trials)


def geometric_count(count: float, trials: int, rng: np.random.Generator, *, epsilon: float = 1.0) -> NDArray[np.int64]:
    """Noise that is the difference of two geometric variables: whole numbers, whatever the count."""
    stop = -np.expm1(-epsilon)
    return int(np.floor(count)) + rng.geometric(stop, trials) - rng.geometric(stop, trials)

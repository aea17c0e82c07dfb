"""The noise of the naive mechanisms: numpy's floating-point Laplace noise, as a textbook's code adds it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mechanisms.parameters import trial_count


def add_laplace(
    value: float, trials: int, rng: np.random.Generator, *, sensitivity: float, epsilon: float
) -> NDArray[np.float64]:
    """Add Laplace noise of scale sensitivity/epsilon to a value, once a trial."""
    return value + rng.laplace(loc=0.0, scale=sensitivity / epsilon, size=trial_count(trials))

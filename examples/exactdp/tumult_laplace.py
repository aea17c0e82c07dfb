"""Tumult Core: a measurement that adds exact Laplace noise to a double.

Where code makes `AddLaplaceNoise(NumpyFloatDomain(), scale)`, let it make `AddExactLaplaceNoise(epsilon, sensitivity,
step)`.

    attacklab audit examples/exactdp/tumult_laplace.py:release --in-env tumult-0.20.0 --kind noise --epsilon 1
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from exactdp import laplace
from tmlt.core.domains.numpy_domains import NumpyFloatDomain
from tmlt.core.measurements.base import Measurement
from tmlt.core.measures import PureDP
from tmlt.core.metrics import AbsoluteDifference
from tmlt.core.utils.exact_number import ExactNumber


class AddExactLaplaceNoise(Measurement):
    """Rounds a double to a multiple of the step and adds a whole number of steps.

    Args:
        epsilon: ε, for values that are at most the sensitivity apart, above 0.
        sensitivity: above 0.
        step: a power of two, chosen without looking at the data.
    """

    def __init__(self, epsilon: int, sensitivity: int, step: float) -> None:
        super().__init__(NumpyFloatDomain(), AbsoluteDifference(), PureDP(), is_interactive=False)
        self._epsilon, self._sensitivity = ExactNumber(epsilon), ExactNumber(sensitivity)
        self._noise = laplace(epsilon=epsilon, sensitivity=sensitivity, step=step)

    def privacy_function(self, d_in: Any) -> ExactNumber:
        """Return ε once for each sensitivity that fits into the distance, begun ones too: group privacy."""
        self.input_metric.validate(d_in)
        times = ExactNumber(d_in) / self._sensitivity
        return self._epsilon * math.ceil(times.expr) if times.is_finite else times

    def __call__(self, data: float) -> float:
        """Return a multiple of the step; a NaN, which the domain has not, counts as 0."""
        return self._noise(data)


def release(answer: float, trials: int, rng: np.random.Generator) -> Any:  # noqa: ARG001 - it draws from the system
    """Draw outputs for `attacklab audit`."""
    measurement = AddExactLaplaceNoise(1, 1, 2**-10)
    return np.array([measurement(np.float64(answer)) for _ in range(trials)])

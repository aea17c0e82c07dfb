"""diffprivlib: its Laplace mechanism with exact noise.

Where code says `from diffprivlib.mechanisms import Laplace`, let it say `from diffprivlib_laplace import ExactLaplace`,
and name the step where the mechanism is made.

    attacklab audit examples/exactdp/diffprivlib_laplace.py:release --in-env diffprivlib-0.6.6 --kind noise --epsilon 1
"""

from __future__ import annotations

from typing import Any

import numpy as np
from diffprivlib.mechanisms.base import DPMechanism
from exactdp import laplace


class ExactLaplace(DPMechanism):
    """`Laplace` with δ = 0, exactly, on the multiples of a step.

    Args:
        epsilon: ε, above 0.
        sensitivity: how far neighbours' values can be apart, above 0.
        step: a power of two, chosen without looking at the data.
    """

    def __init__(self, *, epsilon: float, sensitivity: float, step: float) -> None:
        super().__init__(epsilon=epsilon, delta=0.0)
        self.sensitivity, self.step = sensitivity, step
        self._noise = laplace(epsilon=epsilon, sensitivity=sensitivity, step=step)

    def randomise(self, value: float) -> float:
        """Return a multiple of the step."""
        return self._noise(value)


def release(answer: float, trials: int, rng: np.random.Generator) -> Any:  # noqa: ARG001 - it draws from the system
    """Draw outputs for `attacklab audit`."""
    mechanism = ExactLaplace(epsilon=1.0, sensitivity=1.0, step=2**-10)
    return np.array([mechanism.randomise(answer) for _ in range(trials)])

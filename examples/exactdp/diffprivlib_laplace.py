"""diffprivlib: all its Laplace noise, in mechanisms, tools and models, drawn exactly.

One import and one line, before anything is released:

    from diffprivlib_laplace import exact_randomise
    diffprivlib.mechanisms.Laplace.randomise = exact_randomise

`LaplaceTruncated` and `LaplaceFolded` draw by it too, and so `mean`, `sum`, `var`, `StandardScaler` and
`LinearRegression`.

    attacklab audit examples/exactdp/diffprivlib_laplace.py:release --in-env diffprivlib-0.6.6 --kind noise --epsilon 1
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from diffprivlib.mechanisms import Laplace
from exactdp import laplace


def exact_randomise(mechanism: Laplace, value: float) -> float:
    """Return `value` with the mechanism's noise, a multiple of a step below 2^-20 of its scale.

    The step is a function of ε and the sensitivity alone. NaN is released as a number: that one record is NaN is not to
    be seen. A mechanism with a `random_state` is for tests, and draws the same again.
    """
    mechanism._check_all(value)
    epsilon = mechanism.epsilon - np.log(1 - mechanism.delta)
    if not mechanism.sensitivity or math.isinf(epsilon):
        return value
    step = 2.0 ** (math.frexp(mechanism.sensitivity / epsilon)[1] - 21)
    noise = laplace(epsilon=epsilon, sensitivity=mechanism.sensitivity, step=step)
    if isinstance(mechanism._rng, np.random.RandomState):
        noise = noise.seeded_for_tests(mechanism._rng.randint(1 << 31))
    return noise(value)


def release(answer: float, trials: int, rng: np.random.Generator) -> Any:  # noqa: ARG001 - it draws from the system
    """Draw outputs for `attacklab audit`."""
    mechanism = Laplace(epsilon=1.0, sensitivity=1.0)
    return np.array([exact_randomise(mechanism, answer) for _ in range(trials)])

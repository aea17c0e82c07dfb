"""numpy's own samplers, as textbook code uses them: noise is drawn in floating point and added to the answer.

numpy claims no privacy for them; the claim judged here is made by programs that use them this way.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

DISTRIBUTION = "numpy"
UNSEEDED = False


def _laplace(generator_of: Any, /, *, epsilon: float = 1.0) -> dict[str, Any]:
    def release(answer: float, trials: int, rng: np.random.Generator) -> Any:
        return answer + generator_of(rng).laplace(0.0, 1 / epsilon, trials)

    return {"kind": "noise", "release": release, "epsilon": epsilon}


def _gaussian(*, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    def release(answer: float, trials: int, rng: np.random.Generator) -> Any:
        return answer + rng.normal(0.0, math.sqrt(2 * math.log(1.25 / delta)) / epsilon, trials)

    return {"kind": "noise", "release": release, "epsilon": epsilon, "delta": delta}


def _exponential(*, epsilon: float = 1.0) -> dict[str, Any]:
    def release(utilities: Any, trials: int, rng: np.random.Generator) -> Any:
        weights = np.exp(epsilon / 2 * (utilities - np.max(utilities)))
        return rng.choice(len(weights), size=trials, p=weights / weights.sum())

    return {"kind": "selection", "release": release, "epsilon": epsilon}


MECHANISMS: dict[str, Any] = {
    "laplace": partial(_laplace, lambda rng: rng),
    "laplace_legacy": partial(_laplace, lambda rng: np.random.RandomState(rng.bit_generator)),
    "gaussian": _gaussian,  # at the textbook's scale √(2·ln(1.25/δ))/ε, for ε up to 1
    "exponential": _exponential,
}

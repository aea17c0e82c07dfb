"""SmartNoise SQL: the mechanisms with which it adds noise to counts and sums.

They are OpenDP's, at the scale that its map declares for a clamped sum of floats. The answer is passed unaltered:
whatever happens to it is the library's doing. The library draws from the operating system and cannot be seeded.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

DISTRIBUTION = "smartnoise-sql"
UNSEEDED = True
VERSIONS = {"gaussian": ">=1.0.3", "laplace_discrete": "<1.0.3", "gaussian_discrete": "<1.0.3"}


def _gaussian(name: str, /, *, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    from snsql.sql import _mechanisms

    mechanism = getattr(_mechanisms, name)(epsilon, delta=delta, sensitivity=1)

    def release(answer: float, trials: int, rng: np.random.Generator) -> Any:  # noqa: ARG001 - cannot be seeded
        return np.array(mechanism.release([answer] * trials))

    claim = {"epsilon": epsilon, "delta": delta}
    return {"kind": "noise", "release": release, **claim, "noise_scale": mechanism.scale}


def _laplace(name: str, /, *, epsilon: float = 1.0) -> dict[str, Any]:
    return _gaussian(name, epsilon=epsilon, delta=0.0)


MECHANISMS: dict[str, Any] = {
    "laplace": partial(_laplace, "Laplace"),  # from version 1.0.3 also for counts and sums of integers
    "laplace_discrete": partial(_laplace, "DiscreteLaplace"),
    "gaussian": partial(_gaussian, "Gaussian"),
    "gaussian_discrete": partial(_gaussian, "DiscreteGaussian"),
}

"""SmartNoise SQL: the mechanisms with which it adds noise to counts and sums.

They are OpenDP's, at the scale that its map declares for a clamped sum of floats. The answer is passed unaltered:
whatever happens to it is the library's doing. The library draws from the operating system and cannot be seeded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

DISTRIBUTION = "smartnoise-sql"
UNSEEDED = True
VERSIONS = {"gaussian": ">=1.0.3", "laplace_discrete": "<1.0.3", "gaussian_discrete": "<1.0.3"}


def _additive(name: str, epsilon: float, delta: float = 0.0) -> dict[str, Any]:
    from snsql.sql import _mechanisms

    mechanism = getattr(_mechanisms, name)(epsilon, delta=delta, sensitivity=1)

    def release(answer: float, trials: int, rng: np.random.Generator) -> Any:  # noqa: ARG001 - cannot be seeded
        return np.array(mechanism.release([answer] * trials))

    claim = {"epsilon": epsilon, "delta": delta}
    return {"kind": "noise", "release": release, **claim, "noise_scale": mechanism.scale}


def laplace(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`Laplace`, over floats; from version 1.0.3 also for counts and sums of integers."""
    return _additive("Laplace", epsilon)


def laplace_discrete(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`DiscreteLaplace`, over the integers, up to version 1.0.2."""
    return _additive("DiscreteLaplace", epsilon)


def gaussian(*, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    """`Gaussian`, over floats, from version 1.0.3."""
    return _additive("Gaussian", epsilon, delta)


def gaussian_discrete(*, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    """`DiscreteGaussian`, over the integers, up to version 1.0.2."""
    return _additive("DiscreteGaussian", epsilon, delta)

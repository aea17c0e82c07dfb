"""numpy's own samplers, as textbook code uses them: noise is drawn in floating point and added to the answer.

numpy claims no privacy for them; the claim judged here is that of programs that use them this way.
"""

from __future__ import annotations

from typing import Any

import numpy as np

DISTRIBUTION = "numpy"
UNSEEDED = False


def laplace(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`Generator.laplace` added to the answer."""
    return {
        "kind": "noise",
        "release": lambda answer, trials, rng: answer + rng.laplace(0.0, 1 / epsilon, trials),
        "epsilon": epsilon,
    }


def laplace_legacy(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`RandomState.laplace` added to the answer, with bits from the given generator."""

    def release(answer: float, trials: int, rng: np.random.Generator) -> Any:
        return answer + np.random.RandomState(rng.bit_generator).laplace(0.0, 1 / epsilon, trials)

    return {"kind": "noise", "release": release, "epsilon": epsilon}


def gaussian(*, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    """`Generator.normal` added to the answer, at the textbook's scale √(2·ln(1.25/δ))/ε, for ε up to 1."""
    scale = float(np.sqrt(2 * np.log(1.25 / delta))) / epsilon
    return {
        "kind": "noise",
        "release": lambda answer, trials, rng: answer + rng.normal(0.0, scale, trials),
        "epsilon": epsilon,
        "delta": delta,
    }


def exponential(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`Generator.choice` with probabilities from `exp`, after subtracting the largest utility."""

    def release(utilities: Any, trials: int, rng: np.random.Generator) -> Any:
        weights = np.exp(epsilon / 2 * (utilities - np.max(utilities)))
        return rng.choice(len(weights), size=trials, p=weights / weights.sum())

    return {"kind": "selection", "release": release, "epsilon": epsilon}

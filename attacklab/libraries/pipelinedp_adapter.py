"""PipelineDP: the mechanisms with which it adds noise to aggregates.

They use the C++ library that PyDP wraps, draw from the operating system and cannot be seeded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

DISTRIBUTION = "pipeline-dp"
UNSEEDED = True


def _additive(mechanism: Any) -> Any:
    def release(answer: float, trials: int, rng: np.random.Generator) -> Any:  # noqa: ARG001 - cannot be seeded
        return np.array([mechanism.add_noise(answer) for _ in range(trials)])

    return release


def laplace(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`LaplaceMechanism`, which takes integers and floats alike."""
    from pipeline_dp.dp_computations import LaplaceMechanism

    return {
        "kind": "noise",
        "release": _additive(LaplaceMechanism.create_from_epsilon(epsilon, 1.0)),
        "epsilon": epsilon,
    }


def gaussian(*, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    """`GaussianMechanism`, which takes integers and floats alike."""
    from pipeline_dp.dp_computations import GaussianMechanism

    mechanism = GaussianMechanism.create_from_epsilon_delta(epsilon, delta, 1.0)
    return {"kind": "noise", "release": _additive(mechanism), "epsilon": epsilon, "delta": delta}

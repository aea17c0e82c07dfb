"""PipelineDP: the mechanisms with which it adds noise to aggregates; they take integers and floats alike.

They use the C++ library that PyDP wraps, draw from the operating system and cannot be seeded.
"""

from __future__ import annotations

from typing import Any

DISTRIBUTION = "pipeline-dp"
UNSEEDED = True


def _noise(mechanism: Any, **claim: float) -> dict[str, Any]:
    return {"kind": "noise", "release": lambda answer: mechanism.add_noise(answer), **claim}


def _laplace(*, epsilon: float = 1.0) -> dict[str, Any]:
    from pipeline_dp.dp_computations import LaplaceMechanism

    return _noise(LaplaceMechanism.create_from_epsilon(epsilon, 1.0), epsilon=epsilon)


def _gaussian(*, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    from pipeline_dp.dp_computations import GaussianMechanism as Made

    return _noise(Made.create_from_epsilon_delta(epsilon, delta, 1.0), epsilon=epsilon, delta=delta)


MECHANISMS: dict[str, Any] = {"laplace": _laplace, "gaussian": _gaussian}

"""PyDP, the Python interface of Google's C++ library (`python-dp`): numerical mechanisms, bounded sums and means.

Which mechanism `add_noise` runs follows from the type of its argument, float or int. The library draws from the
operating system and cannot be seeded. Neighbours of sums and means differ by one record added or removed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

DISTRIBUTION = "python-dp"
UNSEEDED = True


def _double(answer: float) -> float:
    """The answer as the double that the mechanism takes; the mechanism does not itself round integers."""
    if isinstance(answer, int) and int(float(answer)) != answer:
        raise ValueError(f"the answer {answer} is not a double")
    return float(answer)


def _additive(mechanism: Any, convert: Callable[[float], Any]) -> Any:
    def release(answer: float, trials: int, rng: np.random.Generator) -> Any:  # noqa: ARG001 - cannot be seeded
        value = convert(answer)
        return np.array([mechanism.add_noise(value) for _ in range(trials)])

    return release


def laplace(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`LaplaceMechanism` over floats."""
    from pydp.algorithms.numerical_mechanisms import LaplaceMechanism

    return {"kind": "noise", "release": _additive(LaplaceMechanism(epsilon, 1.0), _double), "epsilon": epsilon}


def laplace_integer(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`LaplaceMechanism` over integers; it cuts off a fraction of the answer."""
    from pydp.algorithms.numerical_mechanisms import LaplaceMechanism

    return {"kind": "noise", "release": _additive(LaplaceMechanism(epsilon, 1.0), math.floor), "epsilon": epsilon}


def gaussian(*, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    """`GaussianMechanism` over floats."""
    from pydp.algorithms.numerical_mechanisms import GaussianMechanism

    mechanism = GaussianMechanism(epsilon, delta, 1.0)
    return {"kind": "noise", "release": _additive(mechanism, _double), "epsilon": epsilon, "delta": delta}


def _bounded(kind: str, name: str, epsilon: float, bounds: tuple[float, float]) -> dict[str, Any]:
    from pydp.algorithms import laplacian

    def release(records: Any, trials: int, rng: np.random.Generator) -> Any:  # noqa: ARG001 - cannot be seeded
        values = np.asarray(records, dtype=float).tolist()
        lower, upper = bounds
        algorithm = getattr(laplacian, name)(epsilon=epsilon, lower_bound=lower, upper_bound=upper, dtype="float")
        return np.array([algorithm.quick_result(values) for _ in range(trials)])

    return {"kind": kind, "release": release, "epsilon": epsilon, "bounds": bounds, "relation": "add-remove"}


def sum(*, epsilon: float = 1.0, bounds: tuple[float, float] = (0.0, 1.0)) -> dict[str, Any]:  # noqa: A001
    """`BoundedSum` of floats."""
    return _bounded("sum", "BoundedSum", epsilon, bounds)


def mean(*, epsilon: float = 1.0, bounds: tuple[float, float] = (0.0, 1.0)) -> dict[str, Any]:
    """`BoundedMean` of floats."""
    return _bounded("mean", "BoundedMean", epsilon, bounds)


def _added(law: str, scale_of: Callable[[Any], float]) -> Callable[[Any, Any], dict[str, Any]]:
    """What reads a call; to an integer noise is added that is rounded."""

    def read(mechanism: Any, value: Any) -> dict[str, Any]:
        return {"law": law, "value": value, "scale": scale_of(mechanism), "rounds": isinstance(value, int)}

    return read


def _unreadable(*_: Any) -> None:
    """What reads a call that gives an object of C++, which draws unseen."""


SAMPLERS = {
    "pydp.algorithms.numerical_mechanisms:LaplaceMechanism.add_noise": _added(
        "Laplace", lambda mechanism: mechanism.sensitivity / mechanism.epsilon
    ),
    "pydp.algorithms.numerical_mechanisms:GaussianMechanism.add_noise": _added(
        "Gaussian", lambda mechanism: mechanism.std
    ),
    **{
        f"pydp.algorithms.partition_selection:create_{kind}_partition_strategy": _unreadable
        for kind in ("truncated_geometric", "laplace", "gaussian", "pre_thresholding")
    },
}

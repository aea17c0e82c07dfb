"""PyDP, the Python interface of Google's C++ library (`python-dp`): numerical mechanisms, bounded sums and means.

Which mechanism `add_noise` runs follows from the type of its argument, float or int. The library draws from the
operating system and cannot be seeded. Neighbours of sums and means differ by one record added or removed.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

DISTRIBUTION = "python-dp"
UNSEEDED = True


def _double(answer: float) -> float:
    """Return the answer as a double; raise ValueError if that would round it, which the library itself would not do."""
    if isinstance(answer, int) and int(float(answer)) != answer:
        raise ValueError(f"the answer {answer} cannot be represented as a double")
    return float(answer)


def _noise(name: str, convert: Any, claim: dict[str, float]) -> dict[str, Any]:
    from pydp.algorithms import numerical_mechanisms

    mechanism = getattr(numerical_mechanisms, name)(*claim.values(), 1.0)

    return {"kind": "noise", "release": lambda answer: mechanism.add_noise(convert(answer)), **claim}


def _laplace(convert: Any, /, *, epsilon: float = 1.0) -> dict[str, Any]:
    return _noise("LaplaceMechanism", convert, {"epsilon": epsilon})


def _gaussian(*, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    return _noise("GaussianMechanism", _double, {"epsilon": epsilon, "delta": delta})


def _bounded(kind: str, /, *, epsilon: float = 1.0, bounds: tuple[float, float] = (0.0, 1.0)) -> dict[str, Any]:
    from pydp.algorithms import laplacian

    def release(records: Any) -> Any:
        make = getattr(laplacian, f"Bounded{kind.title()}")
        algorithm = make(epsilon=epsilon, lower_bound=bounds[0], upper_bound=bounds[1], dtype="float")
        return algorithm.quick_result(np.asarray(records, dtype=float).tolist())

    return {"kind": kind, "release": release, "epsilon": epsilon, "bounds": bounds, "relation": "add-remove"}


MECHANISMS: dict[str, Any] = {
    "laplace": partial(_laplace, _double),
    "laplace_integer": partial(_laplace, math.floor),
    "gaussian": _gaussian,
    "sum": partial(_bounded, "sum"),
    "mean": partial(_bounded, "mean"),
}

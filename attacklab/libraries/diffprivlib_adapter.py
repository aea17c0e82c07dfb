"""IBM's diffprivlib: mechanisms of `diffprivlib.mechanisms`, and sums and means of `diffprivlib.tools`.

By default the mechanisms draw from `secrets.SystemRandom` or from a numpy generator that it seeds, and the tools from
numpy's global state. Given a seed, some of them sample differently, and versions before 0.6 take none. So they get no
seed, and the sources that they draw from are seeded instead: the code under attack is what runs by default, in every
version.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np

DISTRIBUTION = "diffprivlib"
UNSEEDED = False
VERSIONS = {"snapping": ">=0.5"}


@contextmanager
def _drawing_from(rng: np.random.Generator) -> Iterator[None]:
    """A context in which the operating system's bytes and numpy's global state come from a generator."""
    state = np.random.get_state(legacy=False)
    np.random.seed(rng.integers(1 << 32, size=4))
    try:
        with mock.patch("random._urandom", rng.bytes):
            yield
    finally:
        np.random.set_state(state)


def _additive(name: str, epsilon: float, *, is_integer: bool = False, **parameters: Any) -> dict[str, Any]:
    """The mechanism `name` at sensitivity 1; `randomise` takes any real number, except in one over the integers."""
    from diffprivlib import mechanisms

    def release(answer: float, trials: int, rng: np.random.Generator) -> Any:
        value = math.floor(answer) if is_integer else answer
        with _drawing_from(rng):
            mechanism = getattr(mechanisms, name)(epsilon=epsilon, sensitivity=1, **parameters)
            return np.array([mechanism.randomise(value) for _ in range(trials)])

    return {"kind": "noise", "release": release, "epsilon": epsilon, "delta": parameters.get("delta", 0.0)}


def laplace(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`Laplace`: floating-point noise from four uniforms, or from one before version 0.5."""
    return _additive("Laplace", epsilon)


def laplace_bounded_domain(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`LaplaceBoundedDomain`, with answers and outputs in [−1024, 1024]."""
    return _additive("LaplaceBoundedDomain", epsilon, lower=-1024.0, upper=1024.0)


def laplace_bounded_noise(*, epsilon: float = 1.0, delta: float = 1e-3) -> dict[str, Any]:
    """`LaplaceBoundedNoise`, which spends δ on bounded noise."""
    return _additive("LaplaceBoundedNoise", epsilon, delta=delta)


def snapping(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`Snapping`, with answers clamped to [−1024, 1024] and outputs rounded to a grid as coarse as the noise."""
    return _additive("Snapping", epsilon, lower=-1024.0, upper=1024.0)


def staircase(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`Staircase`."""
    return _additive("Staircase", epsilon)


def gaussian(*, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    """`Gaussian`, at the textbook's scale, for ε up to 1."""
    return _additive("Gaussian", epsilon, delta=delta)


def gaussian_analytic(*, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    """`GaussianAnalytic`, at the least scale that the claim allows."""
    return _additive("GaussianAnalytic", epsilon, delta=delta)


def gaussian_discrete(*, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    """`GaussianDiscrete`, over the integers; it cuts off a fraction of the answer."""
    return _additive("GaussianDiscrete", epsilon, is_integer=True, delta=delta)


def geometric(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`Geometric`, over the integers; it cuts off a fraction of the answer."""
    return _additive("Geometric", epsilon, is_integer=True)


def _selection(name: str, epsilon: float) -> dict[str, Any]:
    from diffprivlib import mechanisms

    def release(utilities: Any, trials: int, rng: np.random.Generator) -> Any:
        with _drawing_from(rng):
            selector = getattr(mechanisms, name)(epsilon=epsilon, sensitivity=1, utility=np.asarray(utilities).tolist())
            return np.array([selector.randomise() for _ in range(trials)])

    return {"kind": "selection", "release": release, "epsilon": epsilon}


def exponential(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`Exponential`."""
    return _selection("Exponential", epsilon)


def permute_and_flip(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`PermuteAndFlip`."""
    return _selection("PermuteAndFlip", epsilon)


def _tool(kind: str, epsilon: float, bounds: tuple[float, float]) -> dict[str, Any]:
    from diffprivlib import tools

    def release(records: Any, trials: int, rng: np.random.Generator) -> Any:
        answer = getattr(tools, kind)
        with _drawing_from(rng):
            return np.array([answer(records, epsilon=epsilon, bounds=bounds) for _ in range(trials)])

    return {"kind": kind, "release": release, "epsilon": epsilon, "bounds": bounds, "relation": "substitute"}


def sum(*, epsilon: float = 1.0, bounds: tuple[float, float] = (0.0, 1.0)) -> dict[str, Any]:  # noqa: A001
    """`tools.sum`, where the number of records is public."""
    return _tool("sum", epsilon, bounds)


def mean(*, epsilon: float = 1.0, bounds: tuple[float, float] = (0.0, 1.0)) -> dict[str, Any]:
    """`tools.mean`, where the number of records is public."""
    return _tool("mean", epsilon, bounds)


def _added(law: str, scale_of: Callable[[Any], float]) -> Callable[[Any, Any], dict[str, Any]]:
    def read(mechanism: Any, value: Any) -> dict[str, Any]:
        mechanism._check_all(value)
        return {"law": law, "value": value, "scale": scale_of(mechanism)}

    return read


SAMPLERS = {
    f"diffprivlib.mechanisms:{name}.randomise": _added(law, scale_of)
    for name, law, scale_of in (
        ("Laplace", "Laplace", lambda one: one.sensitivity / (one.epsilon - math.log1p(-one.delta))),
        ("Geometric", "discrete Laplace", lambda one: one.sensitivity / one.epsilon),
        ("Gaussian", "Gaussian", lambda one: one._scale),
        ("GaussianDiscrete", "discrete Gaussian", lambda one: one._scale),
    )
}

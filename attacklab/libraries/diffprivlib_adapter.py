"""IBM's diffprivlib: mechanisms of `diffprivlib.mechanisms`, and sums and means of `diffprivlib.tools`.

By default the mechanisms draw from `secrets.SystemRandom` or from a numpy generator that it seeds, and the tools from
numpy's global state. Given a seed, some of them sample differently, and versions before 0.6 take none. So they get no
seed, and the sources that they draw from are seeded instead: the code under attack is what runs by default, in every
version. Sums and means take the number of records as public.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

DISTRIBUTION = "diffprivlib"
UNSEEDED = False
VERSIONS = {"snapping": ">=0.5"}

RANGE = {"lower": -1024.0, "upper": 1024.0}
"""The range to which the mechanisms that clamp their answers clamp them."""


@contextmanager
def _drawing_from(rng: np.random.Generator) -> Iterator[None]:
    """Return a context in which the operating system's bytes and numpy's global state come from a generator."""
    state = np.random.get_state(legacy=False)
    np.random.seed(rng.integers(1 << 32, size=4))
    try:
        from unittest import mock  # here, because it takes long to import, and `attacklab list` imports this module

        with mock.patch("random._urandom", rng.bytes):
            yield
    finally:
        np.random.set_state(state)


def _repeated(made: Any) -> Any:
    """Return a release that calls `draw = made(input)` once, and then `draw()` once for each output."""

    def release(input_: Any, trials: int, rng: np.random.Generator) -> Any:
        with _drawing_from(rng):
            draw = made(input_)
            return np.array([draw() for _ in range(trials)])

    return release


def _noise(name: str, claim: dict[str, float], **fixed: float) -> dict[str, Any]:
    """Return the mechanism `name` at sensitivity 1; a mechanism over the integers gets answers rounded down."""
    from diffprivlib import mechanisms

    def made(answer: float) -> Any:
        value = math.floor(answer) if name in ("Geometric", "GaussianDiscrete") else answer
        return partial(getattr(mechanisms, name)(sensitivity=1, **claim, **fixed).randomise, value)

    return {"kind": "noise", "release": _repeated(made), **claim}


def _pure(name: str, fixed: Any = (), /, *, epsilon: float = 1.0) -> dict[str, Any]:
    return _noise(name, {"epsilon": epsilon}, **dict(fixed))


def _approximate(name: str, /, *, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    return _noise(name, {"epsilon": epsilon, "delta": delta})


def _selection(name: str, /, *, epsilon: float = 1.0) -> dict[str, Any]:
    from diffprivlib import mechanisms

    def made(utilities: Any) -> Any:
        utility = np.asarray(utilities).tolist()
        return getattr(mechanisms, name)(epsilon=epsilon, sensitivity=1, utility=utility).randomise

    return {"kind": "selection", "release": _repeated(made), "epsilon": epsilon}


def _tool(kind: str, /, *, epsilon: float = 1.0, bounds: tuple[float, float] = (0.0, 1.0)) -> dict[str, Any]:
    from diffprivlib import tools

    release = _repeated(lambda records: partial(getattr(tools, kind), records, epsilon=epsilon, bounds=bounds))
    return {"kind": kind, "release": release, "epsilon": epsilon, "bounds": bounds, "relation": "substitute"}


MECHANISMS: dict[str, Any] = {
    "laplace": partial(_pure, "Laplace"),  # noise from four uniforms, or from one before version 0.5
    "laplace_bounded_domain": partial(_pure, "LaplaceBoundedDomain", RANGE),
    "laplace_bounded_noise": partial(_approximate, "LaplaceBoundedNoise", delta=1e-3),
    "snapping": partial(_pure, "Snapping", RANGE),  # outputs are rounded to a grid as coarse as the noise
    "staircase": partial(_pure, "Staircase"),
    "gaussian": partial(_approximate, "Gaussian"),  # at the textbook's scale, for ε up to 1
    "gaussian_analytic": partial(_approximate, "GaussianAnalytic"),  # at the least scale that the claim allows
    "gaussian_discrete": partial(_approximate, "GaussianDiscrete"),
    "geometric": partial(_pure, "Geometric"),
    "exponential": partial(_selection, "Exponential"),
    "permute_and_flip": partial(_selection, "PermuteAndFlip"),
    "sum": partial(_tool, "sum"),
    "mean": partial(_tool, "mean"),
}

"""IBM's diffprivlib: mechanisms of `diffprivlib.mechanisms`, and sums and means of `diffprivlib.tools`.

The mechanisms draw from `secrets.SystemRandom` unless they are told otherwise, and some of them sample differently from
a numpy generator. So they are given a `SystemRandom` whose bytes come from the seeded generator: the code under attack
is the one that runs by default. The functions of `tools` take no such object; what they draw are uniforms only, which a
`RandomState` makes of the same bits. Its bits come from the same generator, none from a Mersenne Twister.
"""

from __future__ import annotations

import math
import secrets
from typing import Any

import numpy as np

DISTRIBUTION = "diffprivlib"
UNSEEDED = False


class SeededSystemRandom(secrets.SystemRandom):
    """A `SystemRandom` that takes its bytes from a numpy generator; all other methods derive from these two."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__()
        self._bytes = rng.bytes

    def random(self) -> float:
        """A multiple of 2^−53 in [0, 1), from seven bytes."""
        return math.ldexp(int.from_bytes(self._bytes(7), "big") >> 3, -53)

    def getrandbits(self, bits: int) -> int:
        """So many bits, from as few bytes as hold them."""
        count = (bits + 7) // 8
        return int.from_bytes(self._bytes(count), "big") >> (8 * count - bits)


def _additive(name: str, epsilon: float, *, is_integer: bool = False, **parameters: Any) -> dict[str, Any]:
    """A mechanism `name` of sensitivity 1; `randomise` takes any real number, unless it is one over the integers."""
    from diffprivlib import mechanisms

    def release(answer: float, trials: int, rng: np.random.Generator) -> Any:
        made = getattr(mechanisms, name)(
            epsilon=epsilon, sensitivity=1, random_state=SeededSystemRandom(rng), **parameters
        )
        value = math.floor(answer) if is_integer else answer
        return np.array([made.randomise(value) for _ in range(trials)])

    return {"kind": "noise", "release": release, "epsilon": epsilon, "delta": parameters.get("delta", 0.0)}


def laplace(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`Laplace`: floating-point noise of four uniforms."""
    return _additive("Laplace", epsilon)


def laplace_bounded_domain(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`LaplaceBoundedDomain`, answers and outputs in [−1024, 1024]."""
    return _additive("LaplaceBoundedDomain", epsilon, lower=-1024.0, upper=1024.0)


def laplace_bounded_noise(*, epsilon: float = 1.0, delta: float = 1e-3) -> dict[str, Any]:
    """`LaplaceBoundedNoise`, which spends δ on noise that has an end."""
    return _additive("LaplaceBoundedNoise", epsilon, delta=delta)


def snapping(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`Snapping`, answers clamped to [−1024, 1024] and outputs rounded to a grid as coarse as the noise."""
    return _additive("Snapping", epsilon, lower=-1024.0, upper=1024.0)


def staircase(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`Staircase`."""
    return _additive("Staircase", epsilon)


def gaussian(*, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    """`Gaussian`, the textbook's scale, for ε up to 1."""
    return _additive("Gaussian", epsilon, delta=delta)


def gaussian_analytic(*, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    """`GaussianAnalytic`, the least scale that the claim allows."""
    return _additive("GaussianAnalytic", epsilon, delta=delta)


def gaussian_discrete(*, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    """`GaussianDiscrete`, over the integers; a fraction of the answer is cut off."""
    return _additive("GaussianDiscrete", epsilon, is_integer=True, delta=delta)


def geometric(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`Geometric`, over the integers; a fraction of the answer is cut off."""
    return _additive("Geometric", epsilon, is_integer=True)


def _selection(name: str, epsilon: float) -> dict[str, Any]:
    from diffprivlib import mechanisms

    def release(utilities: Any, trials: int, rng: np.random.Generator) -> Any:
        made = getattr(mechanisms, name)(
            epsilon=epsilon,
            sensitivity=1,
            utility=np.asarray(utilities).tolist(),
            random_state=SeededSystemRandom(rng),
        )
        return np.array([made.randomise() for _ in range(trials)])

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
        source = np.random.RandomState(rng.bit_generator)
        answer = getattr(tools, kind)
        return np.array([answer(records, epsilon=epsilon, bounds=bounds, random_state=source) for _ in range(trials)])

    return {"kind": kind, "release": release, "epsilon": epsilon, "bounds": bounds, "relation": "substitute"}


def sum(*, epsilon: float = 1.0, bounds: tuple[float, float] = (0.0, 1.0)) -> dict[str, Any]:  # noqa: A001
    """`tools.sum`, the number of records being public."""
    return _tool("sum", epsilon, bounds)


def mean(*, epsilon: float = 1.0, bounds: tuple[float, float] = (0.0, 1.0)) -> dict[str, Any]:
    """`tools.mean`, the number of records being public."""
    return _tool("mean", epsilon, bounds)


MECHANISMS = (
    laplace,
    laplace_bounded_domain,
    laplace_bounded_noise,
    snapping,
    staircase,
    gaussian,
    gaussian_analytic,
    gaussian_discrete,
    geometric,
    exponential,
    permute_and_flip,
    sum,
    mean,
)

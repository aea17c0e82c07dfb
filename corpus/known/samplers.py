"""Textbook and library samplers of Laplace, normal and other noise in doubles, and exact ones on a grid."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from attacklab.model.claims import GaussianDP, ZeroConcentrated
from attacklab.model.domains import Domain
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.random_bits import SeededBits
from attacklab.model.targets import Target
from corpus.common.specimen import Computed, Rng, Specimen, broken, sound
from mechanisms.core.grid import Grid
from mechanisms.gaussian.exact import exact_discrete_gaussian
from mechanisms.laplace.exact import exact_discrete_laplace, exact_rounded_laplace, exact_snapping

GROUP = "samplers"

ZERO_ONE = NeighbouringPair(0.0, 1.0, None)
WHOLE_01 = NeighbouringPair(0, 1, None)
SIGMA = math.sqrt(2 * math.log(1.25e5))
NORMAL: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-5}


def is_finer_than_one(output: Any) -> bool:
    """Whether a number near 0 has bits that no rounded sum of 1 and noise has: those are multiples of 2^−53."""
    return abs(float(output)) < 0.25 and (float(output) * 2.0**53) % 1.0 != 0.0


def laplace_of_numpy(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:
    return answer + rng.laplace(0.0, 1.0, trials)


def difference_of_exponentials(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:
    return np.asarray(answer + 2.0 * (rng.standard_exponential(trials) - rng.standard_exponential(trials)))


def ratio_of_uniforms(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:
    first, second = 1.0 - rng.random(trials), 1.0 - rng.random(trials)
    return np.asarray(answer + np.log(first / second))


def python_gauss(answer: float, trials: int, rng: Rng) -> list[float]:
    generator = random.Random(int(rng.integers(1 << 62)))
    return [answer + generator.gauss(0.0, SIGMA) for _ in range(trials)]


def java_next_gaussian(answer: float, trials: int, rng: Rng) -> list[float]:
    """The polar method on the 48-bit linear congruential generator of Java's standard library."""
    state = int(rng.integers(1 << 48))
    outputs: list[float] = []

    def next_double() -> float:
        nonlocal state
        state = (state * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
        high = state >> 22
        state = (state * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
        return ((high << 27) + (state >> 21)) * 2.0**-53

    while len(outputs) < trials:
        x, y = 2.0 * next_double() - 1.0, 2.0 * next_double() - 1.0
        square = x * x + y * y
        if 0.0 < square < 1.0:
            root = math.sqrt(-2.0 * math.log(square) / square)
            outputs += [answer + SIGMA * (x * root), answer + SIGMA * (y * root)]
    return outputs[:trials]


def c_rand(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:
    uniform = (rng.integers(0, 1 << 31, trials) + 1.0) / ((1 << 31) + 1.0)
    noise = np.where(uniform < 0.5, np.log(2.0 * uniform), -np.log(2.0 * (1.0 - uniform)))
    return np.asarray(answer + noise)


def inverse_normal(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:
    return np.asarray(answer + SIGMA * special.ndtri(1.0 - rng.random(trials)))


def legacy_normal(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:
    state = np.random.RandomState(int(rng.integers(1 << 32)))
    return answer + state.normal(0.0, SIGMA, trials)


def logistic_noise(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:
    uniform = rng.random(trials)
    with np.errstate(divide="ignore"):
        return np.asarray(answer + np.log(uniform / (1.0 - uniform)))


def binary32_ziggurat(answer: float, trials: int, rng: Rng) -> NDArray[np.float32]:
    return np.float32(answer) + np.float32(2.0) * rng.standard_normal(trials, dtype=np.float32)


FINE_LAPLACE = exact_discrete_laplace(epsilon=1, grid=Grid(-10))
COARSE_LAPLACE = exact_rounded_laplace(epsilon=0.5, grid=Grid(-4))
SNAPPING = exact_snapping(epsilon=1, bound=1000)


_LAPLACES: tuple[tuple[Any, float, str], ...] = (
    (laplace_of_numpy, 1.0, "numpy's Laplace sampler in doubles"),
    (difference_of_exponentials, 0.5, "a difference of two exponential variates in doubles"),
    (ratio_of_uniforms, 1.0, "the logarithm of a ratio of two uniform doubles"),
    (c_rand, 1.0, "the inverse of the distribution function at one of 2^31 numbers, as from C's rand()"),
    (logistic_noise, 1.0, "logistic noise as the logarithm of odds in doubles"),
)
_NORMALS: tuple[tuple[Any, str], ...] = (
    (python_gauss, "Python's random.gauss, Box and Muller's method in doubles"),
    (java_next_gaussian, "the polar method on a linear congruential generator, as in Java's Random"),
    (inverse_normal, "the inverse of the normal distribution function of a uniform double"),
    (legacy_normal, "numpy's legacy polar method"),
)


_FEW_ANSWERS = Domain(bounds=(-1, 2), floats_only=True)
_OF_FEW = (ratio_of_uniforms, logistic_noise, java_next_gaussian, legacy_normal)
"""Samplers of answers that are doubles near 0, as a domain says."""


def _domain_of(release: Any) -> Domain | None:
    return _FEW_ANSWERS if release in _OF_FEW else None


# fmt: off
SPECIMENS: tuple[Specimen, ...] = (
    *(
        broken(
            release.__name__, Target.noise, f"{label}: near 0 it has bits that are lost beside the answer 1", release,
            ZERO_ONE, is_finer_than_one, trials=10_000, epsilon=epsilon, domain=_domain_of(release)
        )
        for release, epsilon, label in _LAPLACES
    ),
    *(
        broken(
            release.__name__, Target.noise, f"{label}: near 0 it has bits that are lost beside the answer 1", release,
            ZERO_ONE, is_finer_than_one, trials=10_000, **NORMAL, domain=_domain_of(release)
        )
        for release, label in _NORMALS
    ),
    broken(
        "binary32_ziggurat", Target.noise, "a ziggurat in binary32, with a claim of Gaussian privacy",
        binary32_ziggurat, ZERO_ONE,
        lambda output: abs(float(output)) < 0.25 and (float(output) * 2.0**24) % 1.0 != 0.0, claim=GaussianDP(0.5),
        noise_scale=2.0
    ),
    sound(
        "dyadic_laplace", Target.noise,
        "discrete Laplace noise on a grid of 2^−10, its scale widened by what rounding the answer adds",
        lambda answer, trials, rng: FINE_LAPLACE.many(answer, trials, SeededBits(rng)), epsilon=1.0
    ),
    sound(
        "rounded_laplace", Target.noise, "ideal Laplace noise rounded exactly to a grid of 2^−4",
        lambda answer, trials, rng: COARSE_LAPLACE.many(answer, trials, SeededBits(rng)), epsilon=0.5
    ),
    sound(
        "discrete_normal", Target.noise, "discrete Gaussian noise is 1/(2σ²)-zCDP between integers",
        lambda answer, trials, rng: exact_discrete_gaussian(2, grid=Grid(0)).many(answer, trials, SeededBits(rng)),
        Computed(WHOLE_01, lambda answer: _normal_law(answer, 4.0)), claim=ZeroConcentrated(0.125),
        domain=Domain(integers=True, bounds=(-1000, 1000))
    ),
    sound(
        "snapped", Target.noise, "Mironov's snapping with the ε of its theorem",
        lambda answer, trials, rng: SNAPPING.many(answer, trials, SeededBits(rng)), epsilon=1.0,
        domain=Domain(floats_only=True)
    ),
)
# fmt: on


def _normal_law(answer: int, variance: float) -> dict[float, float]:
    mass = {n: math.exp(-(n**2) / (2 * variance)) for n in range(-40, 41)}
    total = sum(mass.values())
    return {float(answer + n): value / total for n, value in mass.items()}

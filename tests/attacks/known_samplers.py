"""Samplers of noise as libraries and languages compute them, in the arithmetic of doubles.

Each is called as `sampler(answer, scale, trials, rng)`, with λ or σ for the scale, and returns answers with noise. None
of them shares code with the models that recognise it.
"""

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Outputs = NDArray[Any]
Sampler = Callable[[float, float, int, np.random.Generator], Outputs]

RAND_MAX = 2**31 - 1


def python_random(rng: np.random.Generator) -> random.Random:
    return random.Random(int(rng.integers(2**63)))


def signed_expovariate(answer: float, scale: float, trials: int, rng: np.random.Generator) -> Outputs:
    source = python_random(rng)
    return np.array([answer + source.choice((-1, 1)) * source.expovariate(1 / scale) for _ in range(trials)])


def cpp_exponential(answer: float, scale: float, trials: int, rng: np.random.Generator) -> Outputs:
    """std::exponential_distribution, −log(1 − u)/rate, with 53 bits of u, and a coin for the sign."""
    uniforms, rate = rng.random(trials).tolist(), 1 / scale
    signs = rng.choice([-1.0, 1.0], trials)
    return answer + signs * np.array([-math.log(1.0 - uniform) / rate for uniform in uniforms])


def inverse_by_log1p(answer: float, scale: float, trials: int, rng: np.random.Generator) -> Outputs:
    half = rng.random(trials) - 0.5
    return answer - scale * np.sign(half) * np.log1p(-2 * np.abs(half))


def by_rate(answer: float, scale: float, trials: int, rng: np.random.Generator) -> Outputs:
    half = rng.random(trials) - 0.5
    return answer - np.sign(half) * np.log(1 - 2 * np.abs(half)) / (1 / scale)


def _two_sided(uniforms: Outputs, answer: float, scale: float) -> Outputs:
    lower = np.log(2 * np.minimum(uniforms, 0.5))
    upper = np.log(2 * (1 - np.maximum(uniforms, 0.5)))
    return np.where(uniforms < 0.5, answer + scale * lower, answer - scale * upper)


def drand48(answer: float, scale: float, trials: int, rng: np.random.Generator) -> Outputs:
    uniforms = (rng.integers(1, 1 << 48, trials) / (1 << 48)).tolist()
    return answer + rng.choice([-1.0, 1.0], trials) * (scale * np.array([math.log(u) for u in uniforms]))


def random_gauss(answer: float, scale: float, trials: int, rng: np.random.Generator) -> Outputs:
    source = python_random(rng)
    return np.array([source.gauss(answer, scale) for _ in range(trials)])


def _polar(trials: int, uniform: Callable[[], float], *, first_first: bool) -> Outputs:
    normals: list[float] = []
    while len(normals) < trials:
        x, y = 2 * uniform() - 1, 2 * uniform() - 1
        square = x * x + y * y
        if 0 < square < 1:
            factor = math.sqrt(-2 * math.log(square) / square)
            normals += [x * factor, y * factor] if first_first else [y * factor, x * factor]
    return np.array(normals[:trials])


def cpp_normal(answer: float, scale: float, trials: int, rng: np.random.Generator) -> Outputs:
    """std::normal_distribution of libstdc++ over 64-bit words, which returns the second coordinate first."""
    source = python_random(rng)
    return _polar(trials, lambda: source.getrandbits(64) / 2**64, first_first=False) * scale + answer


def polar_by_rand(answer: float, scale: float, trials: int, rng: np.random.Generator) -> Outputs:
    source = python_random(rng)
    return _polar(trials, lambda: source.getrandbits(31) / RAND_MAX, first_first=True) * scale + answer


def box_muller_by_rand(answer: float, scale: float, trials: int, rng: np.random.Generator) -> Outputs:
    first = (rng.integers(0, RAND_MAX, trials, endpoint=True) + 1.0) / (RAND_MAX + 2.0)
    second = rng.integers(0, RAND_MAX, trials) / (RAND_MAX + 1.0)
    radius, angle = np.sqrt(-2 * np.log(first)), 2 * math.pi * second
    pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).ravel()
    return answer + scale * pairs[:trials]


LAPLACE: dict[str, Sampler] = {
    "signed_exponential": lambda answer, scale, trials, rng: (
        answer + rng.choice([-1.0, 1.0], trials) * rng.exponential(scale, trials)
    ),
    "signed_expovariate": signed_expovariate,
    "cpp_exponential": cpp_exponential,
    "inverse_by_log1p": inverse_by_log1p,
    "by_rate": by_rate,
    "normal_times_root": lambda answer, scale, trials, rng: (
        answer + scale * (np.sqrt(2 * rng.exponential(size=trials)) * rng.normal(size=trials))
    ),
    # C's rand() as glibc has it, divided by RAND_MAX; 0 and RAND_MAX, whose logarithm is infinite, are drawn anew.
    "rand_over_rand_max": lambda answer, scale, trials, rng: _two_sided(
        rng.integers(1, RAND_MAX, trials) / RAND_MAX, answer, scale
    ),
    "rand_plus_one": lambda answer, scale, trials, rng: _two_sided(
        (rng.integers(0, RAND_MAX, trials, endpoint=True) + 1.0) / (RAND_MAX + 2.0), answer, scale
    ),
    "rand_of_15_bits": lambda answer, scale, trials, rng: _two_sided(
        (rng.integers(0, 32768, trials) + 0.5) / 32768, answer, scale
    ),
    # One word of MT19937, (k + ½)/2^32.
    "genrand_real3": lambda answer, scale, trials, rng: _two_sided(
        (rng.integers(0, 1 << 32, trials) + 0.5) / (1 << 32), answer, scale
    ),
    "drand48": drand48,
}
GAUSSIAN: dict[str, Sampler] = {
    "random_gauss": random_gauss,
    "sum_of_twelve": lambda answer, scale, trials, rng: answer + scale * (rng.random((trials, 12)).sum(axis=1) - 6),
    # Random.nextGaussian; its StrictMath.log differs from the C library's here for few arguments.
    "java_next_gaussian": lambda answer, scale, trials, rng: (
        answer + scale * _polar(trials, python_random(rng).random, first_first=True)
    ),
    "cpp_normal": cpp_normal,
    "polar_by_rand": polar_by_rand,
    "box_muller_by_rand": box_muller_by_rand,
}

"""How textbook programs use general-purpose samplers for privacy: each use is a target that an attack refutes.

The samplers claim no privacy. The claim that is judged is that of a program which adds their noise to an answer, or
selects an outcome by their weights, as textbooks show it.
"""

from __future__ import annotations

import ctypes
import math
import random
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from attacklab.model.targets import Target
from experiments.targets.generators import ONE_PERSON, naive_histogram

Draw = Callable[[int, np.random.Generator], NDArray[np.float64]]
"""Draws a number of variates of scale 1, seeded by a generator."""

DELTA = 1e-5


def laplace(draw: Draw, epsilon: float = 1.0) -> Target:
    """Laplace noise of scale 1/ε added to an answer."""
    return Target.noise(lambda answer, trials, rng: answer + draw(trials, rng) / epsilon, epsilon=epsilon)


def normal(draw: Draw, epsilon: float = 1.0) -> Target:
    """Normal noise of the textbook's σ added to an answer."""
    sigma = math.sqrt(2 * math.log(1.25 / DELTA)) / epsilon
    return Target.noise(
        lambda answer, trials, rng: answer + sigma * draw(trials, rng), epsilon=epsilon, delta=DELTA, noise_scale=sigma
    )


def selection(select: Callable[[NDArray[np.float64], int, np.random.Generator], Any]) -> Target:
    """An outcome drawn in proportion to exp(ε·u/2), at ε = 1."""
    return Target.selection(
        lambda utilities, trials, rng: select(np.exp(np.asarray(utilities, dtype=float) / 2), trials, rng), epsilon=1.0
    )


def python(draw: Callable[[random.Random], float]) -> Draw:
    """Draws one after another from a generator of Python's standard library."""

    def drawn(count: int, rng: np.random.Generator) -> NDArray[np.float64]:
        source = random.Random(int(rng.integers(1 << 63)))
        return np.array([draw(source) for _ in range(count)])

    return drawn


def numpy_typed_seeds(count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """First draws of generators that are seeded for each answer with a small number, as people type them."""
    return np.array([np.random.RandomState(seed).laplace() for seed in rng.integers(1 << 12, size=count)])


def numpy_choice(weights: NDArray[np.float64], trials: int, rng: np.random.Generator) -> Any:
    """`Generator.choice` with the weights as probabilities."""
    return rng.choice(len(weights), size=trials, p=weights / weights.sum())


def numpy_legacy_choice(weights: NDArray[np.float64], trials: int, rng: np.random.Generator) -> Any:
    """`RandomState.choice` with the weights as probabilities."""
    return _legacy(rng).choice(len(weights), size=trials, p=weights / weights.sum())


def python_choices(weights: NDArray[np.float64], trials: int, rng: np.random.Generator) -> Any:
    """`random.choices` with the weights."""
    source = random.Random(int(rng.integers(1 << 63)))
    return np.array(source.choices(range(len(weights)), weights=weights.tolist(), k=trials))


def python_random_histogram() -> Target:
    """Laplace noise for counts, by the textbook's inverse of the distribution function at `random.random()`."""

    def release(counts: NDArray[np.float64], trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
        noise = python(lambda source: _inverse_laplace(source.random()))(trials * len(counts), rng)
        return counts + noise.reshape(trials, len(counts))

    return Target.dataset(release, epsilon=1.0, pairs=(ONE_PERSON,))


def c_rand(count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """The inverse of the distribution function at `rand()`, moved away from 0 and 1."""
    library = _c_library()
    library.srand(int(rng.integers(1 << 32)))
    uniforms = np.array([library.rand() for _ in range(count)])
    return _inverse_laplaces((uniforms + 1.0) / (2.0**31 + 1.0))


def c_drand48(count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """The inverse of the distribution function at `drand48()`."""
    library = _c_library()
    library.srand48(int(rng.integers(1 << 31)))
    return _inverse_laplaces(np.array([library.drand48() for _ in range(count)]))


@cache
def _c_library() -> Any:
    library = ctypes.CDLL(None)
    library.srand.argtypes = [ctypes.c_uint]
    library.srand48.argtypes = [ctypes.c_long]
    library.drand48.restype = ctypes.c_double
    return library


def _inverse_laplace(uniform: float) -> float:
    return -math.log(2.0 - uniform - uniform) if uniform >= 0.5 else math.log(uniform + uniform)


def _inverse_laplaces(uniforms: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        return np.where(uniforms >= 0.5, -np.log(2.0 - 2.0 * uniforms), np.log(2.0 * uniforms))


def _legacy(rng: np.random.Generator) -> np.random.RandomState:
    return np.random.RandomState(int(rng.integers(1 << 32)))


USES: dict[str, Callable[[], Target]] = {
    "numpy_laplace": lambda: laplace(lambda count, rng: rng.laplace(size=count)),
    "numpy_legacy_laplace": lambda: laplace(lambda count, rng: _legacy(rng).laplace(size=count)),
    "numpy_legacy_histogram": naive_histogram,
    "numpy_typed_seeds": lambda: laplace(numpy_typed_seeds),
    "numpy_normal": lambda: normal(lambda count, rng: rng.normal(size=count), 0.1),
    "numpy_normal_binary32": lambda: normal(
        lambda count, rng: rng.standard_normal(count, dtype=np.float32).astype(np.float64), 0.1
    ),
    "numpy_legacy_normal": lambda: normal(lambda count, rng: _legacy(rng).normal(size=count)),
    "numpy_exponentials": lambda: laplace(lambda count, rng: rng.exponential(size=count) - rng.exponential(size=count)),
    "numpy_legacy_exponentials": lambda: laplace(
        lambda count, rng: np.subtract(*_legacy(rng).exponential(size=(2, count)))
    ),
    "numpy_choice": lambda: selection(numpy_choice),
    "numpy_legacy_choice": lambda: selection(numpy_legacy_choice),
    "scipy_laplace": lambda: laplace(lambda count, rng: stats.laplace.rvs(size=count, random_state=rng)),
    "scipy_laplace_ppf": lambda: laplace(lambda count, rng: stats.laplace.ppf(rng.random(count))),
    "scipy_normal": lambda: normal(lambda count, rng: stats.norm.rvs(size=count, random_state=rng), 0.1),
    "scipy_ndtri": lambda: normal(lambda count, rng: special.ndtri(1.0 - rng.random(count))),
    "python_gauss": lambda: normal(python(lambda source: source.gauss(0.0, 1.0))),
    "python_normalvariate": lambda: normal(python(lambda source: source.normalvariate(0.0, 1.0)), 0.1),
    "python_expovariate": lambda: laplace(python(lambda source: source.expovariate(1.0) - source.expovariate(1.0))),
    "python_random_histogram": python_random_histogram,
    "python_choices": lambda: selection(python_choices),
    "c_rand": lambda: laplace(c_rand),
    "c_drand48": lambda: laplace(c_drand48),
}
"""Every use by the name under which the list of primitives cites it."""

"""Gaussian mechanisms as targets, at δ = 10⁻⁵ and the textbook's σ.

That σ is proved for ε < 1 only; `mechanisms.gaussian.privacy.gaussian_delta` certifies the claim up to ε = 8.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.low_bit_gaussian import textbook_sigma
from attacklab.claims import PrivacyClaim
from attacklab.targets import Target
from experiments.targets.making import GRID, exact_by_both_paths, named
from mechanisms.gaussian import exact, exact_fast, exact_rounded
from mechanisms.gaussian.naive import Sampler, box_muller, inverse_cdf, naive_gaussian, polar, ziggurat
from mechanisms.grid import Grid

DELTA = 1e-5
FINE_GRID = Grid(-20)


def sigma_of(epsilon: float) -> float:
    """Return the standard deviation of the noise of every target here, at sensitivity 1."""
    return textbook_sigma(PrivacyClaim(epsilon, DELTA), 1.0)


@named
def naive_gaussian_box_muller(epsilon: float = 1.0) -> Target:
    """Gaussian mechanism, Box–Muller with numpy's functions."""
    return _naive(box_muller, epsilon)


@named
def naive_gaussian_box_muller_binary32(epsilon: float = 1.0) -> Target:
    """Gaussian mechanism, Box–Muller with numpy's functions, all in binary32."""
    return _naive(partial(box_muller, dtype=np.float32), epsilon)


@named
def naive_gaussian_polar(epsilon: float = 1.0) -> Target:
    """Gaussian mechanism, Marsaglia's polar method with numpy's functions."""
    return _naive(polar, epsilon)


@named
def naive_gaussian_inverse_cdf(epsilon: float = 1.0) -> Target:
    """Gaussian mechanism, SciPy's inverse CDF."""
    return _naive(inverse_cdf, epsilon)


@named
def naive_gaussian_ziggurat(epsilon: float = 1.0) -> Target:
    """Gaussian mechanism, numpy's Generator.standard_normal."""
    return _naive(ziggurat, epsilon)


@named
def naive_gaussian_ziggurat_binary32(epsilon: float = 1.0) -> Target:
    """Gaussian mechanism, numpy's Generator.standard_normal, all in binary32."""
    return _naive(partial(ziggurat, dtype=np.float32), epsilon)


@named
def naive_gaussian_numpy_legacy(epsilon: float = 1.0) -> Target:
    """Gaussian mechanism, numpy's legacy RandomState.standard_normal."""

    def legacy(count: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return np.random.RandomState(int(rng.integers(2**32))).standard_normal(count)

    return _naive(legacy, epsilon)


@named
def naive_gaussian_python(epsilon: float = 1.0) -> Target:
    """Gaussian mechanism, Python's random.gauss."""

    def gauss(count: int, rng: np.random.Generator) -> NDArray[np.float64]:
        source = random.Random(int(rng.integers(2**63)))
        return np.array([source.gauss(0.0, 1.0) for _ in range(count)])

    return _naive(gauss, epsilon)


@named
def exact_rounded_gaussian(epsilon: float = 1.0) -> Target:
    """Gaussian mechanism, ideal noise rounded to a public grid, exact."""
    return _exact(exact_rounded.exact_rounded_gaussian_fast, exact_rounded.exact_rounded_gaussian, FINE_GRID, epsilon)


@named
def exact_discrete_gaussian(epsilon: float = 1.0) -> Target:
    """Gaussian mechanism, discrete noise on a public grid, exact."""
    return _exact(exact_fast.exact_discrete_gaussian_fast, exact.exact_discrete_gaussian, GRID, epsilon)


def _naive(sampler: Sampler, epsilon: float) -> Target:
    release = partial(naive_gaussian, sigma=sigma_of(epsilon), sampler=sampler)
    return Target.noise(release, epsilon=epsilon, delta=DELTA)


def _exact(
    fast: Callable[..., NDArray[np.float64]], reference: Callable[..., float], grid: Grid, epsilon: float
) -> Target:
    parameters = {"sigma": sigma_of(epsilon), "grid": grid}
    return exact_by_both_paths(Target.noise, fast, reference, parameters, epsilon=epsilon, delta=DELTA)

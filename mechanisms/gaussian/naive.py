"""The Gaussian mechanism as textbooks and libraries write it: f(D) + σ·Z in floating point.

Four samplers of Z. Each maps finitely many uniforms through rounded functions, so that only some doubles can come out:
answer + σ·Z then has a support with holes that move with the answer, and an output that falls in one answer's hole and
not in the other's tells them apart (Mironov 2012 for Laplace; Jin, McMurtry, Rubinstein and Ohrimenko 2022, 'Are We
There Yet? Timing and Floating-Point Attacks on Differential Privacy Systems', for the Gaussian).

Where we differ from the sources: we take logarithms of 1 − U, since numpy's uniforms include 0 and exclude 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from mechanisms.core.numbers import count as counted
from mechanisms.core.numbers import positive

Sampler = Callable[[int, np.random.Generator], NDArray[np.floating]]
"""`sampler(count, rng)` draws `count` standard normals."""


def box_muller(
    count: int, rng: np.random.Generator, dtype: type[np.float32] | type[np.float64] = np.float64
) -> NDArray[np.floating]:
    """Draw normals in pairs, √(−2·ln U₁)·(cos 2πU₂, sin 2πU₂), each pair side by side (Box and Muller 1958)."""
    pairs = -(-count // 2)
    radius = np.sqrt(-2 * np.log(1 - rng.random(pairs, dtype=dtype)))
    angle = dtype(2 * np.pi) * rng.random(pairs, dtype=dtype)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).ravel()[:count]


def polar(count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw normals in pairs, (V₁, V₂)·√(−2·ln(S)/S) for (V₁, V₂) uniform in the unit disc and S = V₁² + V₂²."""
    pairs = -(-count // 2)
    drawn = np.empty((0, 2))
    while len(drawn) < pairs:
        points = 2 * rng.random((2 * (pairs - len(drawn)), 2)) - 1
        square = points[:, 0] ** 2 + points[:, 1] ** 2
        inside = (square > 0) & (square < 1)
        points, square = points[inside], square[inside]
        drawn = np.concatenate([drawn, points * np.sqrt(-2 * np.log(square) / square)[:, np.newaxis]])
    return drawn[:pairs].ravel()[:count]


def ziggurat(
    count: int, rng: np.random.Generator, dtype: type[np.float32] | type[np.float64] = np.float64
) -> NDArray[np.floating]:
    """Draw normals by numpy's own sampler, a ziggurat (Marsaglia and Tsang 2000), in either format."""
    return rng.standard_normal(count, dtype=dtype)


def inverse_cdf(count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw normals as Φ⁻¹(1 − U), by SciPy's approximation of Φ⁻¹."""
    normals: NDArray[np.float64] = ndtri(1 - rng.random(count))
    return normals


def naive_gaussian(
    answer: float, trials: int, rng: np.random.Generator, *, sigma: float, sampler: Sampler = ziggurat
) -> NDArray[np.floating]:
    """Add Gaussian noise to an answer, in the sampler's format."""
    positive("sigma", sigma)
    # A Python float takes the sampler's format, a numpy float would widen it.
    return float(answer) + float(sigma) * sampler(counted("trials", trials, least=0), rng)

"""Discrete Laplace and Gaussian noise: Canonne, Kamath and Steinke 2020, Algorithms 2 and 3."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import Any

from checker.core.tape import published
from checker.models.coins import bernoulli_exp, some_below

TRIED = (-3, -2, -1, 0, 1, 2, 3, -(10**6), 10**6)
"""What the noise is made to be where another sampler calls for it."""


def tried(scale: Fraction) -> tuple[int, ...]:
    """Return what the noise of a scale is made to be: small and great numbers, and some of one scale to six."""
    return (*TRIED, *((-1) ** times * (times * scale).__ceil__() for times in range(1, 7)))


@published(lambda t, s: TRIED)  # noqa: ARG005
def signed_laplace(t: int, s: int, bits: Any) -> int | None:
    """One round of Algorithm 2, at scale t/s."""
    u = bits.call(some_below, t)
    if not bits.call(bernoulli_exp, Fraction(u, t)):
        return None
    v = 0
    while bits.call(bernoulli_exp, Fraction(1)):
        v += 1
    magnitude: int = (u + t * v) // s
    if bits.take(1) == 0:
        return magnitude
    return -magnitude if magnitude else None


@published(tried)
def discrete_laplace(scale: Fraction, bits: Any) -> Any:
    """An integer n with probability in proportion to e^(−|n|/scale)."""
    return bits.repeat(signed_laplace, scale.numerator, scale.denominator)


@published(lambda variance, scale: TRIED)  # noqa: ARG005
def kept_laplace(variance: Fraction, scale: Fraction, bits: Any) -> int | None:
    """One round of Algorithm 3, whose proposals have the given scale."""
    proposed: int = bits.call(discrete_laplace, scale)
    keeps = bits.call(bernoulli_exp, (abs(proposed) - variance / scale) ** 2 / (2 * variance))
    return proposed if keeps else None


@published(lambda variance: TRIED)  # noqa: ARG005
def discrete_gaussian(variance: Fraction, bits: Any) -> Any:
    """An integer n with probability in proportion to e^(−n²/2σ²)."""
    return bits.repeat(kept_laplace, variance, Fraction(isqrt(variance.__floor__()) + 1))

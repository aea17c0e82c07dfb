"""Exact coins: uniform integers, Bernoulli(p) for rational p and Bernoulli(e^−γ) for rational γ.

Source: Canonne, Kamath and Steinke 2020, 'The Discrete Gaussian for Differential Privacy', section 5.1,
Algorithm 1. Each is a sampler: its randomness comes last and it can be run by `RandomBits.call`.
"""

from __future__ import annotations

from fractions import Fraction

from mechanisms.randomness import REJECTED, RandomBits


def uniform_below(bound: int, bits: RandomBits) -> int:
    """Draw an integer uniform in [0, bound), by rejection below the next power of two."""
    if bound < 1:
        raise ValueError(f"bound must be at least 1, not {bound}")
    return bits.repeat(_drawn_below, bound)


def _drawn_below(bound: int, bits: RandomBits) -> int | None:
    drawn = bits.take((bound - 1).bit_length())
    return drawn if drawn < bound else REJECTED


def bernoulli(probability: Fraction, bits: RandomBits) -> bool:
    """Draw True with exactly the given rational probability."""
    if not 0 <= probability <= 1:
        raise ValueError(f"probability must lie in [0, 1], not {probability}")
    return bits.call(uniform_below, probability.denominator) < probability.numerator


def bernoulli_exp(gamma: Fraction, bits: RandomBits) -> bool:
    """Draw True with exactly probability e^−γ.

    For γ ≤ 1 the number K of the first failure among Bernoulli(γ/1), Bernoulli(γ/2), … exceeds k with
    probability γ^k/k!, so K is odd with probability 1 − γ + γ²/2! − … = e^−γ. A larger γ is a product of
    whole steps of e^−1 and a rest.
    """
    if gamma < 0:
        raise ValueError(f"gamma must be at least 0, not {gamma}")
    while gamma > 1:
        if not bits.call(bernoulli_exp, Fraction(1)):
            return False
        gamma -= 1
    first_failure = 1
    while bits.call(bernoulli, gamma / first_failure):
        first_failure += 1
    return first_failure % 2 == 1

"""Samplers of noise as they were published: rational coins in loops, whose laws are exact and whose work varies.

Sources: Canonne, Kamath and Steinke 2020, 'The Discrete Gaussian for Differential Privacy', Algorithms 2 and 3; Ghosh,
Roughgarden and Sundararajan 2009, 'Universally Utility-Maximizing Privacy Mechanisms', section 2 (geometric noise).

The lab's own mechanisms draw by tables and by inversion instead (`mechanisms.core`). These are what other libraries
port, what the vectors hold, and what experiments on work look at.
"""

from __future__ import annotations

import math
from fractions import Fraction

from mechanisms.coins import bernoulli, bernoulli_exp, uniform_below
from mechanisms.core.numbers import positive
from mechanisms.randomness import REJECTED, RandomBits


def discrete_laplace(scale: Fraction, bits: RandomBits) -> int:
    """Draw n with probability proportional to e^(−|n|/scale): Algorithm 2.

    With scale = t/s, x = u + t·v for u uniform in [0, t) kept with probability e^(−u/t), and v geometric, has
    P[x] ∝ e^(−x/t); ⌊x/s⌋ has P[m] ∝ e^(−m·s/t). The sign is fair and −0 is rejected.
    """
    scale = positive("scale", scale)
    return bits.repeat(_signed_laplace, scale.numerator, scale.denominator)


def _signed_laplace(t: int, s: int, bits: RandomBits) -> int | None:
    u = bits.call(uniform_below, t)
    if not bits.call(bernoulli_exp, Fraction(u, t)):
        return REJECTED
    v = 0
    while bits.call(bernoulli_exp, Fraction(1)):
        v += 1
    return _signed((u + t * v) // s, bits)


def _signed(magnitude: int, bits: RandomBits) -> int | None:
    """Return a magnitude with a fair sign, or REJECTED for −0."""
    if bits.take(1) == 0:
        return magnitude
    return -magnitude if magnitude > 0 else REJECTED


def two_sided_geometric(ratio: float | Fraction, bits: RandomBits) -> int:
    """Draw n with probability (1 − ratio)/(1 + ratio)·ratio^|n|.

    It is the discrete Laplace law of scale −1/ln(ratio), with rational probabilities: adding it to an answer of
    sensitivity 1 multiplies no probability by more than 1/ratio.
    """
    ratio = positive("ratio", ratio)
    if ratio >= 1:
        raise ValueError(f"ratio must lie in (0, 1), not {ratio}")
    return bits.repeat(_signed_geometric, ratio)


def _signed_geometric(ratio: Fraction, bits: RandomBits) -> int | None:
    magnitude = 0
    while bits.call(bernoulli, ratio):
        magnitude += 1
    return _signed(magnitude, bits)


def discrete_gaussian(variance: Fraction, bits: RandomBits) -> int:
    """Draw n with probability proportional to exp(−n²/(2·variance)): Algorithm 3.

    With t = ⌊σ⌋ + 1, discrete Laplace noise y of scale t is kept with probability exp(−(|y| − σ²/t)²/2σ²), and
    exp(−|y|/t)·exp(−(|y| − σ²/t)²/2σ²) is exp(−y²/2σ²) times a constant.
    """
    variance = positive("variance", variance)
    return bits.repeat(_kept_proposal, variance, Fraction(math.isqrt(math.floor(variance)) + 1))


def _kept_proposal(variance: Fraction, scale: Fraction, bits: RandomBits) -> int | None:
    proposed = bits.call(discrete_laplace, scale)
    is_kept = bits.call(bernoulli_exp, (abs(proposed) - variance / scale) ** 2 / (2 * variance))
    return proposed if is_kept else REJECTED

"""Discrete Laplace noise: Canonne, Kamath and Steinke 2020, 'The Discrete Gaussian for Differential Privacy'.

A source answers `coin(p)` with 1 at probability p and else 0, and `below(n)` with an integer uniform below n. `rounded`
is what becomes of the probability of a coin: an exact sampler leaves it as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Protocol


class Source(Protocol):
    """Answers requests for randomness."""

    def coin(self, probability: Fraction) -> int: ...  # noqa: D102

    def below(self, bound: int) -> int: ...  # noqa: D102


Rounded = Callable[[Fraction], Fraction]


def exact(probability: Fraction) -> Fraction:
    """The probability itself."""
    return probability


def naive(probability: Fraction) -> Fraction:
    """The flaw: the nearest double, which is a little more or less."""
    return Fraction(float(probability))


def bernoulli_exp(gamma: Fraction, source: Source, rounded: Rounded) -> bool:
    """True with probability e^−γ."""
    while gamma > 1:
        if not bernoulli_exp(Fraction(1), source, rounded):
            return False
        gamma -= 1
    failure = 1
    while source.coin(rounded(gamma / failure)):
        failure += 1
    return failure % 2 == 1


def discrete_laplace(scale: Fraction, source: Source, rounded: Rounded) -> int:
    """N with probability proportional to e^(−|n|/scale)."""
    while True:
        rest = source.below(scale.numerator)
        if not bernoulli_exp(Fraction(rest, scale.numerator), source, rounded):
            continue
        whole = 0
        while bernoulli_exp(Fraction(1), source, rounded):
            whole += 1
        magnitude = (rest + scale.numerator * whole) // scale.denominator
        if not source.coin(Fraction(1, 2)):
            return magnitude
        if magnitude:
            return -magnitude

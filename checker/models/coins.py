"""Uniform integers, Bernoulli(p) and Bernoulli(e^−γ): Canonne, Kamath and Steinke 2020, Algorithm 1."""

from __future__ import annotations

from fractions import Fraction
from numbers import Rational
from typing import Any

from checker.core.tape import published


@published(range)
def drawn_below(bound: int, bits: Any) -> Any:
    """One round of `uniform_below`: as many bits as `bound` − 1 has, rejected unless they are below it."""
    drawn = bits.take((bound - 1).bit_length())
    return drawn if drawn < bound else None


def _integers_below(bound: Any) -> Any:
    """Return what is drawn below a bound: below the denominator of an unknown number, a share of it."""
    return [bound.drawn()] if hasattr(bound, "drawn") else range(bound)


@published(_integers_below)
def uniform_below(bound: int, bits: Any) -> Any:
    """A uniform integer of [0, bound)."""
    return bits.repeat(drawn_below, bound)


@published(lambda bound: [*range(bound)] if bound <= 64 else [0, 1, 2, bound // 3, bound // 2, bound - 2, bound - 1])
def some_below(bound: int, bits: Any) -> Any:
    """`uniform_below`, for an algorithm that computes with the integer: some of them stand for all."""
    return bits.repeat(drawn_below, bound)


@published(lambda probability: (False, True))  # noqa: ARG005
def bernoulli(probability: Fraction, bits: Any) -> bool:
    """True with probability p = n/d: a uniform integer below d is below n."""
    return bool(bits.call(uniform_below, probability.denominator) < probability.numerator)


@published(lambda gamma: (True,) if isinstance(gamma, Rational) and gamma == 0 else (False, True))
def bernoulli_exp(gamma: Fraction, bits: Any) -> bool:
    """True with probability e^−γ: whole steps of e^−1 first, then the parity of the first failure among γ/1, γ/2, ….

    Source: Algorithm 1.
    """
    while gamma > 1:
        if not bits.call(bernoulli_exp, Fraction(1)):
            return False
        gamma -= 1
    failed = 1
    while bits.call(bernoulli, gamma / failed):
        failed += 1
    return failed % 2 == 1

"""Inverse-CDF sampling with a lazily extended uniform: the plain reference of the fast paths.

An integer law with tails T(k) = P[X ≥ k] is drawn as the k with T(k + 1) < U < T(k) for one uniform U. The bits of U
are taken one by one until they tell which k it is; the tails are compared with U by MPFR enclosures. The law is the
true one, whatever its tails, and exhausting the bits finds it: in each interval [i, i + 1]·2^−b that holds no T(k) the
outcome is known, so that what b bits leave undecided is about 2^−b times the number of outcomes.
"""

from __future__ import annotations

from functools import cache
from typing import Protocol

from gmpy2 import mpq

from mechanisms.gaussian.law import Enclosure
from mechanisms.randomness import RandomBits


class Law(Protocol):
    """An integer law with the tails T(k) = P[X ≥ k]."""

    def tail(self, outcome: int, precision: int) -> Enclosure:
        """Enclose T(outcome), in arithmetic of some precision in bits."""

    def guess(self, uniform: float | mpq) -> int:
        """Guess the k of a uniform: a wrong guess costs time and nothing else."""


_ROUGH_BITS = 48  # up to which the ends of an interval, and 1 minus them, are exact in binary64
_PRECISION_STEP = 64


def invert(law: Law, known: int, width: int, bits: RandomBits) -> int:
    """Draw k with T(k + 1) < U < T(k).

    Args:
        law: has the tails T.
        known: the first bits of U.
        width: how many they are.
        bits: the source of the others.

    Returns:
        The outcome.
    """
    tail = cache(law.tail)  # for this draw alone: what is looked up tells what was drawn
    while True:
        if 0 < known < (1 << width) - 1 and (width > _ROUGH_BITS or _same_guess(law, known, width)):
            low, high = mpq(known, 1 << width), mpq(known + 1, 1 << width)
            precision = _PRECISION_STEP * (2 + width // _PRECISION_STEP)
            outcome = law.guess((low + high) / 2)
            while tail(outcome + 1, precision).lower >= high:
                outcome += 1
            while tail(outcome, precision).upper <= low:
                outcome -= 1
            if tail(outcome + 1, precision).upper <= low and high <= tail(outcome, precision).lower:
                return outcome
        known, width = 2 * known + bits.take(1), width + 1


def _same_guess(law: Law, known: int, width: int) -> bool:
    """Say whether MPFR is worth asking: whether both ends of the interval, exact in binary64, look like one outcome."""
    return law.guess(known / (1 << width)) == law.guess((known + 1) / (1 << width))


def resolved(law: Law, word: int, bits: RandomBits) -> int:
    """Draw from a law by a uniform whose first 64 bits are a word that a filter left open."""
    return bits.call(invert, law, word, 64)

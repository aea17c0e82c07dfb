"""Inverse-CDF sampling with a lazily extended uniform: the reference sampler of every law of noise.

An integer law with tails T(k) = P[N ≥ k] is drawn as the k with T(k + 1) < U < T(k) for one uniform U, whose bits are
taken one by one until they tell which k it is. U equals a tail with probability 0.

Why it is right for every law and size: `invert` returns k only when it has been told that T(k + 1) is at most the lower
end of what is known of U, and T(k) at least the upper end. So if the enclosures hold, k is that function of U, whatever
the guesses are and however many bits it takes; and U is uniform, as its bits are. Exhausting the bits finds the law: b
bits leave an interval of 2^−b open for each tail that lies in it.
"""

from __future__ import annotations

from functools import cache
from typing import Protocol

from gmpy2 import mpq

from mechanisms.core.gaussian_tails import Enclosure
from mechanisms.core.laws import Law
from mechanisms.randomness import RandomBits

_ROUGH_BITS = 48  # up to which the ends of an interval, and 1 minus them, are exact in binary64
_PRECISION_STEP = 64


class Tails(Protocol):
    """What an inversion has to know of a law."""

    def tail(self, outcome: int, precision: int) -> Enclosure:
        """Enclose T(outcome), in arithmetic of some precision in bits."""

    def guess(self, uniform: float | mpq) -> int:
        """Guess the k of a uniform: a wrong guess costs time and nothing else."""


def invert(law: Law, bits: RandomBits) -> int:
    """Draw from a law.

    No probability is above 1/spread, so U is never told apart from all tails by fewer bits than are taken at first.

    Args:
        law: the law.
        bits: the source of randomness.
    """
    width = max(int(law.spread).bit_length() - 1, 0)
    return inverted(law, bits.take(width), width, bits)


def inverted(law: Tails, known: int, width: int, bits: RandomBits) -> int:
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


def _same_guess(law: Tails, known: int, width: int) -> bool:
    """Say whether MPFR is worth asking: whether both ends of the interval look like one outcome."""
    return law.guess(known / (1 << width)) == law.guess((known + 1) / (1 << width))

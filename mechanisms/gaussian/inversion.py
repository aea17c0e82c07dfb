"""Inverse-CDF sampling with a lazily extended uniform: the plain reference and the filter of the fast paths.

An integer law with tails T(k) = P[X ≥ k] is drawn as the k with T(k + 1) < U < T(k) for one uniform U. The bits of U
are taken one by one until they tell which k it is; the tails are compared with U by MPFR enclosures. The law is the
true one, whatever its tails, and exhausting the bits finds it: in each interval [i, i + 1]·2^−b that holds no T(k) the
outcome is known, so that what b bits leave undecided is about 2^−b times the number of outcomes.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Protocol

import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from mechanisms.arithmetic import require_ieee_arithmetic
from mechanisms.certified import UNIT
from mechanisms.gaussian.law import Enclosure
from mechanisms.gaussian.quantile import normal_quantile, quantile_bound
from mechanisms.randomness import RandomBits


class Law(Protocol):
    """An integer law with the tails T(k) = P[X ≥ k]."""

    def tail(self, outcome: int, precision: int) -> Enclosure:
        """Enclose T(outcome), in arithmetic of some precision in bits."""

    def guess(self, uniform: float | mpq) -> int:
        """Guess the k of a uniform: a wrong guess costs time and nothing else."""


_ROUGH_BITS = 48  # up to which the ends of an interval, and 1 minus them, are exact in binary64
_PRECISION_STEP = 64
_DEGREE_4_UP_TO, _DEGREE_5_UP_TO = 1 << 12, 1 << 19
"""The scales, in steps, up to which polynomials of degrees 4 and 5 leave fewer than one draw in a million undecided."""


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


class RoundedNormalFilter:
    """Rounds shift + scale·Z to the nearest integer for whole arrays, where binary64 provably decides it.

    The value y is computed from the first 64 bits of each uniform, with |y − (shift + scale·Z)| at most

        scale·(b + 20u) + 2u,

    b the bound of the quantile and u = 2^−53: the scale, the product and the sum round, |Z| < 4.5, and the shift rounds
    once more. y − rint(y) is exact. A draw is decided if y is at least that and the slack away from every n + ½.

    Args:
        scale: positive.
        slack: how far the thresholds between outcomes may be from n + ½, within the quantile's reach.
    """

    def __init__(self, scale: Fraction, slack: Fraction = Fraction(0)) -> None:
        require_ieee_arithmetic()
        self._degree = 4 if scale <= _DEGREE_4_UP_TO else 5 if scale <= _DEGREE_5_UP_TO else 6
        error = scale * (Fraction(quantile_bound(self._degree)) + 20 * UNIT) + 2 * UNIT
        self._scale = float(scale)
        self._greatest_distance = math.nextafter(float(Fraction(1, 2) - error - slack), -math.inf)

    def __call__(
        self, words: NDArray[np.uint64], shifts: float | NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Round one chunk.

        Args:
            words: the first words of the uniforms, shape (n,).
            shifts: in [−½, ½], each rounded to a double; or one for all.

        Returns:
            The integers, shape (n,), and the places of those that are undecided.
        """
        value = normal_quantile(words, self._degree)
        value *= self._scale
        value += shifts
        nearest = np.rint(value)
        value -= nearest
        decided = np.abs(value, out=value) <= self._greatest_distance  # NaN never is
        return nearest, np.flatnonzero(~decided)

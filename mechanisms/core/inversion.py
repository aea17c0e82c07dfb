"""Inverse-CDF sampling with a lazily extended uniform: the reference sampler of every law of noise.

An integer law with tails T(k) = P[N ≥ k] is drawn as the k with T(k + 1) < U < T(k) for one uniform U, whose bits are
taken word by word until they tell which k it is. U equals a tail with probability 0.

Why it is right for every law and size: the bits drawn so far give an interval that contains U. `inverted` returns k
only if the enclosures show that T(k + 1) is at most its lower end, and T(k) at least its upper end. So if the
enclosures hold, k is that function of U, whatever the guesses are; and U is uniform, as its bits are.

A word is compared with integers and nothing else. So a program that enumerates all bits branches once for each
comparison, not for each value of a word: the exact law of a draw takes a few runs for each outcome.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache, partial
from typing import Protocol

from mechanisms.core.gaussian_tails import Enclosure
from mechanisms.core.laws import HEIGHT_BITS, last_that
from mechanisms.core.rounding import ceiling, floor
from mechanisms.randomness import RandomBits

WORD = 64
_GUARD_BITS = 32


class Tails(Protocol):
    """A law as an inversion needs it: by enclosures of its tails T."""

    def tail(self, outcome: int, precision: int) -> Enclosure:
        """Enclose T(outcome), in arithmetic of `precision` bits."""


class RoughTails(Tails, Protocol):
    """A law with approximate tails as well, to guess an outcome from: a wrong guess costs time and nothing else."""

    @property
    def spread(self) -> Fraction | int:
        """The typical distance of outcomes from 0, roughly."""

    def rough_tail(self, outcome: int) -> int:
        """Return about T(outcome), in units of 2^−HEIGHT_BITS."""


def invert(law: RoughTails, bits: RandomBits) -> int:
    """Draw one outcome of a law by inversion; the first 64 bits give a guess."""
    word, unused = bits.take(WORD), HEIGHT_BITS - WORD
    guess = last_that(lambda outcome: word < law.rough_tail(outcome) >> unused, 0, max(int(law.spread), 1))
    return inverted(law, word, guess, bits)


def inverted(law: Tails, word: int, guess: int, bits: RandomBits) -> int:
    """Return the k with T(k + 1) < U < T(k), for a uniform U that starts with the 64 bits of `word`.

    The search starts at `guess`, and `bits` gives further bits of U where they are needed.
    """
    before, width, outcome = 0, WORD, guess
    while True:
        outcome, is_told = _narrowed(law, word, before, width, outcome)
        if is_told:
            return outcome
        before, word, width = (before + int(word)) << WORD, bits.take(WORD), width + WORD


def _narrowed(law: Tails, word: int, before: int, width: int, guess: int) -> tuple[int, bool]:
    """Return a k for U in [u, u + 1)·2^−width, u = before + word, and whether T(k + 1) < U < T(k) is certain."""
    if not -before < word < (1 << width) - 1 - before:  # at either end no number of steps reaches the outcome
        return guess, False
    tail = cache(partial(law.tail, precision=width + _GUARD_BITS))  # for this draw alone: it tells what was drawn
    outcome = last_that(lambda k: word < floor(tail(k).lower, width) - before, guess)
    return outcome, word >= ceiling(tail(outcome + 1).upper, width) - before

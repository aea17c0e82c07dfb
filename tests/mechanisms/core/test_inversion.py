"""Inversion: its law by exhausting bits, and each outcome against the tails of the definition."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction

import gmpy2
import mpmath
import numpy as np
import pytest
from gmpy2 import mpq

from attacklab.random_bits import SeededBits, TapedBits, TapeEnded
from mechanisms.core.inversion import invert
from mechanisms.core.laws import DiscreteGaussian, DiscreteLaplace, Geometric, Law, RoundedGaussian, RoundedLaplace
from tests.mechanisms.core.known_laws import ALL_LAWS, known_mass, known_tail, named

DEPTH = 12
SMALL = [
    DiscreteLaplace(Fraction(1, 4)),
    DiscreteLaplace(Fraction(5, 2)),
    RoundedLaplace(Fraction(3, 2)),
    Geometric(Fraction(1, 3)),  # whose P[N ≥ k] are dyadic multiples of powers of 1/3
    DiscreteGaussian(Fraction(9, 4)),
    RoundedGaussian(Fraction(9, 4)),
]


@dataclass(frozen=True)
class BadGuesses(DiscreteLaplace):
    """A law whose guesses are all wrong, at different distances."""

    def guess(self, uniform: float | mpq) -> int:
        return super().guess(uniform) + (3 if uniform < 0.5 else -5)


def exhausted(law: Law) -> tuple[dict[int, Fraction], Fraction]:
    """Run `invert` on every tape of up to DEPTH bits: each outcome's probability so far, and what is undecided."""
    found: defaultdict[int, Fraction] = defaultdict(Fraction)
    undecided = Fraction(0)
    tapes = [(0, 0)]
    while tapes:
        value, length = tapes.pop()
        try:
            found[invert(law, TapedBits(value, length))] += Fraction(1, 1 << length)
        except TapeEnded:
            if length == DEPTH:
                undecided += Fraction(1, 1 << length)
            else:
                tapes += [(2 * value, length + 1), (2 * value + 1, length + 1)]
    return found, undecided


@pytest.mark.parametrize("law", [*SMALL, BadGuesses(Fraction(1))], ids=named)
def test_exhausting_the_bits_finds_the_law_of_the_definition(law: Law) -> None:
    found, undecided = exhausted(law)
    assert sum(found.values()) + undecided == 1
    assert undecided <= Fraction(2 * len(found) + 4, 1 << DEPTH)
    with mpmath.workdps(40):
        for outcome, share in found.items():
            lower = mpmath.mpf(share.numerator) / share.denominator
            assert lower <= known_mass(law, outcome) <= lower + mpmath.mpf(2) ** (2 - DEPTH)


@pytest.mark.parametrize("law", [*ALL_LAWS, BadGuesses(Fraction(4))], ids=named)
def test_a_draw_is_the_outcome_whose_tails_enclose_the_uniform(law: Law) -> None:
    """The bits are 120 random ones; the tails are those of the definition."""
    source = SeededBits(7)
    with mpmath.workdps(60):
        for _ in range(4):
            bits = source.take(120)
            outcome = invert(law, TapedBits(bits, 120))
            uniform = mpmath.mpf(bits) / mpmath.mpf(2) ** 120
            assert known_tail(law, outcome + 1) <= uniform <= known_tail(law, outcome)


def test_uniforms_at_both_ends_are_drawn_far_out() -> None:
    """U = 1.25·2^−200 and its mirror image; ln(2^200/(1.25·(1 + 1/e))) is 138.09."""
    law = DiscreteLaplace(Fraction(1))
    ends = [invert(law, TapedBits(bits, 230)) for bits in (5 << 28, (1 << 230) - 1 - (5 << 28))]
    assert ends == [138, -138]


def test_a_uniform_next_to_a_tail_takes_as_many_bits_as_tell_them_apart() -> None:
    """P[N ≥ 0] = 3/4 for q = 1/3, so only the first bit that differs from 0.11000… decides."""
    law = Geometric(Fraction(1, 3))
    for first in (3, 60, 200):
        tape = TapedBits((0b11 << first) + 1 << 10, first + 12)
        assert invert(law, tape) == -1
        assert tape.left <= 10
        below = TapedBits((0b11 << first) - 1 << 10, first + 12)
        assert invert(law, below) == 0


def test_no_context_of_the_caller_changes_a_draw() -> None:
    for law in SMALL:
        expected = [invert(law, SeededBits(seed)) for seed in range(20)]
        with gmpy2.context(precision=4, round=gmpy2.RoundUp, trap_inexact=True), np.errstate(all="raise"):
            assert [invert(law, SeededBits(seed)) for seed in range(20)] == expected

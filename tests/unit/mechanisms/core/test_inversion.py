"""Inversion: its law by exhausting bits, and each outcome against the tails of the definition."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import gmpy2
import mpmath
import numpy as np
import pytest
from gmpy2 import mpfr, mpq

from attacklab.laws import Limits, enumerate_law
from attacklab.model.random_bits import SeededBits, TapedBits
from mechanisms.core.gaussian_tails import Enclosure
from mechanisms.core.inversion import invert
from mechanisms.core.laws import HEIGHT_BITS, DiscreteGaussian, DiscreteLaplace, Law, RoundedGaussian, RoundedLaplace
from mechanisms.core.rounding import rounding
from tests.unit.mechanisms.core.known_laws import ALL_LAWS, known_mass, known_tail, named

SMALL = [
    DiscreteLaplace(Fraction(1, 4)),
    DiscreteLaplace(Fraction(5, 2)),
    RoundedLaplace(Fraction(3, 2)),
    DiscreteGaussian(Fraction(9, 4)),
    RoundedGaussian(Fraction(9, 4)),
]


@dataclass(frozen=True)
class BadGuesses(DiscreteLaplace):
    """A law whose guesses are all wrong, at different distances."""

    def rough_tail(self, outcome: int) -> int:
        return super().rough_tail(outcome + 3 if outcome < 0 else outcome - 5)


@pytest.mark.parametrize(
    ("law", "runs"),
    [(DiscreteLaplace(Fraction(1, 2)), 120), *((law, 400) for law in [*SMALL, BadGuesses(Fraction(1))])],
    ids=str,
)
def test_the_law_of_a_draw_is_found_by_a_few_runs_for_each_outcome(law: Law, runs: int) -> None:
    drawn = enumerate_law(invert, law, limits=Limits(Fraction(1, 1 << 40), runs=runs))
    assert drawn.unresolved <= Fraction(1, 1 << 40)
    with mpmath.workdps(40):
        for outcome in drawn.masses:
            mass = mpmath.mpf(gmpy2.mpq(drawn.mass(outcome)).numerator) / gmpy2.mpq(drawn.mass(outcome)).denominator
            assert mass <= known_mass(law, outcome) <= mass + mpmath.mpf(2) ** -40


@pytest.mark.parametrize("law", [*ALL_LAWS, BadGuesses(Fraction(4))], ids=named)
def test_a_draw_is_the_outcome_whose_tails_enclose_the_uniform(law: Law) -> None:
    """The bits are 192 random ones; the tails are those of the definition."""
    source = SeededBits(7)
    with mpmath.workdps(60):
        for _ in range(4):
            bits = source.take(192)
            outcome = invert(law, TapedBits(bits, 192))
            uniform = mpmath.mpf(bits) / mpmath.mpf(2) ** 192
            assert known_tail(law, outcome + 1) <= uniform <= known_tail(law, outcome)


class OfThirds:
    """P[N ≥ k] = (3/4)·3^−k for k ≥ 1, known but for a last bit, and N is symmetric."""

    spread = 1

    def tail(self, outcome: int, precision: int) -> Enclosure:
        exact = mpq(3, 4 * 3**outcome) if outcome >= 1 else 1 - mpq(3, 4 * 3 ** (1 - outcome))
        with rounding(precision)[0]:
            lower = mpfr(exact - mpq(1, 2**precision))
        with rounding(precision)[1]:
            return Enclosure(lower, mpfr(exact + mpq(1, 2**precision)))

    def rough_tail(self, outcome: int) -> int:
        return int(float(self.tail(outcome, 64).lower) * 2**HEIGHT_BITS)


def test_a_uniform_next_to_a_tail_takes_as_many_bits_as_tell_them_apart() -> None:
    """P[N ≥ 0] = 3/4 for q = 1/3, so only the first word that differs from those of 0.11000… decides."""
    law = OfThirds()
    for words in (1, 2, 4):
        for low, outcome in ((1, -1), (-2, 0)):
            tape = TapedBits((0b11 << 64 * words - 2) + low, 64 * words)
            assert invert(law, tape) == outcome
            assert tape.left == 0


def test_no_context_of_the_caller_changes_a_draw() -> None:
    for law in SMALL:
        expected = [invert(law, SeededBits(seed)) for seed in range(20)]
        with gmpy2.context(precision=4, round=gmpy2.RoundUp, trap_inexact=True), np.errstate(all="raise"):
            assert [invert(law, SeededBits(seed)) for seed in range(20)] == expected

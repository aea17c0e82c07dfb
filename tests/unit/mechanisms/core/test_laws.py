"""The laws of noise: their tails and heights against mpmath, and their losses against the ratios that they bound."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import gmpy2
import mpmath
import numpy as np
import pytest
from gmpy2 import mpfr, mpq

from mechanisms.core.claims import ApproximateDP, ZeroConcentratedDP
from mechanisms.core.laws import (
    HEIGHT_BITS,
    DiscreteGaussian,
    DiscreteLaplace,
    Law,
    RoundedGaussian,
    RoundedLaplace,
)
from tests.unit.mechanisms.core.known_laws import ALL_LAWS, known_mass, known_tail, laws, named

DIGITS = 200
ODD_CONTEXT = {"precision": 5, "round": gmpy2.RoundUp, "trap_inexact": True, "trap_overflow": True, "emin": -20}


def sizes_of(law: Law) -> list[int]:
    """Steps near 0 and up to eight spreads away."""
    spread = int(law.spread) + 1
    return sorted({0, 1, 2, 3, 7, spread // 3, spread, spread + 1, 3 * spread, 8 * spread})


def within(value: mpmath.mpf, lower: mpfr, upper: mpfr) -> bool:
    return exactly(lower) <= value <= exactly(upper)


def exactly(number: mpfr) -> mpmath.mpf:
    mantissa, exponent = number.as_mantissa_exp()
    return mpmath.ldexp(mpmath.mpf(int(mantissa)), int(exponent))


@pytest.mark.parametrize("law", ALL_LAWS, ids=named)
def test_tails_enclose_those_of_the_definition_and_closely(law: Law) -> None:
    with mpmath.workdps(DIGITS):
        for size in sizes_of(law):
            for outcome in (size, -size):
                truth = known_tail(law, outcome)
                for precision in (64, 128, 200):
                    lower, upper = law.tail(outcome, precision)
                    assert within(truth, lower, upper), (outcome, precision)
                    assert exactly(upper) - exactly(lower) <= truth * mpmath.mpf(2) ** (20 - precision)


@pytest.mark.parametrize("law", ALL_LAWS, ids=named)
@pytest.mark.parametrize("outcome", [10**9, 2**70 + 1, 10**30, 30, 60, 150])
def test_tails_hold_for_huge_outcomes(law: Law, outcome: int) -> None:
    """And for tens of spreads, the small numbers here, where the remainder of Euler and Maclaurin counts."""
    outcome = outcome if outcome >= 10**9 else outcome * (int(law.spread) + 1)
    with mpmath.workdps(DIGITS):
        truth = known_tail(law, outcome)
        for precision in (64, 320):
            lower, upper = law.tail(outcome, precision)
            assert 0 <= lower < upper <= 1
            assert within(truth, lower, upper)
            least, most = law.tail(1 - outcome, precision)
            assert within(1 - truth, least, most)
            assert exactly(most) - exactly(least) <= exactly(upper) - exactly(lower) + mpmath.mpf(2) ** (1 - precision)


@pytest.mark.parametrize("law", laws(Fraction(4)) + laws(Fraction(1000)), ids=named)
def test_no_context_of_the_caller_changes_a_bound(law: Law) -> None:
    def bounds() -> list[Any]:
        tails = [law.tail(outcome, precision) for outcome in (-9, 0, 1, 5, 4000) for precision in (64, 192)]
        return [*tails, law.heights([0, 1, 30]), law.guess(0.3), law.guess(mpq(2, 3)), law.loss(3)]

    expected = bounds()
    with gmpy2.context(**ODD_CONTEXT), np.errstate(all="raise"):
        found = bounds()
    assert found == expected


@pytest.mark.parametrize("law", ALL_LAWS, ids=named)
def test_heights_are_below_the_masses_and_near_them(law: Law) -> None:
    sizes = sizes_of(law)
    with mpmath.workdps(DIGITS):
        for size, height in zip(sizes, law.heights(sizes), strict=True):
            mass = known_mass(law, size) * mpmath.mpf(2) ** HEIGHT_BITS
            assert type(height) is int
            assert 0 <= height <= mass
            assert height >= mass * (1 - mpmath.mpf(10) ** -6) - 2**32


@pytest.mark.parametrize("law", laws(Fraction(1, 4)) + laws(Fraction(4)), ids=named)
def test_laws_are_symmetric_and_log_concave(law: Law) -> None:
    with mpmath.workdps(DIGITS):
        masses = [exactly(law.tail(k, 400).lower) - exactly(law.tail(k + 1, 400).lower) for k in range(-12, 13)]
        for size in range(13):
            assert mpmath.almosteq(masses[12 - size], masses[12 + size], rel_eps=mpmath.mpf(2) ** -80)
        for near, middle, far in zip(masses[12:], masses[13:], masses[14:], strict=False):
            assert near * far <= middle**2 * (1 + mpmath.mpf(2) ** -60)


@pytest.mark.parametrize("law", ALL_LAWS, ids=named)
def test_guesses_are_right_or_a_step_beside(law: Law) -> None:
    for uniform in (0.001, 0.2, 0.4999, 0.5001, 0.77, 0.9999):
        outcome = law.guess(uniform)
        slack = 1 + abs(outcome) >> 40  # binary64 knows outcomes of 2^45 steps to some hundred
        assert law.tail(outcome - 1 - slack, 128).upper > uniform > law.tail(outcome + 2 + slack, 128).lower
        assert law.guess(mpq(uniform)) == outcome


@pytest.mark.parametrize("steps", [1, 2, 5])
@pytest.mark.parametrize(
    "law",
    [
        DiscreteLaplace(Fraction(3, 2)),
        RoundedLaplace(Fraction(3, 2)),
        RoundedLaplace(Fraction(1, 3)),
    ],
    ids=named,
)
def test_pure_losses_bound_every_ratio_and_are_reached(law: Law, steps: int) -> None:
    claim = law.loss(steps)
    assert type(claim) is ApproximateDP
    assert type(claim.epsilon) is Fraction
    assert not claim.delta
    assert type(claim.epsilon.numerator) is int
    with mpmath.workdps(DIGITS):
        worst = max(abs(mpmath.log(known_mass(law, k) / known_mass(law, k - steps))) for k in range(-20, 21))
        epsilon = mpmath.mpf(claim.epsilon.numerator) / claim.epsilon.denominator
        assert worst <= epsilon * (1 + mpmath.mpf(10) ** -100)
        assert worst >= epsilon - mpmath.mpf(2) ** -64


@pytest.mark.parametrize("law", [DiscreteGaussian(Fraction(9, 4)), RoundedGaussian(Fraction(9, 4))], ids=named)
def test_concentrated_losses_bound_the_divergence_of_every_order(law: Law) -> None:
    for steps in (1, 3):
        assert law.loss(steps) == ZeroConcentratedDP(Fraction(steps**2 * 2, 9))
        with mpmath.workdps(40):
            for order in (mpmath.mpf(3) / 2, mpmath.mpf(2), mpmath.mpf(4)):
                sums = mpmath.fsum(
                    known_mass(law, k - steps) ** order * known_mass(law, k) ** (1 - order) for k in range(-16, 29)
                )
                bound = order * steps**2 * 2 / mpmath.mpf(9)
                assert mpmath.log(sums) / (order - 1) <= bound * (1 + mpmath.mpf(10) ** -12)

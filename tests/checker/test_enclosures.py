"""The checker's enclosures hold the truth, which mpmath knows to many more digits, and are as narrow as they say."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker.enclosures import elementary as enclosures

BITS = st.integers(4, 300)
MODERATE = st.fractions(-150, 150, max_denominator=10**9)


def require_enclosed(found: enclosures.Enclosure, truth: mpmath.mpf, *, width: mpmath.mpf) -> None:
    low, high = (mpmath.mpf(end.numerator) / end.denominator for end in found)
    assert low <= truth <= high
    assert high - low <= width


@pytest.fixture(autouse=True)
def _many_digits() -> object:
    with mpmath.workprec(1200):
        yield


def real(number: Fraction) -> mpmath.mpf:
    return mpmath.mpf(number.numerator) / number.denominator


@given(MODERATE, BITS)
def test_exp(x: Fraction, bits: int) -> None:
    with mpmath.workprec(1200):
        truth = mpmath.exp(real(x))
        require_enclosed(enclosures.exp(x, bits), truth, width=truth * mpmath.mpf(2) ** (1 - bits))


@given(st.fractions(Fraction(1, 10**12), 10**12, max_denominator=10**12), BITS)
def test_ln(x: Fraction, bits: int) -> None:
    with mpmath.workprec(1200):
        require_enclosed(enclosures.ln(x, bits), mpmath.log(real(x)), width=mpmath.mpf(2) ** (1 - bits))


@given(st.fractions(0, 80, max_denominator=10**6), BITS)
def test_normal_tail(half_square: Fraction, bits: int) -> None:
    with mpmath.workprec(1200):
        truth = mpmath.erfc(mpmath.sqrt(real(half_square))) / 2
        found = enclosures.normal_tail(half_square, bits)
        require_enclosed(found, truth, width=truth * mpmath.mpf(2) ** (1 - bits))


@given(st.fractions(0, 10**12, max_denominator=10**12), BITS)
def test_sqrt(x: Fraction, bits: int) -> None:
    with mpmath.workprec(1200):
        require_enclosed(enclosures.sqrt(x, bits), mpmath.sqrt(real(x)), width=mpmath.mpf(2) ** -bits)


@given(BITS)
def test_pi(bits: int) -> None:
    with mpmath.workprec(1200):
        require_enclosed(enclosures.pi(bits), mpmath.pi, width=mpmath.mpf(2) ** -bits)


@pytest.mark.parametrize("x", [Fraction(0), Fraction(1), Fraction(-1), Fraction(1, 10**40), Fraction(-1, 10**40)])
def test_exp_at_edges(x: Fraction) -> None:
    truth = mpmath.exp(real(x))
    require_enclosed(enclosures.exp(x, 64), truth, width=truth * mpmath.mpf(2) ** -63)


@pytest.mark.parametrize(
    "x", [Fraction(1), Fraction(1, 2), Fraction(2) ** 900, Fraction(1, 2**900), 1 + Fraction(1, 10**30)]
)
def test_ln_at_edges(x: Fraction) -> None:
    require_enclosed(enclosures.ln(x, 64), mpmath.log(real(x)), width=mpmath.mpf(2) ** -63)


def test_the_logarithm_of_nothing_is_an_error() -> None:
    for x in (Fraction(0), Fraction(-1)):
        with pytest.raises(ValueError, match="above 0"):
            enclosures.ln(x, 64)

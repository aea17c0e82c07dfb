"""The magnitude of discrete Laplace noise from one uniform: its law, its irrational offset, and numbers near edges."""

from __future__ import annotations

import math
from fractions import Fraction

import gmpy2
import pytest
from checker.kinds.discrete_magnitudes import offset
from hypothesis import given, settings
from hypothesis import strategies as st
from mechanisms.laplace.discrete_magnitudes import (
    OFFSET_BITS,
    decide_magnitude,
    enclose_offset,
    floor_with_offset,
)

from mechanisms.randomness import RandomBits
from tests.mechanisms.enumeration import law_of

SCALES = [Fraction(1, 100), Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(10**6, 7), Fraction(2**46)]


def true_offset(scale: Fraction) -> gmpy2.mpfr:
    """½ − s·ln cosh(1/2s), to some 300 bits."""
    with gmpy2.context(precision=500):
        exact = gmpy2.mpfr(gmpy2.mpq(scale))
        return gmpy2.mpfr(1) / 2 - exact * gmpy2.log(gmpy2.cosh(1 / (2 * exact)))


def magnitude(scale: Fraction, bits: RandomBits) -> int:
    return decide_magnitude(scale, enclose_offset(scale, OFFSET_BITS), 0, 0, bits)


@pytest.mark.parametrize("scale", SCALES[:4])
def test_magnitudes_have_the_law_of_those_of_discrete_laplace_noise(scale: Fraction) -> None:
    """P[|N| ≥ k] = 2q^k/(1 + q) for k ≥ 1, so that 0 has (1 − q)/(1 + q) and k has 2(1 − q)q^k/(1 + q)."""
    found = law_of(magnitude, scale, smallest=Fraction(1, 2**16))
    missing = float(1 - sum(found.values()))
    assert 0 <= missing < 0.002
    q = math.exp(-1 / scale)
    for k in range(8):
        ideal = (1 - q) / (1 + q) * q**k * (2 if k else 1)
        mass = float(found.get(k, 0))
        assert mass - 1e-12 <= ideal <= mass + missing + 1e-12


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("precision", [64, 128, 256])
def test_the_offset_is_enclosed_by_the_mechanism_and_by_the_checker(scale: Fraction, precision: int) -> None:
    true = gmpy2.mpq(true_offset(scale))
    below, above = enclose_offset(scale, precision)
    assert below < true < above
    assert above - below <= 16 * gmpy2.mpq(scale) / 2**precision
    low, high = offset(scale, precision)
    assert low < true < high
    assert high - low <= Fraction(1, 2**precision)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.sampled_from(SCALES), st.integers(-(10**12), 10**12), st.integers(1, 250), st.booleans())
def test_the_floor_of_a_number_with_the_offset_is_right_however_near_it_is_to_an_integer(
    scale: Fraction, whole: int, bits: int, above: bool
) -> None:
    true = gmpy2.mpq(true_offset(scale))
    beside = gmpy2.mpq(1, 2**bits)
    number = whole - true + (beside if above else -beside)
    assert floor_with_offset(number, scale, enclose_offset(scale, OFFSET_BITS)) == math.floor(number + true)


def test_a_number_so_near_to_an_integer_that_128_bits_leave_it_open_takes_a_finer_enclosure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def enclosing(scale: Fraction, precision: int) -> object:
        asked.append(precision)
        return enclose_offset(scale, precision)

    monkeypatch.setattr("mechanisms.laplace.discrete_magnitudes.enclose_offset", enclosing)
    number = 5 - gmpy2.mpq(true_offset(Fraction(3))) + gmpy2.mpq(1, 2**200)
    assert floor_with_offset(number, Fraction(3), enclose_offset(Fraction(3), OFFSET_BITS)) == 5
    assert asked == [256]

"""⌊a + b·E⌋ agrees with itself however it is found, and with MPFR."""

from __future__ import annotations

import math
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacklab.random_bits import SeededBits, TapedBits, TapeEnded
from mechanisms.laplace.exponential_variates import decide_floor, floor_of_exponential, minus_log
from tests.mechanisms.enumeration import law_of

PRECISE = gmpy2.context(precision=400)
RATIONALS = st.fractions(min_value=Fraction(1, 50), max_value=2**46, max_denominator=1000)
SMALL = st.integers(-(2**20), 2**20).map(lambda i: Fraction(i, 2**70))
OFFSETS = st.fractions(min_value=0, max_value=Fraction(1999, 1000), max_denominator=1000) | SMALL.map(lambda x: 1 + x)


def real_value(offset: Fraction, slope: Fraction, numerator: int, length: int) -> gmpy2.mpfr:
    """Evaluate offset − slope·log(numerator/2^length) to 400 bits."""
    uniform = PRECISE.div(gmpy2.mpz(numerator), gmpy2.mpz(1) << length)
    return PRECISE.sub(gmpy2.mpq(offset), PRECISE.mul(gmpy2.mpq(slope), PRECISE.log(uniform)))


@settings(derandomize=True, deadline=None, max_examples=400)
@given(st.integers(min_value=1, max_value=2**100), st.integers(min_value=100, max_value=120))
def test_the_logarithm_is_enclosed_and_by_no_more_than_64_further_bits(numerator: int, length: int) -> None:
    below, above = (minus_log(numerator, length, upward=upward) for upward in (False, True))
    exact = real_value(Fraction(0), Fraction(1), numerator, length)
    assert gmpy2.mpq(below) <= gmpy2.mpq(exact) <= gmpy2.mpq(above)
    assert below < above or numerator == 2**length
    assert above - below <= above / 2**length


@pytest.mark.parametrize("slope", [Fraction(3, 7), Fraction(-5), Fraction(2**20), Fraction(-(2**50))])
def test_the_reference_gives_the_floor_of_the_real_number(slope: Fraction) -> None:
    """U is within 2^−200 of the 200 bits on the tape, and no floor turns on that in these draws."""
    rng = SeededBits(np.random.default_rng(8))
    for _ in range(300):
        value = rng.take(200)
        expected = math.floor(real_value(Fraction(1, 3), slope, 2 * value + 1, 201))
        assert floor_of_exponential(Fraction(1, 3), slope, TapedBits(value, 200)) == expected


def test_the_reference_asks_for_more_bits_only_when_the_known_ones_leave_it_open() -> None:
    """U in [1/2, 1] leaves ⌊E⌋ = 0 alone, U in [0, 1/2] leaves it open, and so does U in [1/4, 1/2] (e^−1 = 0.37)."""
    nothing = TapedBits(0, 0)
    assert decide_floor(Fraction(0), Fraction(1), 1, 1, nothing) == 0
    for leading, length in ((0, 1), (1, 2)):
        with pytest.raises(TapeEnded):
            decide_floor(Fraction(0), Fraction(1), leading, length, nothing)


def test_a_uniform_of_nothing_but_zeros_is_refined_until_a_one_comes() -> None:
    tape = TapedBits(1 << 8, 400)
    assert floor_of_exponential(Fraction(0), Fraction(1), tape) == math.floor(391 * math.log(2))
    assert tape.left < 16


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1), Fraction(5, 3)])
def test_the_law_of_the_floor_is_geometric(scale: Fraction) -> None:
    """Every run of up to 24 bits: what is missing is at most a tape or two for each outcome."""
    found = law_of(floor_of_exponential, Fraction(0), scale, smallest=Fraction(1, 2**16))
    missing = float(1 - sum(found.values()))
    assert missing < 0.01
    for outcome, mass in found.items():
        ideal = math.exp(-outcome / scale) - math.exp(-(outcome + 1) / scale)
        assert float(mass) <= ideal + 1e-12
        assert ideal <= float(mass) + missing + 1e-12

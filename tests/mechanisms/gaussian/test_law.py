"""The enclosures of Gaussian tails, judged by plain sums, by series and by a theta function of their own precision."""

from __future__ import annotations

import math
from fractions import Fraction

import gmpy2
import mpmath
import pytest
from gmpy2 import mpfr, mpq
from hypothesis import given, settings
from hypothesis import strategies as st

from mechanisms.gaussian.law import (
    _EVEN_BERNOULLI_NUMBERS,
    SUMMED_UP_TO,
    Enclosure,
    discrete_tail,
    normal_tail,
    tail_sum,
)

TRUTH = gmpy2.context(precision=400)


def relative_width(enclosure: Enclosure) -> float:
    return float((enclosure.upper - enclosure.lower) / enclosure.upper)


def normal_tail_by_series(z: Fraction) -> mpfr:
    """Q(z) = ½ − φ(z)·(z + z³/3 + z⁵/15 + …), a series that uses no error function."""
    with TRUTH:
        term = total = mpfr(mpq(z))
        for odd in range(3, 2000, 2):
            term *= mpfr(mpq(z * z)) / odd
            total += term
        density = gmpy2.exp(-mpfr(mpq(z * z)) / 2) / gmpy2.sqrt(2 * gmpy2.const_pi())
        return mpfr("0.5") - total * density


def plain_tail_sum(threshold: int, variance: mpq) -> mpfr:
    with TRUTH:
        reach = max(threshold, 0) + 40 * math.isqrt(int(variance) + 1) + 40
        return sum((gmpy2.exp(mpfr(-k * k / (2 * variance))) for k in range(threshold, reach)), mpfr(0))


@pytest.mark.parametrize(
    "z", [Fraction(0), Fraction(1, 3), Fraction(-5, 2), Fraction(6), Fraction(-9), Fraction(1, 2**70)]
)
@pytest.mark.parametrize("precision", [80, 200])
def test_normal_tails_enclose_the_series(z: Fraction, precision: int) -> None:
    sigma = mpq(7, 3)
    tail = normal_tail(mpq(z) * sigma, sigma**2, precision)
    assert tail.lower <= normal_tail_by_series(z) <= tail.upper
    assert relative_width(tail) < 2.0 ** (10 - precision)


@pytest.mark.ci
@settings(derandomize=True, deadline=None, max_examples=200)
@given(
    sigma=st.fractions(min_value=Fraction(1, 4), max_value=60, max_denominator=50),
    z=st.fractions(min_value=0, max_value=8, max_denominator=20),
)
def test_tail_sums_enclose_the_plain_sum_on_both_sides_of_the_change_of_method(sigma: Fraction, z: Fraction) -> None:
    threshold = max(1, math.floor(sigma * z))
    variance = mpq(sigma) ** 2
    tail = tail_sum(threshold, variance, 96)
    assert tail.lower <= plain_tail_sum(threshold, variance) <= tail.upper
    assert relative_width(tail) < 2.0**-80


@pytest.mark.parametrize("excess", [mpq(0), mpq(1, 10**6)])
@pytest.mark.parametrize("threshold", [1, 40, 700])
@pytest.mark.parametrize("precision", [96, 300])
def test_the_two_methods_meet_at_the_variance_where_they_change(excess: mpq, threshold: int, precision: int) -> None:
    tail = tail_sum(threshold, SUMMED_UP_TO + excess, precision)
    assert tail.lower <= plain_tail_sum(threshold, SUMMED_UP_TO + excess) <= tail.upper
    assert relative_width(tail) < 2.0 ** (20 - precision)


@pytest.mark.parametrize(("sigma", "z"), [(33, 50), (33, 80), (33, 200), (33, 1000), (100, 60), (200, 45)])
def test_tail_sums_far_out_are_enclosed_although_the_formula_diverges_there(sigma: int, z: int) -> None:
    tail = tail_sum(sigma * z, mpq(sigma**2), 96)
    assert tail.lower <= plain_tail_sum(sigma * z, mpq(sigma**2)) <= tail.upper
    assert relative_width(tail) < (1.0 if z > 60 else 2.0**-80)


def test_a_tail_sum_so_far_out_that_its_remainder_overflows_is_enclosed_by_the_integral_and_its_first_term() -> None:
    threshold, variance = 10**7, mpq(100**2)
    tail = tail_sum(threshold, variance, 96)
    with TRUTH:
        first = gmpy2.exp(mpfr(-mpq(threshold**2) / (2 * variance)))
        second = gmpy2.exp(mpfr(-mpq((threshold + 1) ** 2) / (2 * variance)))
    assert tail.lower <= first + second
    assert first <= tail.upper


@pytest.mark.parametrize("sigma", [mpq(100), mpq(2**30), mpq(2**60) + mpq(1, 3)])
def test_the_whole_sum_for_large_sigma_is_the_integral_but_for_a_vanishing_theta_term(sigma: mpq) -> None:
    """Poisson: Σ g = σ√(2π)·(1 + 2·e^{−2π²σ²} + …), and 2·e^{−2π²·100²} is below 2^−280000."""
    half = tail_sum(1, sigma**2, 256)
    with TRUTH:
        integral = mpfr(sigma) * gmpy2.sqrt(2 * gmpy2.const_pi())
        assert 1 + 2 * half.lower <= integral <= 1 + 2 * half.upper
    assert relative_width(half) < 2.0**-240


@pytest.mark.parametrize("sigma", [mpq(1, 2), mpq(3), mpq(100)])
def test_discrete_tails_add_up_to_one_over_a_threshold_and_its_mirror(sigma: mpq) -> None:
    sums = {threshold: plain_tail_sum(threshold, sigma**2) for threshold in (-250, -3, 0, 1, 2, 11, 130)}
    for threshold, expected in sums.items():
        upper, lower = (discrete_tail(t, sigma**2, 120) for t in (threshold, 1 - threshold))
        with TRUTH:
            assert upper.lower + lower.lower <= 1 <= upper.upper + lower.upper
            probability, rounding_error = expected / (1 + 2 * sums[1]), mpfr(2) ** -380
            assert upper.lower - rounding_error <= probability <= upper.upper + rounding_error


def test_the_bernoulli_numbers_are_those_of_mpmath() -> None:
    assert len(_EVEN_BERNOULLI_NUMBERS) == 200
    for half, number in enumerate(_EVEN_BERNOULLI_NUMBERS, start=1):
        assert (number.numerator, number.denominator) == mpmath.bernfrac(2 * half)

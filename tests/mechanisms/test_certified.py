"""The array functions stay within their proven bounds of what MPFR says, at worst cases and everywhere else."""

from __future__ import annotations

import math
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mechanisms import certified

PRECISE = gmpy2.context(precision=160)


def worst_relative_error(values: NDArray[np.float64], arguments: NDArray[np.float64], reference) -> float:
    """The largest |value/reference(argument) − 1|, where the reference is 0 only if the value is."""
    worst = 0.0
    for value, argument in zip(values.tolist(), arguments.tolist(), strict=True):
        exact = reference(gmpy2.mpfr(argument, 53))
        if exact == 0:
            assert value == 0
        else:
            worst = max(worst, abs(float(PRECISE.div(PRECISE.sub(gmpy2.mpfr(value, 53), exact), exact))))
    return worst


def sine_of_turns(turns: gmpy2.mpfr) -> gmpy2.mpfr:
    return PRECISE.sin(PRECISE.mul(turns, PRECISE.mul(2, PRECISE.const_pi())))


def log_arguments(count: int) -> NDArray[np.float64]:
    """Uniforms as the mechanisms make them, numbers about 1 and about the seam at √½, and all exponents."""
    rng = np.random.default_rng(20120)
    uniforms = (rng.integers(0, 2**63, size=count // 2).astype(np.float64) + 1) * 2.0**-63
    steps = rng.integers(-(2**40), 2**40, size=count // 8)
    near_one = (np.float64(1).view(np.int64) + steps).view(np.float64)
    near_seam = (np.float64(math.sqrt(0.5)).view(np.int64) + steps).view(np.float64)
    anywhere = np.ldexp(1 + rng.random(count // 4), rng.integers(-1022, 1023, size=count // 4))
    return np.concatenate([uniforms, near_one, near_seam, anywhere])


def turn_arguments(count: int) -> NDArray[np.float64]:
    """Angles spread evenly, spread over the exponents, and about a quarter turn."""
    rng = np.random.default_rng(20121)
    even = rng.uniform(-0.25, 0.25, size=count // 2)
    tiny = np.ldexp(rng.uniform(-1, 1, size=count // 4), rng.integers(-498, -2, size=count // 4))
    edge = 0.25 - rng.integers(0, 2**20, size=count // 4) * 2.0**-54
    return np.concatenate([even, tiny, edge])


@pytest.mark.parametrize("count", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_the_logarithm_stays_within_its_bound(count: int) -> None:
    x = log_arguments(count)
    assert worst_relative_error(certified.log(x), x, PRECISE.log) <= certified.LOG_ERROR


@pytest.mark.parametrize("count", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_the_sine_stays_within_its_bound(count: int) -> None:
    turns = turn_arguments(count)
    assert worst_relative_error(certified.sine_of_turns(turns), turns, sine_of_turns) <= certified.SINE_ERROR


def test_powers_of_two_and_their_neighbours_stay_within_the_logarithms_bound() -> None:
    powers = np.ldexp(1.0, np.arange(-1021, 1023))
    x = np.concatenate([powers, np.nextafter(powers, 0), np.nextafter(powers, np.inf)])
    assert worst_relative_error(certified.log(x), x, PRECISE.log) <= certified.LOG_ERROR


@given(st.floats(min_value=2.0**-1022, max_value=2.0**1023, exclude_max=True))
def test_any_logarithm_stays_within_its_bound(x: float) -> None:
    argument = np.array([x])
    assert worst_relative_error(certified.log(argument), argument, PRECISE.log) <= certified.LOG_ERROR


@given(st.floats(min_value=2.0**-500, max_value=0.25), st.sampled_from([-1.0, 1.0]))
def test_any_sine_stays_within_its_bound(modulus: float, sign: float) -> None:
    turns = np.array([sign * modulus])
    assert worst_relative_error(certified.sine_of_turns(turns), turns, sine_of_turns) <= certified.SINE_ERROR


def test_the_logarithm_of_one_and_the_sine_of_zero_are_exact() -> None:
    assert certified.log(np.array([1.0]))[0] == 0
    assert certified.sine_of_turns(np.array([0.0]))[0] == 0


def test_the_bounds_are_of_the_order_of_the_unit_and_not_vacuous() -> None:
    """A bound of 16u is what the filters' rates are planned with; none can be below one rounding, u."""
    for bound in (certified.LOG_ERROR, certified.SINE_ERROR):
        assert 2.0**-53 < bound < 2.0**-49


def test_the_horner_bound_covers_an_evaluation_in_rationals() -> None:
    """The same polynomial in exact arithmetic: at every point the error of the floating-point rule is covered."""
    coefficients = tuple(float(Fraction(1, 3 * k + 1)) for k in range(6))
    x = np.linspace(0, 0.25, 2001)
    values = certified._horner(coefficients, x)
    bound = certified._horner_error(coefficients, Fraction(1, 4))
    errors = [
        abs(Fraction(value) - sum(Fraction(1, 3 * k + 1) * Fraction(point) ** k for k in range(6)))
        for value, point in zip(values.tolist(), x.tolist(), strict=True)
    ]
    assert 0 < max(errors) <= bound


def test_rounding_up_never_goes_below() -> None:
    assert Fraction(certified.round_up(Fraction(1, 3))) > Fraction(1, 3)
    assert Fraction(certified.round_up(Fraction(2, 3))) > Fraction(2, 3)
    assert certified.round_up(Fraction(1, 4)) == 0.25

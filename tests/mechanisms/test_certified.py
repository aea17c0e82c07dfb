"""The array logarithm stays within its proven bound of what MPFR says, at worst cases and everywhere else."""

from __future__ import annotations

import math
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mechanisms import certified

PRECISE = gmpy2.context(precision=160)


def worst_relative_error(x: NDArray[np.float64]) -> float:
    """The largest |log(x)/ln x − 1| as a share of the bound; where ln x is 0 the value must be."""
    worst = 0.0
    for value, argument in zip(certified.log(x).tolist(), x.tolist(), strict=True):
        exact = PRECISE.log(gmpy2.mpfr(argument, 53))
        if exact == 0:
            assert value == 0
        else:
            worst = max(worst, abs(float(PRECISE.div(PRECISE.sub(gmpy2.mpfr(value, 53), exact), exact))))
    return worst / certified.LOG_ERROR


def log_arguments(count: int) -> NDArray[np.float64]:
    """Uniforms as the mechanisms make them, numbers about 1 and about the seam at √½, and all exponents."""
    rng = np.random.default_rng(20120)
    uniforms = (rng.integers(0, 2**63, size=count // 2).astype(np.float64) + 1) * 2.0**-63
    steps = rng.integers(-(2**40), 2**40, size=count // 8) >> rng.integers(0, 40, size=count // 8)
    near_one = (np.float64(1).view(np.int64) + steps).view(np.float64)
    near_seam = (np.float64(math.sqrt(0.5)).view(np.int64) + steps).view(np.float64)
    anywhere = np.ldexp(1 + rng.random(count // 4), rng.integers(-1022, 1023, size=count // 4))
    return np.concatenate([uniforms, near_one, near_seam, anywhere])


@pytest.mark.parametrize("count", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_the_logarithm_stays_within_its_bound(count: int) -> None:
    assert worst_relative_error(log_arguments(count)) <= 1


def test_powers_of_two_and_their_neighbours_stay_within_the_logarithms_bound() -> None:
    powers = np.ldexp(1.0, np.arange(-1021, 1023))
    x = np.concatenate([powers, np.nextafter(powers, 0), np.nextafter(powers, np.inf)])
    assert worst_relative_error(x) <= 1


@settings(derandomize=True, deadline=None, max_examples=400)
@given(st.floats(min_value=2.0**-1022, max_value=2.0**1023, exclude_max=True))
def test_any_logarithm_stays_within_its_bound(x: float) -> None:
    assert worst_relative_error(np.array([x])) <= 1


def test_the_logarithm_of_one_is_exact() -> None:
    assert certified.log(np.array([1.0]))[0] == 0


def test_the_bound_is_of_the_order_of_the_unit_and_not_vacuous() -> None:
    """A bound of 16u is what the filters' rates are planned with; none can be below one rounding, u."""
    assert 2.0**-53 < certified.LOG_ERROR < 2.0**-49


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

"""Logarithms and exponentials from above: never below the truth, and above it by next to nothing."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from gmpy2 import mpq

from mechanisms.core.rounding import exp_above, log_above, rounding


@pytest.mark.parametrize("number", [Fraction(1, 3), Fraction(7), Fraction(10**9 + 7, 3), 1 + Fraction(1, 10**20)])
def test_bounds_from_above_are_just_above_the_truth(number: Fraction) -> None:
    with mpmath.workdps(80):
        real = mpmath.mpf(number.numerator) / number.denominator
        small = min(number, Fraction(40))
        for bound, truth in (
            (log_above(number), mpmath.log(real)),
            (exp_above(small), mpmath.exp(mpmath.mpf(small.numerator) / small.denominator)),
            (exp_above(-small), mpmath.exp(-mpmath.mpf(small.numerator) / small.denominator)),
        ):
            excess = mpmath.mpf(bound.numerator) / bound.denominator - truth
            assert 0 <= excess <= abs(truth) * mpmath.mpf(2) ** -120 + mpmath.mpf(2) ** -127


def test_contexts_round_down_and_up_with_the_precision_that_is_asked_for() -> None:
    down, up = rounding(10)
    assert (down.div(1, 3), up.div(1, 3)) == (mpq(341, 1024), mpq(683, 2048))
    assert down.precision == up.precision == 10

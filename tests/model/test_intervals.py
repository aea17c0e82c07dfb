"""Intervals hold the number that rational arithmetic, or many more digits, gives."""

import math
from fractions import Fraction

import gmpy2
import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacklab.model.intervals import Interval

FINITE = st.floats(allow_nan=False, allow_infinity=False, width=64)
SMALL = st.floats(-300, 300)


def holds(interval: Interval, exact: Fraction) -> bool:
    return bool(gmpy2.mpq(interval.lower) <= exact <= gmpy2.mpq(interval.upper))


def as_mpf(end: object) -> mpmath.mpf:
    exact = gmpy2.mpq(end)
    return mpmath.mpf(int(exact.numerator)) / mpmath.mpf(int(exact.denominator))


@given(FINITE, FINITE)
def test_sums_differences_and_products_hold_the_rational_result(a: float, b: float) -> None:
    one, other, x, y = Interval.of(a), Interval.of(b), Fraction(a), Fraction(b)
    assert holds(one + other, x + y)
    assert holds(one - other, x - y)
    assert holds(one * other, x * y)
    assert holds(-one, -x)


@given(FINITE, FINITE.filter(bool))
def test_quotients_hold_the_rational_result(a: float, b: float) -> None:
    assert holds(Interval.of(a) / Interval.of(b), Fraction(a) / Fraction(b))


@given(st.fractions(-10, 10), st.fractions(-10, 10), st.fractions(0, 5), st.fractions(0, 5))
def test_an_operation_on_wide_intervals_holds_the_results_of_all_their_numbers(
    a: Fraction, b: Fraction, u: Fraction, v: Fraction
) -> None:
    one, other = Interval.hull(a, a + u), Interval.hull(b, b + v)
    for x in (a, a + u / 2, a + u):
        for y in (b, b + v / 3, b + v):
            assert holds(one * other, x * y)
            assert holds(one - other, x - y)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (Interval.exp, mpmath.exp),
        (lambda x: (x * x + 2).log(), lambda x: mpmath.log(x * x + 2)),
        (lambda x: (x * x).sqrt(), lambda x: mpmath.fabs(x)),
        (Interval.normal_tail, lambda x: mpmath.erfc(x / mpmath.sqrt(2)) / 2),
        (lambda x: (x * x + 1).power(0.3), lambda x: (x * x + 1) ** mpmath.mpf(0.3)),
    ],
    ids=["exp", "log", "sqrt", "normal tail", "power"],
)
@given(x=SMALL)
def test_functions_agree_with_another_library_at_400_bits(ours: object, theirs: object, x: float) -> None:
    enclosed = ours(Interval.of(x))
    with mpmath.workprec(400):
        truth = theirs(mpmath.mpf(x))
        error = abs(truth) * mpmath.mpf(2) ** -380
        lower, upper = map(as_mpf, (enclosed.lower, enclosed.upper))
        assert lower <= truth + error
        assert upper >= truth - error
        assert upper - lower <= abs(truth) * mpmath.mpf(2) ** -160


def test_a_callers_context_changes_nothing() -> None:
    expected = (Interval.of(Fraction(1, 3)) * 7 + 1).exp()
    with gmpy2.context(precision=2, emin=-3, emax=3, round=gmpy2.RoundUp):
        assert (Interval.of(Fraction(1, 3)) * 7 + 1).exp() == expected


def test_doubles_are_rounded_outwards() -> None:
    third = Interval.of(Fraction(1, 3))
    assert Fraction(third.below()) < Fraction(1, 3) < Fraction(third.above())
    assert math.nextafter(third.below(), 1) == third.above()
    assert Interval.of(0.25).below() == Interval.of(0.25).above() == 0.25
    assert Interval.of(800.0).exp().above() == math.inf
    assert Interval.of(-800.0).exp().below() == 0.0


def test_what_is_not_defined_is_refused() -> None:
    with pytest.raises(ZeroDivisionError, match="may be 0"):
        Interval.of(1) / Interval.hull(-1, 1)
    with pytest.raises(ValueError, match="no logarithm"):
        Interval.of(-1).log()
    with pytest.raises(ValueError, match="no square root"):
        Interval.of(-1).sqrt()
    with pytest.raises(ValueError, match="NaN"):
        Interval.of(math.nan)

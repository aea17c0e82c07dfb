"""The base-2 parameter, judged by MPFR at 500 bits."""

from __future__ import annotations

import math
from fractions import Fraction

import gmpy2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mechanisms.exponential.base2.eta import BaseTwoEta


def loss(x: int, y: int, z: int, monotone: bool) -> gmpy2.mpfr:
    """−2z·ln(x/2^y), or half of it, at 500 bits."""
    with gmpy2.context(precision=500):
        return -(1 if monotone else 2) * z * (gmpy2.log(gmpy2.mpfr(x)) - y * gmpy2.const_log2())


@given(y=st.integers(1, 80), z=st.integers(1, 50), data=st.data())
def test_epsilon_is_enclosed_by_two_doubles_at_most_three_ulps_apart(y: int, z: int, data: st.DataObject) -> None:
    eta = BaseTwoEta(data.draw(st.integers(1, 2**y - 1)), y, z)
    for monotone in (False, True):
        lower, upper = eta.epsilon(monotone=monotone)
        truth = loss(eta.x, y, z, monotone)
        assert lower <= truth <= upper
        assert upper <= math.nextafter(math.nextafter(math.nextafter(float(lower), math.inf), math.inf), math.inf)


@given(
    epsilon=st.one_of(st.floats(0.01, 60), st.fractions(Fraction(1, 100), 60), st.integers(1, 60)),
    y=st.integers(9, 60),
    monotone=st.booleans(),
)
def test_eta_from_epsilon_is_the_largest_that_loses_no_more(epsilon: float | Fraction, y: int, monotone: bool) -> None:
    eta = BaseTwoEta.from_epsilon(epsilon, y=y, monotone=monotone)
    wished = gmpy2.mpq(Fraction(epsilon))
    assert (eta.y, eta.z) == (y, 1)
    assert loss(eta.x, y, 1, monotone) <= wished
    assert eta.x == 1 or loss(eta.x - 1, y, 1, monotone) > wished
    steps = 1 if monotone else 2
    with gmpy2.context(precision=500):
        assert wished - loss(eta.x, y, 1, monotone) < steps * gmpy2.exp(gmpy2.mpfr(wished) / steps) / 2**y


def test_an_epsilon_below_the_grid_is_refused_and_never_rounded_up() -> None:
    with pytest.raises(ValueError, match="too small for y = 8"):
        BaseTwoEta.from_epsilon(Fraction(1, 1000), y=8)
    assert BaseTwoEta.from_epsilon(Fraction(1, 1000), y=12).epsilon()[1] <= Fraction(1, 1000)

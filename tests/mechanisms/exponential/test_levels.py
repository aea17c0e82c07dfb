"""No level is too high, against logarithms from `decimal` with 80 digits."""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mechanisms.exponential.levels import WIDEST_RANGE, LevelledUtilities

DIGITS = Context(prec=80, Emin=-(10**18) + 1, Emax=10**18 - 1)


NUMBERS = st.floats(*WIDEST_RANGE) | st.fractions(-1000, 1000) | st.integers(-(2**70), 2**70)


@example(0.0, 4.961793839782348e-296, Fraction(1, 2**80))
@given(NUMBERS, NUMBERS, st.fractions(Fraction(1, 2**80), 2**80))
def test_no_level_is_too_high(first: float | Fraction, second: float | Fraction, epsilon: Fraction) -> None:
    """2^−k ≥ e^−x, that is k·ln 2 ≤ x, and y is not low by more than the filter allows.

    Below the normal range y is rounded either way, but its floor is 0.
    """
    if epsilon == 0:
        return
    levelled = LevelledUtilities.of(
        [first, second], epsilon=epsilon, sensitivity=1, monotone=True, utility_range=WIDEST_RANGE
    )
    gap = epsilon * abs(Fraction(first) - Fraction(second))
    worse = 0 if first < second else 1
    exponent = Fraction(levelled.exponent(worse))
    with localcontext(DIGITS):
        binary = gap / Fraction(Decimal(2).ln())
    assert levelled.levels()[worse] == math.floor(exponent)
    assert levelled.levels()[1 - worse] == 0
    assert levelled.levels()[worse] <= binary
    assert exponent <= max(binary, Fraction(1, 2**1021))
    assert exponent == levelled.depth or binary - exponent < Fraction(1, 2**43)


@pytest.mark.parametrize("power", range(1, 60))
def test_levels_hold_at_the_gaps_next_to_a_power_of_two(power: int) -> None:
    """e^−x just above 2^−k: the doubles around k·ln 2, where rounding could lift y over k."""
    with localcontext(DIGITS):
        multiple = Fraction(power * Decimal(2).ln())
    around = float(multiple)
    for gap in (math.nextafter(around, 0.0), around, math.nextafter(around, math.inf)):
        levelled = LevelledUtilities.of([0.0, gap], epsilon=1, sensitivity=1, monotone=True, utility_range=WIDEST_RANGE)
        assert levelled.levels()[0] <= (power if Fraction(gap) >= multiple else power - 1)

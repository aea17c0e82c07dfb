"""Clamping, rescaling and rounding at random, judged by hand-worked values and exact laws."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from gmpy2 import mpq
from hypothesis import given
from hypothesis import strategies as st

from attacklab.random_bits import TapedBits
from mechanisms.exponential.utilities import UtilityScale, round_at_random
from tests.mechanisms.enumeration import law_of


def test_shortfalls_are_distances_from_the_top_of_the_range_in_units_of_the_sensitivity() -> None:
    scale = UtilityScale((-1, 5), Fraction(3, 2))
    assert scale.shortfalls([5, 2, 0.5, -1]) == [0, 2, 3, 4]
    assert scale.spread == 4
    assert UtilityScale((0, 1), Fraction(2, 3)).spread == 2


def test_utilities_outside_the_range_or_not_finite_are_clamped_without_an_error() -> None:
    utilities = [7, 10**400, 1e308, math.inf, -2, Fraction(-(10**400)), -math.inf, math.nan]
    assert UtilityScale((-1, 5), 2).shortfalls(utilities) == [0, 0, 0, 0, 3, 3, 3, 3]


def test_floats_of_every_width_and_integers_of_numpy_count_exactly() -> None:
    assert UtilityScale((0, 1), 1).shortfalls(np.array([0.1])) == [1 - Fraction(0.1)]
    assert UtilityScale((0, 1), 1).shortfalls(np.array([0.1], dtype=np.float32)) == [
        1 - Fraction(float(np.float32(0.1)))
    ]
    assert UtilityScale((0, 9), 1).shortfalls(np.arange(3)) == [9, 8, 7]
    assert UtilityScale((0, 1), 1).shortfalls([1 - 2**-53, 5e-324]) == [mpq(1, 2**53), 1 - mpq(1, 2**1074)]


@given(
    st.lists(st.floats(-10, 10), min_size=1, max_size=4),
    st.lists(st.floats(-1, 1), min_size=4, max_size=4),
    st.sampled_from([Fraction(1, 3), Fraction(1, 2), Fraction(1), Fraction(7, 2)]),
)
def test_neighbouring_utilities_have_shortfalls_at_most_one_apart(
    utilities: list[float], moves: list[float], sensitivity: Fraction
) -> None:
    scale = UtilityScale((-4, 3), sensitivity)
    moved = [Fraction(u) + sensitivity * Fraction(move) for u, move in zip(utilities, moves, strict=False)]
    pairs = zip(scale.shortfalls(utilities), scale.shortfalls(moved), strict=True)
    assert all(abs(first - second) <= 1 for first, second in pairs)


@pytest.mark.parametrize("value", [Fraction(5), Fraction(0), Fraction(7, 4), Fraction(10, 3), Fraction(1, 7)])
def test_rounding_goes_to_the_two_neighbours_and_keeps_the_mean(value: Fraction) -> None:
    law = law_of(partial(round_at_random, mpq(value)))
    assert set(law) <= {math.floor(value), math.ceil(value)}
    assert sum(law.values()) == 1
    assert sum(rounded * share for rounded, share in law.items()) == value


def test_rounding_an_integer_takes_no_bits() -> None:
    assert round_at_random(mpq(3), TapedBits(0, 0)) == 3


@pytest.mark.parametrize(
    ("utility_range", "sensitivity", "named"),
    [
        ((1, 0), 1, "utility_range"),
        ((0, math.inf), 1, "utility_range"),
        ((math.nan, 1), 1, "utility_range"),
        ((0, 1), 0, "sensitivity"),
        ((0, 1), -1.0, "sensitivity"),
        ((0, 1), math.nan, "sensitivity"),
        ((0, 1), math.inf, "sensitivity"),
    ],
)
def test_an_impossible_scale_is_refused(utility_range: tuple[float, float], sensitivity: float, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        UtilityScale(utility_range, sensitivity)


@pytest.mark.parametrize("utilities", [[], np.array([]), np.zeros((2, 2)), np.array(1.0)], ids=repr)
def test_utilities_that_are_not_a_vector_of_outcomes_are_refused(utilities: np.ndarray) -> None:
    with pytest.raises(ValueError, match="utilities must"):
        UtilityScale((0, 1), 1).shortfalls(utilities)


@pytest.mark.parametrize("utility", ["1", object(), 1j], ids=lambda utility: type(utility).__name__)
def test_a_utility_that_is_not_a_number_is_refused(utility: object) -> None:
    with pytest.raises(TypeError, match="utilities must be a float or a rational number, not"):
        UtilityScale((0, 1), 1).shortfalls([utility])  # type: ignore[list-item]


def test_a_missing_utility_counts_as_the_lower_end_of_the_range() -> None:
    assert UtilityScale((-2, 1), 1).shortfalls([None, math.nan, np.ma.masked]) == [3, 3, 3]  # type: ignore[list-item]


def test_a_range_beyond_which_utilities_count_as_infinite_is_refused() -> None:
    with pytest.raises(ValueError, match="utility_range must lie within"):
        UtilityScale((0, 2 ** (2**16) + 1), 1)

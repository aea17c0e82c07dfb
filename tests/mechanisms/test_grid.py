"""The grid is exact in doubles, total on the data side, and honest about sensitivity."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mechanisms.grid import Grid

EXPONENTS = st.integers(min_value=-1022, max_value=970)


@settings(derandomize=True, deadline=None, max_examples=400)
@given(EXPONENTS, st.integers(min_value=-(2**53), max_value=2**53))
def test_every_grid_point_is_a_double_and_its_own_nearest(exponent: int, steps: int) -> None:
    grid = Grid(exponent)
    value = grid.value(steps)
    assert Fraction(value) == steps * Fraction(2) ** exponent
    assert grid.nearest(value) == steps
    assert steps == 0 or abs(value) >= 2.0**-1022


@settings(derandomize=True, deadline=None, max_examples=400)
@given(EXPONENTS, st.floats(allow_nan=True, allow_infinity=True))
def test_no_answer_is_refused_and_none_leaves_the_grid(exponent: int, answer: float) -> None:
    grid = Grid(exponent)
    assert abs(grid.nearest(answer)) <= 2**53


@settings(derandomize=True, deadline=None, max_examples=400)
@given(st.floats(min_value=-1e6, max_value=1e6), st.floats(min_value=2.0**-10, max_value=1e3), st.floats(0, 1))
def test_neighbours_round_to_points_within_the_rounded_sensitivity(
    low: float, sensitivity: float, share: float
) -> None:
    grid = Grid(-4)
    high = Fraction(low) + Fraction(sensitivity) * Fraction(share)
    assert 0 <= grid.nearest(high) - grid.nearest(low) <= grid.rounded_sensitivity(sensitivity)


def test_answers_half_way_between_grid_points_move_no_further_than_their_distance() -> None:
    """Half to even would send 0.5 and 1.5 two steps apart, at a sensitivity of one step."""
    grid = Grid(0)
    assert [grid.nearest(answer) for answer in (-1.5, -0.5, 0.5, 1.5, 2.5)] == [-1, 0, 1, 2, 3]
    assert [round(Fraction(answer)) for answer in (0.5, 1.5)] == [0, 2]


@pytest.mark.parametrize(
    ("sensitivity", "steps"), [(1, 4), (1.01, 5), (Fraction(1, 4), 1), (1e-300, 1), (10**400, 4 * 10**400)]
)
def test_the_rounded_sensitivity_is_the_ceiling_in_steps(sensitivity: float, steps: int) -> None:
    assert Grid(-2).rounded_sensitivity(sensitivity) == steps


def test_answers_beyond_the_grid_count_as_its_ends_and_nan_as_zero() -> None:
    grid = Grid(-3)
    end = 2.0**50
    answers = (math.inf, -math.inf, 1e300, Fraction(-(10**400)), math.nan)
    assert [grid.value(grid.nearest(answer)) for answer in answers] == [end, -end, end, -end, 0]


@pytest.mark.parametrize("exponent", [-1022, -14, 0, 970])
def test_an_array_of_steps_has_the_values_of_its_elements(exponent: int) -> None:
    grid = Grid(exponent)
    steps = [0, 1, -1, 2**53 - 1, -(2**53), 2**53 + 1, 2**62, -(2**63)]
    assert grid.values(np.array(steps)).tolist() == [grid.value(n) for n in steps]
    assert grid.values(np.array(steps)).tolist()[3:5] == [(2**53 - 1) * 2.0**exponent, -(2.0 ** (53 + exponent))]


def test_a_public_point_is_counted_in_steps_or_named_as_none_of_the_grid() -> None:
    grid = Grid(-2)
    assert [grid.steps_of("lower", point) for point in (-1.5, 0, Fraction(9, 4), 2**51)] == [-6, 0, 9, 2**53]
    for point in (0.3, Fraction(1, 8), 2**51 + 1):
        with pytest.raises(
            ValueError, match=r"lower must be a multiple of the grid's step 2\^-2, at most 2\^53 steps from 0"
        ):
            grid.steps_of("lower", point)
    with pytest.raises(ValueError, match="lower must be finite"):
        grid.steps_of("lower", math.inf)
    with pytest.raises(TypeError, match="lower must be a float or a rational"):
        grid.steps_of("lower", "0")  # type: ignore[arg-type]


@pytest.mark.parametrize("exponent", [-1023, 971, 0.5, "0"])
def test_a_grid_that_doubles_cannot_hold_is_refused_at_construction(exponent: object) -> None:
    with pytest.raises(ValueError, match="grid exponent"):
        Grid(exponent)  # type: ignore[arg-type]

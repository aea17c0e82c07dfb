"""The public grid: rounding to it, half a step upward, for every number, and for arrays as for single numbers."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mechanisms.core.grid import GREATEST_EXPONENT, LEAST_EXPONENT, LIMIT, Grid

EXPONENTS = st.sampled_from([-1021, -1000, -52, -20, -2, 0, 1, 8, 300, 970])
EDGES = (
    0.49999999999999994, 0.5, -0.5, -0.49999999999999994, 1.5, -1.5, 4503599627370495.5, 4503599627370497.5, 2.0**53,
    -(2.0**53), 2.0**54, 5e-324, -5e-324, 0.0, -0.0, math.inf, -math.inf, math.nan, 1.7976931348623157e308,
)  # fmt: skip


def by_definition(answer: float | Fraction, exponent: int) -> int:
    """⌊x/2^k + ½⌋, clamped, by rational numbers alone."""
    if answer != answer:
        return 0
    if abs(answer) == math.inf:
        return LIMIT if answer > 0 else -LIMIT
    return min(max(math.floor(Fraction(answer) / Fraction(2) ** exponent + Fraction(1, 2)), -LIMIT), LIMIT)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.lists(st.floats(width=64) | st.sampled_from(EDGES), max_size=20), EXPONENTS)
def test_arrays_lists_and_single_answers_are_rounded_half_upward(answers: list[float], exponent: int) -> None:
    grid = Grid(exponent)
    scaled = [*answers, *(math.ldexp(edge, exponent) for edge in EDGES if abs(edge) < 2**50)]
    expected = [by_definition(answer, exponent) for answer in scaled]
    assert [grid.nearest(answer) for answer in scaled] == expected
    assert grid.nearest_each(scaled).tolist() == expected
    rounded = grid.nearest_each(np.array(scaled))
    assert rounded.dtype == np.int64
    assert rounded.tolist() == expected


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20), EXPONENTS)
def test_integers_are_rounded_exactly_however_large(answers: list[int], exponent: int) -> None:
    grid = Grid(exponent)
    expected = [by_definition(Fraction(answer), exponent) for answer in answers]
    assert grid.nearest_each(np.array(answers, dtype=np.int64)).tolist() == expected
    assert grid.nearest_each([*answers, 10**400]).tolist() == [*expected, LIMIT]
    positive = [2**63 - 1 + abs(answer) for answer in answers]
    assert grid.nearest_each(np.array(positive, dtype=np.uint64)).tolist() == [
        by_definition(Fraction(answer), exponent) for answer in positive
    ]


@pytest.mark.parametrize("size", [2**k + d for k in (8, 15, 16, 20) for d in (-1, 0, 1)])
def test_no_place_of_an_array_is_lost(size: int) -> None:
    places = random.Random(size).sample(range(size), 20)
    answers = np.zeros(size)
    answers[places] = np.arange(1.0, 21.0)
    rounded = Grid(0).nearest_each(answers)
    assert rounded[places].tolist() == list(range(1, 21))
    assert rounded.sum() == 210


@pytest.mark.parametrize("exponent", [LEAST_EXPONENT, -2, 0, 8, GREATEST_EXPONENT])
def test_values_are_exact_doubles_clamped_to_the_grid(exponent: int) -> None:
    grid = Grid(exponent)
    steps = [0, 1, -1, 12345, LIMIT - 1, LIMIT, LIMIT + 1, -LIMIT - 1, 2**62, -(2**62)]
    expected = [Fraction(min(max(step, -LIMIT), LIMIT)) * grid.step for step in steps]
    assert [Fraction(grid.value(step)) for step in steps] == expected
    assert [Fraction(value) for value in grid.values(np.array(steps, dtype=np.int64)).tolist()] == expected
    assert math.copysign(1.0, grid.value(0)) == 1.0

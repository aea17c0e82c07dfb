"""What a query says of its local sensitivity holds for every small pair of neighbours, and at boundary sizes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
import pytest

from mechanisms.core.grid import Grid
from mechanisms.core.local import LocalQuery, Mean
from tests.unit.mechanisms.core.databases import databases, one_more, one_replaced
from tests.unit.mechanisms.core.medians import Median

SIZES = [size + more for size in (2**8, 2**15, 2**16, 2**20) for more in (-1, 0, 1)]


def hold(query: LocalQuery, pairs: Iterable[tuple[Any, Any]]) -> bool:
    """Whether the three inequalities of `LocalQuery` hold for each pair."""
    for pair in pairs:
        for x, y in (pair, pair[::-1]):
            here, there = ([*query.sensitivities(z)] + [query.stability] * 9 for z in (x, y))
            move = abs(query.of(x) - query.of(y))
            if move > min(here[0], query.stability):
                return False
            if any(a > b for a, b in zip(here, there[1:], strict=False)):
                return False
    return True


@pytest.mark.parametrize("width", [1, 2, 3, 4, 6])
def test_what_the_mean_says_of_its_sensitivities_holds_for_all_small_databases(width: int) -> None:
    assert hold(Mean(Fraction(-1), Fraction(width - 1), Grid(0)), one_more(range(-1, width), 4))


def test_records_off_the_grid_and_beyond_the_bounds_move_the_mean_no_further() -> None:
    records = [-math.inf, 0, 5e-324, 0.25, 0.75, Fraction(5, 4), 1.5, 2**70]
    assert hold(Mean(Fraction(0), Fraction(3, 2), Grid(-1)), one_more(records, 4))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_what_the_median_says_of_its_sensitivities_holds_for_all_small_databases(size: int) -> None:
    assert hold(Median(4), one_replaced(range(5), size))


def test_a_sensitivity_that_is_too_small_is_found_out() -> None:
    """The textbook's W/(n + 1), which speaks of adding a record alone, fails where one is removed."""

    class TextbookMean(Mean):
        def sensitivities(self, data: Any) -> Iterable[int]:
            return (math.ceil(Fraction(self.stability, size + 1)) for size in range(len(data), 0, -1))

    assert not hold(TextbookMean(Fraction(0), Fraction(4), Grid(0)), one_more(range(5), 4))


def test_the_mean_is_rounded_half_a_step_upward_and_that_of_nobody_is_the_middle() -> None:
    query = Mean(Fraction(-3), Fraction(2), Grid(0))
    assert query.of([]) == -1
    for x in databases(range(-3, 3), 4)[1:]:
        assert query.of(x) == math.floor(Fraction(sum(x), len(x)) + Fraction(1, 2))


@pytest.mark.parametrize("size", SIZES)
def test_no_record_is_lost_at_any_size(size: int) -> None:
    """Ones before the last record, and it alone at the upper bound, which moves the sum of 2^k records by 2^40."""
    query = Mean(Fraction(0), Fraction(2**40), Grid(0))
    records = np.ones(size)
    records[-1] = 2.0**40
    assert query.of(records) == (2 * (size - 1 + 2**40) + size) // (2 * size)
    sensitivities = iter(query.sensitivities(records))
    assert [next(sensitivities) for _ in range(2)] == [math.ceil(Fraction(2**40, n)) for n in (size, size - 1)]
    assert len([*islice(sensitivities, 1 << 17)]) == min(size - 2, 1 << 17)


def test_lists_and_arrays_of_the_same_numbers_have_one_mean() -> None:
    query = Mean(Fraction(0), Fraction(10), Grid(-3))
    numbers = [3.0625, 9.99, -0.0, 1e300, 5e-324]
    assert query.of(np.array(numbers)) == query.of(numbers) == query.of([Fraction(x) for x in numbers])
    assert query.of([True, np.int8(3), np.float64(2.5), 10**400]) == query.of([1, 3, 2.5, 10])
    assert query.of([math.nan, 4.0]) == query.of([0, 4.0])


@pytest.mark.parametrize("record", ["1", None, 1j, np.float32(1), np.longdouble(1)])
def test_a_record_that_is_not_a_number_is_refused_by_its_type(record: Any) -> None:
    with pytest.raises(TypeError, match="records must be int"):
        Mean(Fraction(0), Fraction(10), Grid(0)).of([1.0, record])


@pytest.mark.parametrize("bounds", [(0, 0), (1, 0), (0.5, 3), (0, math.inf), (math.nan, 1)])
def test_bounds_are_two_points_of_the_grid(bounds: tuple[Any, Any]) -> None:
    with pytest.raises(ValueError, match=r"upper|lower"):
        Mean(*bounds, Grid(0))

"""The exact sum of bounded records, judged in rational arithmetic and by the worst pairs of floating-point sums."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mechanisms.grid import Grid
from mechanisms.summation.bounds import Bounds

WIDEST = Bounds(-(2.0**53), 2.0**53, Grid(0))
RECORDS = st.floats(allow_nan=True, allow_infinity=True)


def rounded_half_even(record: float, bounds: Bounds) -> Fraction:
    clipped = min(max(bounds.lower if math.isnan(record) else record, bounds.lower), bounds.upper)
    return round(Fraction(clipped) / bounds.grid.step) * bounds.grid.step


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.lists(RECORDS, max_size=30), st.integers(-1022, 960))
def test_the_total_is_the_rational_sum_of_the_rounded_records(records: list[float], exponent: int) -> None:
    step = 2.0**exponent
    bounds = Bounds(-3 * step, 1000 * step, Grid(exponent))
    expected = sum((rounded_half_even(record, bounds) for record in records), Fraction(0))
    assert bounds.total(np.array(records)) == expected


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.lists(RECORDS, min_size=1, max_size=12), RECORDS, st.integers(-5, 5), st.integers(1, 10))
def test_no_record_moves_the_total_by_more_than_the_sensitivity(
    records: list[float], other: float, lower: int, width: int
) -> None:
    bounds = Bounds(lower / 4, (lower + width) / 4, Grid(-2))
    whole, without = bounds.total(np.array(records)), bounds.total(np.array(records[1:]))
    changed = bounds.total(np.array([other, *records[1:]]))
    assert abs(whole - without) <= bounds.sensitivity("add-remove")
    assert abs(whole - changed) <= bounds.sensitivity("substitute")


def test_the_worst_floating_point_pair_moves_the_fixed_point_sum_by_exactly_the_sensitivity() -> None:
    bounds = Bounds(1.0, 1 + 2.0**-48, Grid(-52))
    first = np.where(np.arange(1024) < 32, 1 + 2.0**-48, 1.0)
    second = np.where(np.arange(1024) < 33, 1 + 2.0**-48, 1.0)
    assert bounds.total(second) - bounds.total(first) == bounds.sensitivity("substitute") == Fraction(1, 2**48)


def test_the_widest_records_add_up_without_wrapping_around() -> None:
    records = np.full(100_000, 2.0**53)
    assert WIDEST.total(records) == 100_000 * 2**53 > 2**63
    assert WIDEST.total(-records) == -100_000 * 2**53


def test_many_records_add_up_as_they_do_one_by_one() -> None:
    """More records than one chunk holds, at bounds that allow 8192 in a chunk and at bounds that allow 1023."""
    steps = np.random.default_rng(6).integers(-(2**20), 2**20, 20_000)
    for exponent in (-33, 0):
        bounds = Bounds(-(2.0**20), 2.0**20, Grid(exponent))
        assert bounds.total(steps.astype(np.float64)) == int(steps.sum())


def test_records_that_are_not_numbers_count_as_the_lower_bound() -> None:
    assert Bounds(-2, 5, Grid(0)).total(np.array([math.nan, math.inf, -math.inf])) == -2 + 5 - 2


def test_a_total_does_not_depend_on_how_numpy_reports_underflow() -> None:
    with np.errstate(all="raise"):
        assert Bounds(0, 2.0**980, Grid(970)).total(np.array([5e-324, 2.0**975])) == 2**975

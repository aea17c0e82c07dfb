"""The fixed-point sum, judged in rational arithmetic and by the worst pairs of floating-point sums."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mechanisms.grid import Grid
from mechanisms.laplace.exact import discrete_laplace
from mechanisms.laplace.exact_fast import exact_discrete_laplace_fast
from mechanisms.randomness import SeededBits
from mechanisms.summation.bounds import Bounds
from mechanisms.summation.exact import exact_bounded_mean, exact_bounded_sum
from mechanisms.summation.exact_fast import exact_bounded_mean_fast, exact_bounded_sum_fast

WIDEST = Bounds(-(2.0**53), 2.0**53, Grid(0))
RECORDS = st.floats(allow_nan=True, allow_infinity=True)


def bits(seed: int = 0) -> SeededBits:
    return SeededBits(np.random.default_rng(seed))


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


@pytest.mark.parametrize("relation", ["substitute", "add-remove"])
def test_a_mean_below_the_normal_doubles_is_no_event_to_a_caller_whose_numpy_raises(relation) -> None:
    bounds = Bounds(0, 2.0**-1018, Grid(-1022))
    with np.errstate(all="raise"):
        means = exact_bounded_mean_fast(np.full(7, 2.0**-1020), 50, bits(), epsilon=1, bounds=bounds, relation=relation)
    assert np.all((means >= 0) & (means <= 2.0**-1018))


@pytest.mark.parametrize(("relation", "sensitivity"), [("add-remove", 12), ("substitute", 20)])
def test_the_sum_is_the_total_with_discrete_laplace_noise(relation, sensitivity: int) -> None:
    bounds = Bounds(-2, 3, Grid(-2))
    records = np.array([1.0, 2.9, -8.0])
    for seed in range(20):
        output = exact_bounded_sum(records, bits(seed), epsilon=0.5, bounds=bounds, relation=relation)
        noise = discrete_laplace(Fraction(2 * sensitivity), bits(seed))
        assert output * 4 == 4 + 12 - 8 + noise


def test_the_mean_of_a_known_number_divides_the_noisy_sum() -> None:
    bounds = Bounds(0, 100, Grid(-1))
    for seed in range(20):
        output = exact_bounded_mean(np.full(3, 50.0), bits(seed), epsilon=2, bounds=bounds)
        noise = discrete_laplace(Fraction(100), bits(seed))
        assert output == float(min(max(Fraction(300 + noise, 6), Fraction(0)), Fraction(100)))


def test_the_mean_of_an_unknown_number_divides_by_a_noisy_count_with_half_the_budget_each() -> None:
    bounds = Bounds(0, 100, Grid(0))
    for seed in range(20):
        output = exact_bounded_mean(np.full(3, 50.0), bits(seed), epsilon=2, bounds=bounds, relation="add-remove")
        source = bits(seed)
        total = 150 + discrete_laplace(Fraction(100), source)
        count = max(1, 3 + discrete_laplace(Fraction(1), source))
        assert output == float(min(max(Fraction(total, count), Fraction(0)), Fraction(100)))


def laplace_tail(magnitude: float, scale: float) -> float:
    """P[|n| ≥ magnitude] of discrete Laplace noise."""
    return 2 * math.exp(-magnitude / scale) / (1 + math.exp(-1 / scale))


def test_many_sums_at_once_have_the_noise_of_the_declared_scale() -> None:
    """The share of 10⁵ outputs at 25 steps or more strays from its mean by 0.012 with probability 2·e^−28.8 < 1e-12."""
    bounds = Bounds(-2, 3, Grid(-2))
    outputs = exact_bounded_sum_fast(np.full(5, 1.0), 100_000, bits(), epsilon=0.5, bounds=bounds)
    assert np.array_equal(outputs * 4, np.rint(outputs * 4))
    share = np.mean(np.abs(outputs * 4 - 20) >= 25)
    assert share == pytest.approx(laplace_tail(25, 24), abs=0.012)


@pytest.mark.parametrize("relation", ["substitute", "add-remove"])
def test_many_means_at_once_are_those_of_the_noisy_sums_and_counts(relation) -> None:
    bounds = Bounds(0, 100, Grid(-3))
    records = np.full(50, 31.0)
    means = exact_bounded_mean_fast(records, 1000, bits(3), epsilon=1, bounds=bounds, relation=relation)
    source = bits(3)
    budget = Fraction(1) if relation == "substitute" else Fraction(1, 2)
    sums = exact_bounded_sum_fast(records, 1000, source, epsilon=budget, bounds=bounds, relation=relation)
    counts = np.full(1000, 50.0)
    if relation == "add-remove":
        counts = np.maximum(exact_discrete_laplace_fast(50, 1000, source, epsilon=budget, grid=Grid(0)), 1)
    expected = [
        min(max(Fraction(s) / Fraction(n), 0), 100) for s, n in zip(sums.tolist(), counts.tolist(), strict=True)
    ]
    assert means.tolist() == [float(mean) for mean in expected]


def test_an_unknown_number_of_records_may_be_zero() -> None:
    output = exact_bounded_mean(np.empty(0), bits(), epsilon=1, bounds=Bounds(3, 5, Grid(0)), relation="add-remove")
    assert 3 <= output <= 5


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: Bounds(1, 1, Grid(0)), "lower"),
        (lambda: Bounds(2, 1, Grid(0)), "lower"),
        (lambda: Bounds(0, 0.3, Grid(-8)), "upper"),
        (lambda: Bounds(math.nan, 1, Grid(0)), "lower"),
        (lambda: Bounds(0, math.inf, Grid(0)), "upper"),
        (lambda: Bounds(0, 2.0**54, Grid(0)), "upper"),
        (lambda: exact_bounded_sum(np.ones(2), bits(), epsilon=0, bounds=WIDEST), "epsilon"),
        (lambda: exact_bounded_sum(np.ones(2), bits(), epsilon=1, bounds=WIDEST), "too fine"),
        (lambda: exact_bounded_sum(np.ones((2, 2)), bits(), epsilon=1, bounds=Bounds(0, 1, Grid(0))), "records"),
        (lambda: exact_bounded_mean(np.empty(0), bits(), epsilon=1, bounds=Bounds(0, 1, Grid(0))), "records"),
        (lambda: exact_bounded_mean(np.ones(1), bits(), epsilon=math.nan, bounds=Bounds(0, 1, Grid(0))), "epsilon"),
        (
            lambda: exact_bounded_mean(np.ones(1), bits(), epsilon=1, bounds=Bounds(0, 1, Grid(0)), relation="node"),  # type: ignore[arg-type]
            "relation",
        ),
    ],
)
def test_public_parameters_out_of_range_are_named(call, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        call()

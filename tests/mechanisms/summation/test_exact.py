"""The fixed-point sum and mean are the exact total with exact noise, rounded once."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from attacklab.random_bits import SeededBits
from mechanisms.grid import Grid
from mechanisms.published import discrete_laplace
from mechanisms.summation.bounds import Bounds
from mechanisms.summation.exact import exact_bounded_mean, exact_bounded_sum

WIDEST = Bounds(-(2.0**53), 2.0**53, Grid(0))


def bits(seed: int = 0) -> SeededBits:
    return SeededBits(np.random.default_rng(seed))


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

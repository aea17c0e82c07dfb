"""Naive selection, normals and sums, judged by scalar arithmetic in each format."""

from __future__ import annotations

import itertools
import math

import ml_dtypes
import numpy as np
import pytest

from mechanisms.core.term import Relation
from mechanisms.exponential.naive import (
    naive_exponential,
    naive_exponential_low_precision,
)
from mechanisms.gaussian.naive import Sampler, box_muller, inverse_cdf, naive_gaussian, polar, ziggurat
from mechanisms.summation.naive import (
    Summation,
    correctly_rounded_sum,
    naive_bounded_sum,
    numpy_sum,
    pairwise_sum,
    sequential_sum,
    sum_sensitivity,
    wrapping_sum,
)


class Given:
    """Stands for a generator that yields the given uniform numbers."""

    def __init__(self, *uniforms: float) -> None:
        self._uniforms = np.array(uniforms)

    def random(self, count: int) -> np.ndarray:
        assert count == len(self._uniforms)
        return self._uniforms


def textbook_loop(weights: list[float], uniform: float) -> int | None:
    total = 0.0
    for weight in weights:
        total += weight
    cumulative = 0.0
    for index, weight in enumerate(weights):
        cumulative += weight
        if total != 0.0 and not math.isnan(total) and cumulative / total > uniform:
            return index
    return None


UNIFORMS = [0.0, 2**-60, 0.1, 0.25, 1 / 3, 0.5, 0.75, 0.9, 1 - 2**-30, 1 - 2**-53]


@pytest.mark.parametrize(
    "utilities",
    [[0.0], [0.0, 0.0], [-2980.0, -2981.0], [-2981.0, -2980.0], [3.0, 1.5, -7.25, 3.0], list(np.linspace(-40, 40, 97))],
)
def test_selections_are_those_of_the_textbooks_loop(utilities: list[float]) -> None:
    selected = naive_exponential(utilities, len(UNIFORMS), Given(*UNIFORMS), epsilon=0.5, sensitivity=0.5)
    weights = [float(np.exp(0.5 * u)) for u in utilities]
    assert list(selected) == [textbook_loop(weights, uniform) for uniform in UNIFORMS]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_low_precision_sums_are_rounded_to_the_format_at_every_step(dtype: type) -> None:
    utilities = -np.linspace(0.0, 4.0, 300)
    total, sums = dtype(0), []
    for utility in utilities:
        total = dtype(total + dtype(np.exp(utility / 2)))
        sums.append(total)
    shares = [float(dtype(s / total)) for s in sums]
    uniforms = np.random.default_rng(3).random(1000)
    selected = naive_exponential_low_precision(utilities, 1000, Given(*uniforms), epsilon=1.0, dtype=dtype)
    assert list(selected) == [next(i for i, share in enumerate(shares) if share > u) for u in uniforms]


def test_zero_rounding_makes_an_outcome_certain_whichever_way_the_uniform_falls() -> None:
    for best in (0, 1):
        utilities = [-2981.0, -2981.0]
        utilities[best] = -2980.0
        assert set(naive_exponential(utilities, len(UNIFORMS), Given(*UNIFORMS), epsilon=0.5)) == {best}


@pytest.mark.parametrize("utilities", [[-4000.0, -4001.0], [4000.0, 0.0], [4000.0, 4000.0], [0.0, math.nan]], ids=str)
def test_vanished_overflowed_and_undefined_weights_give_no_outcome(utilities: list[float]) -> None:
    assert naive_exponential(utilities, 3, np.random.default_rng(0), epsilon=0.5) == [None] * 3


SAMPLERS = [box_muller, polar, ziggurat, inverse_cdf]


def test_a_box_muller_pair_comes_from_two_uniforms_by_the_textbook_formula() -> None:
    """Two roundings a function and two to combine them: within 8 ulps of the formula in ordinary arithmetic."""
    drawn = box_muller(6, np.random.default_rng(3)).reshape(3, 2)
    rng = np.random.default_rng(3)
    first, second = rng.random(3), rng.random(3)
    for (x, y), u, v in zip(drawn, first, second, strict=True):
        radius = math.sqrt(-2 * math.log(1 - u))
        assert x == pytest.approx(radius * math.cos(2 * math.pi * v), abs=8 * math.ulp(radius))
        assert y == pytest.approx(radius * math.sin(2 * math.pi * v), abs=8 * math.ulp(radius))


def test_a_polar_pair_has_the_direction_of_a_point_on_the_uniforms_grid() -> None:
    """2U − 1 is a multiple of 2^−52, so x/y is a ratio of two of them but for the rounding of two products."""
    pairs = polar(2_000, np.random.default_rng(4)).reshape(-1, 2)
    rng = np.random.default_rng(4)
    points = 2 * rng.random((2_000, 2)) - 1
    points = points[(points**2).sum(axis=1) < 1][:1_000]
    found = pairs[: len(points)]
    assert np.allclose(found[:, 0] * points[:, 1], found[:, 1] * points[:, 0], rtol=1e-14, atol=0)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_the_mechanism_adds_scaled_normals_to_the_answer(sampler: Sampler) -> None:
    outputs = naive_gaussian(3.0, 9, np.random.default_rng(8), sigma=0.7, sampler=sampler)
    normals = sampler(9, np.random.default_rng(8))
    assert np.array_equal(outputs, 3.0 + 0.7 * normals)


@pytest.mark.parametrize("summation", [sequential_sum, pairwise_sum, numpy_sum, correctly_rounded_sum])
@pytest.mark.parametrize("size", [0, 1, 2, 7, 200])
def test_sums_of_whole_numbers_are_exact_in_every_order(summation: Summation, size: int) -> None:
    records = np.random.default_rng(size).integers(-1000, 1000, size).astype(np.float64)
    assert summation(records) == sum(int(record) for record in records)


def test_the_orders_of_summation_are_what_they_say() -> None:
    """2^53, 1, 1, −2^53: sequentially both ones are lost, pairwise the halves 2^53 and 1 − 2^53 leave 1."""
    records = np.array([2.0**53, 1.0, 1.0, -(2.0**53)])
    assert sequential_sum(records) == 0
    assert pairwise_sum(records) == 1
    assert correctly_rounded_sum(records) == 2


def test_a_machine_integer_wraps_around_where_one_record_crosses_its_end() -> None:
    assert wrapping_sum(np.array([100.0, 27.0]), np.int8) == 127
    assert wrapping_sum(np.array([100.0, 28.0]), np.int8) == -128
    assert wrapping_sum(np.array([2.0**31 - 1, 1.0])) == -(2.0**31)


@pytest.mark.parametrize(("lower", "upper"), [(0, 3), (-2, 1), (2, 5), (-4, -1)])
def test_the_sensitivity_is_the_largest_move_over_every_pair_of_neighbours(lower: int, upper: int) -> None:
    datasets = list(itertools.product(range(lower, upper + 1), repeat=2))
    removal = max(abs(sum(records) - records[0]) for records in datasets)
    substitution = max(abs(sum(one) - sum(other)) for one in datasets for other in datasets if one[1] == other[1])
    assert sum_sensitivity(lower, upper, "add-remove") == removal
    assert sum_sensitivity(lower, upper, "substitute") == substitution


@pytest.mark.parametrize(("relation", "sensitivity"), [("add-remove", 3.0), ("substitute", 4.0)])
def test_the_sum_is_of_clipped_records_with_noise_of_the_declared_scale(relation: Relation, sensitivity: float) -> None:
    outputs = naive_bounded_sum(
        np.array([-7.0, 0.5, 9.0]), 5, np.random.default_rng(2), epsilon=0.5, lower=-1, upper=3, relation=relation
    )
    noise = np.random.default_rng(2).laplace(0, sensitivity / 0.5, 5)
    assert np.array_equal(outputs, 2.5 + noise)

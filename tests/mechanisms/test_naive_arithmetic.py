"""Naive selection, normals and sums, judged by scalar arithmetic in each format."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from mechanisms.core.term import Relation
from mechanisms.exponential.naive import (
    naive_exponential,
)
from mechanisms.gaussian.naive import Sampler, box_muller, inverse_cdf, naive_gaussian, polar, ziggurat
from mechanisms.summation.naive import (
    correctly_rounded_sum,
    naive_bounded_sum,
    pairwise_sum,
    sequential_sum,
    sum_sensitivity,
    wrapping_sum,
)


@pytest.mark.parametrize("utilities", [[-4000.0, -4001.0], [4000.0, 0.0], [4000.0, 4000.0], [0.0, math.nan]], ids=str)
def test_vanished_overflowed_and_undefined_weights_give_no_outcome(utilities: list[float]) -> None:
    assert naive_exponential(utilities, 3, np.random.default_rng(0), epsilon=0.5) == [None] * 3


SAMPLERS = [box_muller, polar, ziggurat, inverse_cdf]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_the_mechanism_adds_scaled_normals_to_the_answer(sampler: Sampler) -> None:
    outputs = naive_gaussian(3.0, 9, np.random.default_rng(8), sigma=0.7, sampler=sampler)
    normals = sampler(9, np.random.default_rng(8))
    assert np.array_equal(outputs, 3.0 + 0.7 * normals)


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

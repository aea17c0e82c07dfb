"""Noise scaled to a local sensitivity that jumps: its scales are those of the definition, on all small inputs."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from mechanisms.local_sensitivity.naive_jumps import naive_median, naive_spanning_tree_cost, naive_triangle_count
from tests.unit.mechanisms.core.databases import databases
from tests.unit.mechanisms.local_sensitivity.noise import ScriptedLaplace, noise_scales

Release = Callable[..., Any]
AGES: dict[str, Any] = {"lower": 0.0, "upper": 3.0}


def median(records: tuple[float, ...]) -> float:
    return statistics.median_low(records) if records else 0.0


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_the_medians_noise_is_scaled_to_what_one_record_more_fewer_or_elsewhere_moves_it(epsilon: float) -> None:
    for records in databases(range(4), 5):
        fewer = [records[:place] + records[place + 1 :] for place in range(len(records))]
        near = [*fewer, *((*rest, value) for rest in (records, *fewer) for value in (0, 1, 2, 3))]
        moves = max(abs(median(changed) - median(records)) for changed in near)
        release: Release = partial(naive_median, epsilon=epsilon, **AGES)
        ages = np.array(records, dtype=float)
        assert noise_scales(release, ages, 1) == [moves / epsilon]
        assert release(ages, 2, ScriptedLaplace(0.25)).tolist() == [median(records) + 0.25] * 2


def test_records_beyond_the_bounds_count_as_the_bounds() -> None:
    (answer,) = naive_median(np.array([-9.0, 2.0, 99.0]), 1, ScriptedLaplace(0.0), epsilon=1.0, **AGES)
    assert answer == 2.0


@pytest.mark.parametrize("others", [1, 7, 100])
def test_nobody_moves_the_median_of_two_more_than_half_and_with_one_less_somebody_does(
    others: int,
) -> None:
    release = partial(naive_median, epsilon=1.0, **AGES)
    records = np.array([0.0] * (others + 2) + [3.0] * others)
    assert noise_scales(release, records, 1) == [0.0]
    assert noise_scales(release, records[1:], 1) == [3.0]


def matrix(edges: tuple[int, ...], nodes: int) -> Any:
    adjacent = np.zeros((nodes, nodes), dtype=bool)
    adjacent[np.triu_indices(nodes, 1)] = edges
    return adjacent | adjacent.T


def triangles(adjacent: Any) -> int:
    threes = itertools.combinations(range(len(adjacent)), 3)
    return sum(bool(adjacent[i, j] and adjacent[j, k] and adjacent[i, k]) for i, j, k in threes)


def test_the_triangles_noise_is_scaled_to_what_one_edge_moves_their_number() -> None:
    for edges in itertools.product((0, 1), repeat=6):
        near = [(*edges[:place], 1 - edges[place], *edges[place + 1 :]) for place in range(6)]
        count = triangles(matrix(edges, 4))
        moves = max(abs(triangles(matrix(changed, 4)) - count) for changed in near)
        release = partial(naive_triangle_count, epsilon=0.5)
        assert noise_scales(release, matrix(edges, 4), 1) == [moves / 0.5]
        assert release(matrix(edges, 4), 1, ScriptedLaplace(0.25)).tolist() == [count + 0.25]


def tree_cost(weights: tuple[float, ...]) -> float:
    """The cheapest way to join three nodes: all edges but the dearest one."""
    return sum(weights) - max(weights)


def test_the_trees_noise_is_scaled_to_what_one_weight_moves_their_cost() -> None:
    for weights in itertools.product((0.0, 1.0, 2.0, 3.0), repeat=3):
        near = [(*weights[:place], value, *weights[place + 1 :]) for place in range(3) for value in (0.0, 3.0)]
        moves = max(abs(tree_cost(changed) - tree_cost(weights)) for changed in near)
        release: Release = partial(naive_spanning_tree_cost, epsilon=1.0, nodes=3, **AGES)
        assert noise_scales(release, np.array(weights), 1) == [moves]
        assert release(np.array(weights), 1, ScriptedLaplace(0.25)).tolist() == [tree_cost(weights) + 0.25]


def test_a_cut_whose_weights_are_all_but_one_at_the_upper_bound_makes_the_cost_sensitive() -> None:
    """Five nodes; the first one's edges are the records 01, 02, 03, 04."""
    release = partial(naive_spanning_tree_cost, epsilon=1.0, nodes=5, **AGES)
    weights = np.array([3.0, 3.0, 3.0] + [0.0] * 7)
    assert noise_scales(release, weights, 1) == [3.0]
    weights[0] = 0.0
    assert noise_scales(release, weights, 1) == [0.0]


@pytest.mark.parametrize("mechanism", [naive_median, partial(naive_spanning_tree_cost, nodes=3)])
def test_bounds_that_are_no_range_are_refused(mechanism: Any) -> None:
    with pytest.raises(ValueError, match="lower must be less than upper"):
        mechanism(np.zeros(3), 1, np.random.default_rng(0), lower=1.0, upper=1.0, epsilon=1.0)


def test_an_epsilon_that_is_not_above_0_is_refused() -> None:
    with pytest.raises(ValueError, match="epsilon"):
        naive_triangle_count(np.zeros((3, 3)), 1, np.random.default_rng(0), epsilon=0.0)

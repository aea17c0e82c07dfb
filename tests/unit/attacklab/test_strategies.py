"""Hypothesis strategies: what they draw is a pair, and the awkward numbers come."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from attacklab.model import strategies
from attacklab.model.neighbours import NeighbouringPair, Relation

BOUNDS = (-1.0, 100.0)
LEAST_NORMAL = 2.0**-1022


def drawn(strategy: st.SearchStrategy[Any], count: int, *, seed: int) -> list[Any]:
    """Up to so many values of a strategy, fewer if it has no more; the same seed draws the same values."""
    values: list[Any] = []

    @hypothesis.seed(seed)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        derandomize=False,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(value: Any) -> None:
        values.append(value)

    collect()
    return values


AWKWARD: dict[str, Callable[[float], bool]] = {
    "negative zero": lambda y: y == 0 and math.copysign(1, y) < 0,
    "subnormal": lambda y: 0 < abs(y) < LEAST_NORMAL,
    "power of two": lambda y: y > 16 and math.frexp(y)[0] == 0.5,
    "next below one": lambda y: y > 16 and math.frexp(math.nextafter(y, math.inf))[0] == 0.5,
    "next above one": lambda y: y > 16 and math.frexp(math.nextafter(y, 0.0))[0] == 0.5,
    "huge": lambda y: abs(y) > 1e300,
    "small whole number": lambda y: y in range(1, 17),
}


def test_awkward_floats_are_among_those_that_are_drawn() -> None:
    values = strategies._landmarks()
    for name, is_awkward in AWKWARD.items():
        assert any(map(is_awkward, values)), name
    assert sum(value in values for value in drawn(strategies.floats(), 300, seed=1)) > 30


@given(st.data(), st.sampled_from([(0.0, 0.0), (-3.5, 7.25), (5e-324, 1e-300), (1e308, sys.float_info.max)]))
def test_floats_and_vectors_keep_their_bounds(data: st.DataObject, bounds: tuple[float, float]) -> None:
    lower, upper = bounds
    assert lower <= data.draw(strategies.floats(lower, upper)) <= upper
    for vector in (
        data.draw(strategies.records(bounds, least=1, most=4)),
        data.draw(strategies.utilities(most_outcomes=5, lower=lower, upper=upper)),
    ):
        assert 1 <= len(vector) <= 5
        assert ((vector >= lower) & (vector <= upper)).all()


@given(st.data(), strategies.floats(2.0**-40, 2.0**40))
def test_pairs_of_answers_and_utilities_are_no_further_apart_than_the_sensitivity(
    data: st.DataObject, sensitivity: float
) -> None:
    for strategy in (strategies.pairs_of_answers, strategies.pairs_of_utilities):
        pair = data.draw(strategy(sensitivity=sensitivity))
        for one, other in zip(np.atleast_1d(pair.first), np.atleast_1d(pair.second), strict=True):
            assert abs(Fraction(float(one)) - Fraction(float(other))) <= Fraction(sensitivity)


def test_pairs_are_often_exactly_one_sensitivity_apart() -> None:
    pairs = drawn(strategies.pairs_of_answers(sensitivity=0.1), 100, seed=3)
    apart = [abs(Fraction(pair.first) - Fraction(pair.second)) == Fraction(0.1) for pair in pairs]
    assert sum(apart) >= 5


@given(st.data(), st.sampled_from([Relation.ADD_REMOVE, Relation.SUBSTITUTE]))
def test_pairs_of_records_differ_by_one_person(data: st.DataObject, relation: Relation) -> None:
    pair = data.draw(strategies.pairs_of_records(BOUNDS, relation, least=1, most=5))
    first, second = pair.first.tolist(), pair.second.tolist()
    assert pair.relation is relation
    assert all(BOUNDS[0] <= value <= BOUNDS[1] for value in first + second)
    if relation is Relation.SUBSTITUTE:
        assert sum(one != other for one, other in zip(first, second, strict=True)) == 1
    else:
        shorter, longer = sorted((first, second), key=len)
        assert any(longer[:place] + longer[place + 1 :] == shorter for place in range(len(longer)))


def test_failures_shrink_to_the_simplest_pair() -> None:
    def has_a_large_utility(pair: NeighbouringPair) -> bool:
        return bool((pair.first > 1000).any())

    smallest = find(strategies.pairs_of_utilities(), has_a_large_utility)
    assert len(smallest.first) == 2
    assert 0 in smallest.first


@pytest.mark.parametrize("bounds", [(1.0, 0.0), (math.nan, 1.0), (0.0, math.inf)])
def test_impossible_bounds_are_refused(bounds: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="lower and upper must be finite"):
        strategies.floats(*bounds)


def test_relations_of_other_things_are_refused() -> None:
    with pytest.raises(ValueError, match="records are neighbours by"):
        drawn(strategies.pairs_of_records(BOUNDS, Relation.EDGE), 1, seed=0)

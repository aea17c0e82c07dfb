"""Hypothesis strategies: what they draw is a pair, and the awkward numbers come."""

from __future__ import annotations

import builtins
import importlib
import math
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import find, given
from hypothesis import strategies as st

from attacklab.model import strategies
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Target
from mechanisms.laplace.naive import naive_laplace_numpy

BOUNDS = (-1.0, 100.0)
LEAST_NORMAL = 2.0**-1022


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
    drawn = strategies.drawn(strategies.floats(), 300, seed=1)
    assert sum(value in values for value in drawn) > 30


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


@given(strategies.scales())
def test_scales_are_positive_and_moderate(scale: float) -> None:
    assert 2.0**-40 <= scale <= 2.0**40


@given(st.data(), strategies.scales())
def test_pairs_of_answers_and_utilities_are_no_further_apart_than_the_sensitivity(
    data: st.DataObject, sensitivity: float
) -> None:
    for strategy in (strategies.pairs_of_answers, strategies.pairs_of_utilities):
        pair = data.draw(strategy(sensitivity=sensitivity))
        for one, other in zip(np.atleast_1d(pair.first), np.atleast_1d(pair.second), strict=True):
            assert abs(Fraction(float(one)) - Fraction(float(other))) <= Fraction(sensitivity)


def test_pairs_are_often_exactly_one_sensitivity_apart() -> None:
    pairs = strategies.drawn(strategies.pairs_of_answers(sensitivity=0.1), 100, seed=3)
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


@given(st.data(), st.sampled_from([Relation.NODE, Relation.EDGE]))
def test_pairs_of_graphs_differ_by_one_node_or_edge(data: st.DataObject, relation: Relation) -> None:
    pair = data.draw(strategies.pairs_of_graphs(relation, most_nodes=5))
    assert not np.diag(pair.first).any()
    assert abs(len(pair.first) - len(pair.second)) == int(relation is Relation.NODE)
    if relation is Relation.EDGE:
        assert np.count_nonzero(pair.first != pair.second) == 2


@pytest.mark.parametrize(
    ("target", "relation"),
    [
        (Target.noise(naive_laplace_numpy, epsilon=1.0), None),
        (Target.selection(naive_laplace_numpy, epsilon=1.0), None),
        (Target.sum(naive_laplace_numpy, bounds=BOUNDS, epsilon=1.0), Relation.ADD_REMOVE),
        (Target.mean(naive_laplace_numpy, bounds=BOUNDS, epsilon=1.0), Relation.ADD_REMOVE),
    ],
)
def test_the_pairs_of_a_target_fit_its_kind(target: Target, relation: Relation | None) -> None:
    pairs = strategies.drawn(strategies.neighbouring_pairs(target), 20, seed=0)
    assert len(pairs) == 20
    assert {pair.relation for pair in pairs} == {relation}


def test_the_relation_of_records_can_be_chosen() -> None:
    target = Target.sum(naive_laplace_numpy, bounds=BOUNDS, epsilon=1.0)
    (pair, *_) = strategies.drawn(strategies.neighbouring_pairs(target, Relation.SUBSTITUTE), 5, seed=0)
    assert pair.relation is Relation.SUBSTITUTE
    claimed = Target.sum(naive_laplace_numpy, bounds=BOUNDS, epsilon=1.0, relation="substitute")
    drawn = strategies.drawn(strategies.neighbouring_pairs(claimed), 5, seed=0)
    assert {pair.relation for pair in drawn} == {Relation.SUBSTITUTE}


def test_the_same_seed_draws_the_same_values() -> None:
    def seen(seed: int) -> list[str]:
        return [repr(pair) for pair in strategies.drawn(strategies.pairs_of_utilities(), 10, seed=seed)]

    assert seen(4) == seen(4)
    assert seen(4) != seen(5)


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
        strategies.drawn(strategies.pairs_of_records(BOUNDS, Relation.EDGE), 1, seed=0)
    with pytest.raises(ValueError, match="graphs are neighbours by"):
        strategies.drawn(strategies.pairs_of_graphs(Relation.SUBSTITUTE), 1, seed=0)
    with pytest.raises(ValueError, match="can be anything"):
        strategies.neighbouring_pairs(Target.dataset(naive_laplace_numpy, epsilon=1.0))


def test_without_hypothesis_the_module_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if name.partition(".")[0] == "hypothesis":
            raise ImportError(f"No module named {name!r}")
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.delitem(sys.modules, "attacklab.model.strategies")
    with pytest.raises(ImportError, match=r"pip install 'attacklab\[strategies\]'"):
        importlib.import_module("attacklab.model.strategies")

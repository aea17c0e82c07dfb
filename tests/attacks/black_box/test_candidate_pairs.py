"""Candidate pairs: every kind and relation has some, and all are neighbours in the domain; and what they cost."""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacklab import BlackBox, Domain, Kind, NeighbouringPair, Relation, Target
from attacklab.attacks.black_box.candidate_pairs import answers_before_edges, candidate_pairs
from attacklab.model.errors import OutsideDomain
from attacklab.model.neighbours import fingerprint
from attacklab.model.targets import Outputs
from tests.model.test_domains import are_neighbours

BOUNDS = [(0.0, 1.0), (-1.0, 1.0), (-3.0, 1.0), (2.0, 5.0), (-5.0, -3.0), (0.0, 0.05), (1.0, 1 + 2.0**-48), (0.3, 1e6)]
DOMAINS = (
    None,
    Domain(integers=True),
    Domain(non_negative=True),
    Domain(bounds=(0.0, 2.5)),
    Domain(integers=True, bounds=(0, 9)),
    Domain(floats_only=True, bounds=(-7.0, 7.0)),
)


def release(_input: Any, trials: int, rng: np.random.Generator) -> Outputs:
    return rng.integers(0, 2, trials)


def found(target: Target, outcomes: tuple[int, ...] = (2, 3)) -> list[NeighbouringPair]:
    def probe(input_: Any, trials: int) -> Outputs:
        if not target.takes(target.cast(input_)):
            raise OutsideDomain("outside")
        return release(input_, trials, np.random.default_rng(1))

    return list(candidate_pairs(target, probe, outcomes, 1_000))


def checked(target: Target) -> list[NeighbouringPair]:
    pairs = found(target)
    for pair in pairs:
        assert are_neighbours(pair, target.sensitivity), pair
        assert target.covers(pair), pair
    sides = [frozenset(map(fingerprint, (pair.first, pair.second))) for pair in pairs]
    assert len(set(sides)) == len(sides)
    return pairs


@pytest.mark.slow
@settings(max_examples=3, deadline=None)
@given(
    bounds=st.sampled_from(BOUNDS)
    | st.tuples(st.floats(-1e3, 1e3), st.floats(1e-3, 1e3)).map(lambda b: (b[0], sum(b))),
    relation=st.sampled_from([None, *list(Relation)[:2]]),
    domain=st.sampled_from(DOMAINS[:4]),
)
def test_whatever_the_bounds_pairs_of_sums_and_means_are_neighbours_of_the_claims_relation(
    bounds: tuple[float, float], relation: Relation | None, domain: Domain | None
) -> None:
    wanted = {Relation.ADD_REMOVE, Relation.SUBSTITUTE} if relation is None else {relation}
    for make in (Target.sum, Target.mean):
        target = make(release, bounds=bounds, epsilon=1.0, relation=relation, domain=domain)
        try:
            assert {pair.relation for pair in checked(target)} <= wanted
        except OutsideDomain:
            assert domain is not None


@settings(max_examples=6, deadline=None)
@given(
    sensitivity=st.sampled_from([1.0, 2.0, 0.1, 3.7]) | st.floats(1e-6, 1e6),
    epsilon=st.sampled_from([0.01, 1.0, 10.0]),
    domain=st.sampled_from(DOMAINS),
)
def test_whatever_the_sensitivity_pairs_of_answers_and_utilities_are_neighbours(
    sensitivity: float, epsilon: float, domain: Domain | None
) -> None:
    for make in (Target.noise, Target.selection):
        target = make(release, epsilon=epsilon, sensitivity=sensitivity, domain=domain)
        pairs = checked(target)
        if domain is None:
            assert len(pairs) > 20


@pytest.mark.parametrize("relation", list(Relation)[:2])
@pytest.mark.parametrize("bounds", BOUNDS[:5])
def test_sums_have_records_at_every_corner_outside_both_bounds_and_at_every_position(
    bounds: tuple[float, float], relation: Relation
) -> None:
    pairs = found(Target.sum(release, bounds=bounds, epsilon=1.0, relation=relation))
    changed, sizes, places = Counter[float](), set(), set()
    for pair in pairs:
        one, other = sorted((pair.first.tolist(), pair.second.tolist()), key=len, reverse=True)
        sizes.add(len(one))
        differing = [place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b]
        place = differing[0] if differing else len(one) - 1
        changed[one[place]] += 1
        if relation is Relation.SUBSTITUTE:
            changed[other[place]] += 1
        places.add("first" if place == 0 else "last" if place == len(one) - 1 else "middle")
    low, high = bounds
    assert changed[low] > 5
    assert changed[high] > 5
    assert any(value < low for value in changed)
    assert any(value > high for value in changed)
    assert places == {"first", "middle", "last"}
    assert {1, 2, 3, 16, 256} <= sizes


def rounded(answer: Fraction, unit: Fraction) -> Iterator[Fraction]:
    """An answer rounded to the unit: to the nearest, half to even, and down."""
    yield unit * round(answer / unit)
    yield unit * (answer // unit)


@pytest.mark.parametrize("step", ["1", "0.4", "2.5", "100", "0.03"])
def test_answers_before_edges_move_further_when_rounded_than_answers_at_0(step: str) -> None:
    moved = Fraction(step)
    answers = list(answers_before_edges(moved))
    assert len(answers) >= 3
    for answer in answers:
        units = [Fraction(10) ** power * part for power in range(-3, 8) for part in (1, Fraction(1, 2))]
        assert any(
            after - before > moved
            for unit in units
            for before, after in zip(rounded(answer, unit), rounded(answer + moved, unit), strict=True)
        )


class Counting:
    """A release that counts the outputs it was asked for."""

    def __init__(self) -> None:
        self.drawn = 0

    def __call__(self, input_: Any, trials: int, rng: np.random.Generator) -> Outputs:
        self.drawn += trials
        return rng.standard_normal(trials) if np.ndim(input_) == 0 else rng.integers(0, 2, trials)


@pytest.mark.parametrize("learning", [64, 1 << 10, 1 << 14])
@pytest.mark.parametrize("kind", [Kind.NOISE, Kind.SELECTION, Kind.SUM, Kind.MEAN])
def test_what_the_black_box_draws_is_bounded(kind: Kind, learning: int) -> None:
    counting, rng = Counting(), np.random.default_rng(3)
    bounds = {"bounds": (0.0, 1.0)} if kind in (Kind.SUM, Kind.MEAN) else {}
    target: Target = getattr(Target, kind.value)(counting, epsilon=1.0, **bounds)
    attack = BlackBox(learning=learning)
    attack.scenarios(target, lambda input_, trials: target.outputs(input_, trials, rng))
    assert attack.looks / 4 < counting.drawn <= 1.5 * attack.looks


def test_an_audit_of_few_trials_learns_from_few_outputs() -> None:
    assert [BlackBox().within(trials).learning for trials in (1, 600, 60_000, 10**9)] == [64, 100, 10_000, 1 << 14]
    assert BlackBox(learning=512).within(10**9).learning == 512

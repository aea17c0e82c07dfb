"""Domains: what they hold, which neighbouring pairs follow from them, how they travel, and what they refuse."""

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attacklab.loading.inputs import domain_from_text, read_pairs
from attacklab.model.domains import Categories, Domain, Graphs, Pattern, Queries, Records, Streams
from attacklab.model.domains.finite import all_databases, all_utilities
from attacklab.model.errors import UsageError
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Target

DOMAINS = (
    Domain(),
    Domain(integers=True, bounds=(0.1, 7.0)),
    Domain(non_negative=True, floats_only=True, special=True),
    Domain(shape=Queries(size=3, sensitivity=0.1, patterns=(Pattern.ONE,))),
    Domain(shape=Queries(size=5, sensitivity=0.3), bounds=(0, 4)),
    Domain(shape=Queries(size=4), integers=True, non_negative=True),
    Domain(shape=Records(least=1, most=5), bounds=(-1, 2.5)),
    Domain(shape=Categories(names=("a", "b", "c"), most=6)),
    Domain(shape=Streams(length=4), bounds=(0, 1), integers=True),
    Domain(shape=Graphs(nodes=4)),
)


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: json.dumps(domain.to_json()))
def test_a_domain_is_the_same_after_a_way_through_json(domain: Domain) -> None:
    assert Domain.from_json(json.loads(json.dumps(domain.to_json()))) == domain


def is_one_apart(longer: list[Any], shorter: list[Any]) -> bool:
    return any(longer[:place] + longer[place + 1 :] == shorter for place in range(len(longer)))


def are_neighbours(pair: NeighbouringPair, sensitivity: float) -> bool:
    """By definition, told without the constructors of pairs."""
    one, other = (np.atleast_1d(side).tolist() for side in (pair.first, pair.second))
    if pair.relation is None:
        moves = [abs(Fraction(a) - Fraction(b)) for a, b in zip(one, other, strict=True)]
        return 0 < max(moves) <= Fraction(sensitivity)
    if pair.relation is Relation.ADD_REMOVE:
        return is_one_apart(*sorted((one, other), key=len, reverse=True))
    if pair.relation is Relation.SUBSTITUTE:
        return len(one) == len(other) and sum(a != b for a, b in zip(one, other, strict=True)) == 1
    if pair.relation is Relation.EDGE:
        places = itertools.combinations(range(len(one)), 2)
        return sum(one[i][j] != other[i][j] for i, j in places) == 1
    larger, smaller = sorted((one, other), key=len, reverse=True)
    kept = ([k for k in range(len(larger)) if k != gone] for gone in range(len(larger)))
    return any([[larger[i][j] for j in rest] for i in rest] == smaller for rest in kept)


@pytest.mark.parametrize("domain", [one for one in DOMAINS if one.shape], ids=lambda domain: domain.shape.form)
def test_the_pairs_that_follow_are_neighbours_in_the_domain(domain: Domain) -> None:
    assert domain.shape is not None
    pairs = list(domain.pairs(None))
    assert pairs
    assert {pair.relation for pair in pairs} == (set(domain.shape.relations) or {None})
    for pair in pairs:
        assert are_neighbours(pair, getattr(domain.shape, "sensitivity", 1.0))
        assert domain.covers(pair)
    for relation in domain.shape.relations:
        assert {pair.relation for pair in domain.pairs(relation)} == {relation}


@pytest.mark.parametrize("shape", [Records(least=8, most=8), Streams(length=8)])
def test_datasets_of_one_size_also_differ_in_how_often_a_value_is_held(shape: Any) -> None:
    pairs = Domain(shape=shape, bounds=(0, 1)).pairs(None)
    counted = {(int(pair.first.sum()), int(pair.second.sum())) for pair in pairs}
    assert {(count + 1, count) for count in range(8)} <= counted


@pytest.mark.parametrize(
    ("pattern", "moves"),
    [
        (Pattern.ONE, (1, 0, 0, 0)),
        (Pattern.ALL, (1, 1, 1, 1)),
        (Pattern.HALVES, (1, 1, -1, -1)),
        (Pattern.ONE_AGAINST_REST, (1, -1, -1, -1)),
    ],
)
def test_each_pattern_moves_the_answers_as_it_says(pattern: Pattern, moves: tuple[int, ...]) -> None:
    pairs = Domain(shape=Queries(size=4, patterns=(pattern,))).pairs(None)
    moved = {tuple((pair.second - pair.first).tolist()) for pair in pairs}
    both = {moves, tuple(-move for move in moves)}
    assert both <= moved
    assert {tuple(sorted(move)) for move in moved} == {tuple(sorted(move)) for move in both}  # whichever is the one


def test_a_domain_of_one_pattern_does_not_hold_pairs_of_another() -> None:
    domain = Domain(shape=Queries(size=4, patterns=(Pattern.ONE,)))
    together = NeighbouringPair(np.zeros(4), np.ones(4), None)
    assert not domain.covers(together)
    assert Domain(shape=Queries(size=4)).covers(together)


@pytest.mark.parametrize(
    ("domain", "inside", "outside"),
    [
        (Domain(integers=True), [3, -(1 << 70), np.array([1, 2])], [3.0, 0.5, True, "3", np.array([1.0])]),
        (Domain(non_negative=True), [0.0, -0.0, 5, 1e308], [-1, -5e-324, np.array([1.0, -1.0])]),
        (Domain(floats_only=True), [1.0, np.array([0.5])], [1, np.array([1]), np.float32(0.5)]),
        (Domain(bounds=(0, 1)), [0, 1.0, 0.5], [math.nextafter(1.0, 2.0), -1, math.nan, math.inf]),
        (Domain(special=True), [math.nan, math.inf, 0.0], ["nan"]),
        (Domain(bounds=(0, 2**53)), [2**53], [2**53 + 1]),
        (Domain(shape=Streams(length=2), bounds=(0, 1)), [np.ones(2)], [np.ones(3), np.ones(1), 1.0]),
    ],
)
def test_a_domain_holds_what_it_says(domain: Domain, inside: list[Any], outside: list[Any]) -> None:
    assert [domain.contains(one) for one in inside] == [True] * len(inside)
    assert [domain.contains(one) for one in outside] == [False] * len(outside)


@pytest.mark.parametrize("domain", [Domain(integers=True), Domain(bounds=(5, 9)), Domain(non_negative=True)])
@pytest.mark.parametrize("sensitivity", [1.0, 2.5])
def test_a_pair_moved_into_a_domain_is_still_one_of_neighbours(domain: Domain, sensitivity: float) -> None:
    rng = np.random.default_rng(4)
    for _ in range(200):
        first = rng.uniform(-20, 20, 3)
        second = first + rng.uniform(-1, 1, 3) * (sensitivity - 1e-9)
        moved = domain.adapted(NeighbouringPair.utilities(first, second, sensitivity=sensitivity), sensitivity)
        if moved is not None:
            assert domain.contains(moved.first)
            assert domain.contains(moved.second)
            apart = [
                abs(Fraction(a) - Fraction(b)) for a, b in zip(moved.first.tolist(), moved.second.tolist(), strict=True)
            ]
            assert 0 < max(apart) <= Fraction(sensitivity)


def with_pair(first: Any, second: Any) -> Any:
    return lambda: Target.noise(print, epsilon=1.0, pairs=[NeighbouringPair(first, second, None)])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Domain(bounds=(1, 0)), "bounds of a domain must be finite and lower < upper"),
        (lambda: Domain(bounds=(0,)), "bounds of a domain must be two numbers"),
        (lambda: Domain(bounds=(0.2, 0.8), integers=True), "a domain must hold two numbers"),
        (lambda: Domain(integers=1), "integers of a domain must be True or False, not 1"),
        (lambda: Domain(shape="records"), "shape of a domain must be one of"),
        (lambda: Queries(size=0), "size of a domain must be an integer of at least 1, not 0"),
        (lambda: Queries(size=2, patterns=("two",)), "pattern must be one of one, all"),
        (lambda: Streams(length=10**9), "length of a domain must be at most 100,000, not 1,000,000,000"),
        (lambda: Queries(size=10**9), "size of a domain must be at most 100,000"),
        (lambda: Records(least=3, most=2), "a domain must have least <= most, not least = 3"),
        (lambda: Categories(names=("a", "a")), "two or more different names"),
        (lambda: Categories(names="ab"), "categories must be a list of strings, not 'ab'"),
        (lambda: Domain.from_json({"shape": {"form": "trees"}}), "form out of queries, records"),
        (lambda: Domain.from_json({"size": 3}), "unexpected keyword argument 'size'"),
        (lambda: domain_from_text("integer"), "has 'integer'; use integers, non-negative"),
        (lambda: domain_from_text("0..x"), "for its bounds; write a number on both sides"),
        (lambda: Target.dataset(print, epsilon=1.0, domain=Domain()), "a dataset target must have a shape"),
        (lambda: Target.noise(print, epsilon=1.0, domain=Domain(shape=Records())), "must not have a shape"),
        (with_pair("1", "2"), "outside its claim: numbers of a pair must have a numeric type, not '1' and '2'; leave"),
        (with_pair(None, None), "must have a numeric type, not None and None"),
        (with_pair({"a": 1}, {"a": 2}), "must have a numeric type"),
        (with_pair(np.eye(2), np.eye(2)), r"vectors of the same length, not of shapes \(2, 2\) and \(2, 2\)"),
        (with_pair(0.0, [1.0]), r"vectors of the same length, not of shapes \(\) and \(1,\)"),
        (with_pair(math.nan, 0.0), "numbers nan and 0.0 .* further apart than the sensitivity 1.0"),
    ],
)
def test_bad_domains_are_refused_in_one_line(make: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message) as raised:
        make()
    assert "\n" not in str(raised.value)


def test_a_domain_is_written_in_words() -> None:
    assert domain_from_text("integers, 0..100") == Domain(integers=True, bounds=(0, 100))
    assert domain_from_text("non-negative,floats,finite") == Domain(non_negative=True, floats_only=True, special=False)
    assert domain_from_text('{"shape": {"form": "graphs", "nodes": 5}}') == Domain(shape=Graphs(nodes=5))


def test_pairs_are_read_from_a_file_with_every_bit(tmp_path: Path) -> None:
    path = tmp_path / "pairs.json"
    listed = [
        {"first": "0x1.999999999999ap-4", "second": 0},
        {"first": [1, 2], "second": [1], "relation": "add-remove"},
        {"first": ["a"], "second": ["b"], "relation": "substitute"},
    ]
    path.write_text(json.dumps(listed))
    numbers, records, words = read_pairs(path)
    assert (numbers.first, numbers.second, numbers.relation) == (0.1, 0, None)
    assert (records.first.tolist(), records.relation) == ([1, 2], Relation.ADD_REMOVE)
    assert (words.first.tolist(), words.second.tolist()) == (["a"], ["b"])
    forms: list[tuple[Any, Any]] = [
        ([[1, 2], [3, 4]], [[1, 2]]),
        ([[1], [2, 3]], [[1]]),
        ([{"age": 1}], []),
        ({"a": 1, "b": 2}, {"b": 2}),
    ]
    path.write_text(json.dumps([{"first": a, "second": b, "relation": "add-remove"} for a, b in forms]))
    matrices, *others = read_pairs(path)
    assert matrices.first.shape == (2, 2)
    assert [(pair.first, pair.second) for pair in others] == forms[1:]
    path.write_text('[{"first": [1, [2]], "second": [1], "relation": "add-remove"}]')
    with pytest.raises(UsageError, match=r"pair 0 of .* has an input of mixed values"):
        read_pairs(path)
    path.write_text('[{"first": [1], "second": [1], "relation": "substitute"}]')
    with pytest.raises(UsageError, match=r"pair 0 of .*: not neighbouring by substitute"):
        read_pairs(path)


def listed(vectors: list[Any]) -> list[list[Any]]:
    return [vector.tolist() for vector in vectors]


def test_every_vector_of_utilities_is_listed_once() -> None:
    assert listed(all_utilities(2, [0, 1])) == [[0], [1], [0, 0], [0, 1], [1, 0], [1, 1]]
    vectors = listed(all_utilities(4, range(9)))
    assert len({tuple(vector) for vector in vectors}) == len(vectors) == 9 + 9**2 + 9**3 + 9**4


def test_databases_begin_with_the_empty_one_and_hold_records_in_every_order() -> None:
    assert listed(all_databases(1, [0.5, 2])) == [[], [0.5], [2.0]]
    assert [one for one in listed(all_databases(2, ["a", "b"])) if len(set(one)) == 2] == [["a", "b"], ["b", "a"]]
    assert len(all_databases(5, [0, 1, 2])) == sum(3**size for size in range(6))


@pytest.mark.parametrize(("most", "values"), [(0, [1]), (2, []), (2, [1, 1.0]), (9, range(9))])
def test_a_list_that_is_empty_ambiguous_or_endless_is_refused(most: int, values: Any) -> None:
    with pytest.raises(UsageError, match=r"needs a length of at least 1|there are \d{3},\d{3},\d{3} vectors"):
        all_databases(most, values)

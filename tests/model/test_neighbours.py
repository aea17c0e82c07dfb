"""Neighbouring pairs against rational arithmetic and against brute-force edits of datasets and graphs."""

import copy
import dataclasses
import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacklab.model.errors import UsageError
from attacklab.model.neighbours import NeighbouringPair, Relation, fingerprint

finite = st.floats(allow_nan=False, allow_infinity=False)
positive = st.floats(min_value=0, exclude_min=True, allow_infinity=False)


def accepted(first: float, second: float, sensitivity: float) -> bool:
    try:
        NeighbouringPair.answers(first, second, sensitivity=sensitivity)
    except ValueError as error:
        assert "not neighbouring" in str(error)  # noqa: PT017 - of the two outcomes only one raises
        return False
    return True


def within(first: float, second: float, sensitivity: float) -> bool:
    return abs(Fraction(first) - Fraction(second)) <= Fraction(sensitivity)


@given(finite, finite, positive)
@settings(derandomize=True, deadline=None, max_examples=300)
def test_answers_are_compared_exactly(first: float, second: float, sensitivity: float) -> None:
    assert accepted(first, second, sensitivity) == within(first, second, sensitivity)


@given(st.floats(-1e18, 1e18), st.floats(1e-18, 1e18), st.integers(-3, 3), st.booleans())
@settings(derandomize=True, deadline=None, max_examples=300)
def test_answers_a_few_units_in_the_last_place_around_the_sensitivity_are_compared_exactly(
    first: float, sensitivity: float, steps: int, upwards: bool
) -> None:
    second = first + sensitivity if upwards else first - sensitivity
    for _ in range(abs(steps)):
        second = math.nextafter(second, math.copysign(math.inf, steps))
    assert accepted(first, second, sensitivity) == within(first, second, sensitivity)
    assert accepted(second, first, sensitivity) == within(first, second, sensitivity)


def test_utilities_are_neighbours_when_every_coordinate_is() -> None:
    pair = NeighbouringPair.utilities([0.0, 5.0, 3.0], [0.5, 4.5, 3.0], sensitivity=0.5)
    assert pair.relation is None
    assert pair.swapped().first is pair.second
    assert pair.swapped().second is pair.first


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([], [], "non-empty"),
        ([[1.0]], [[1.0]], "non-empty vector, not of shape"),
        ([1.0, math.nan], [1.0, 1.0], "finite; number 1 is not"),
        ([1.0], [math.inf], "finite; number 0 is not"),
        ([1.0], [1.0, 2.0], r"same length, not of shapes \(1,\) and \(2,\)"),
    ],
)
def test_malformed_utilities_are_refused(first: list[float], second: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NeighbouringPair.utilities(first, second, sensitivity=1.0)


@pytest.mark.parametrize("sensitivity", [0.0, -1.0, math.nan, math.inf])
def test_bad_sensitivity_is_refused_by_name(sensitivity: float) -> None:
    with pytest.raises(ValueError, match="sensitivity must be finite and greater than 0"):
        NeighbouringPair.answers(0.0, 0.0, sensitivity=sensitivity)


def is_pair(first: object, second: object, relation: Relation) -> bool:
    try:
        pair = NeighbouringPair.records(first, second, relation)
    except ValueError as error:
        assert f"not neighbouring by {relation}" in str(error)  # noqa: PT017 - of the two outcomes only one raises
        return False
    assert pair.relation is relation
    return True


def test_records_are_neighbours_exactly_when_one_deletion_or_one_change_turns_one_dataset_into_the_other() -> None:
    datasets = [list(one) for size in range(5) for one in itertools.product((0, 1), repeat=size)]
    positives = 0
    for first, second in itertools.product(datasets, repeat=2):
        deletions = [[*first[:place], *first[place + 1 :]] for place in range(len(first))]
        additions = [[*second[:place], *second[place + 1 :]] for place in range(len(second))]
        assert is_pair(first, second, Relation.ADD_REMOVE) == (second in deletions or first in additions)
        changed = len(first) == len(second) and sum(a != b for a, b in zip(first, second, strict=True)) == 1
        assert is_pair(first, second, Relation.SUBSTITUTE) == changed
        positives += changed
    assert positives == sum(size * 2**size for size in range(5))


def test_nan_records_are_equal_and_zeros_of_different_signs_are_not() -> None:
    nan = math.nan
    assert is_pair([nan, 1.0], [nan, 1.0, nan], Relation.ADD_REMOVE)
    assert is_pair([nan, 1.0], [1.0], Relation.ADD_REMOVE)
    assert is_pair([nan, 1.0], [nan, 2.0], Relation.SUBSTITUTE)
    assert not is_pair([nan, 1.0], [nan, 1.0], Relation.SUBSTITUTE)
    assert is_pair([0.0, 1.0], [-0.0, 1.0], Relation.SUBSTITUTE)
    assert not is_pair([0.0, 1.0], [-0.0, 2.0], Relation.SUBSTITUTE)
    assert not is_pair([0.0, 1.0], [-0.0], Relation.ADD_REMOVE)


@dataclasses.dataclass
class Person:
    age: int
    name: str


RAGGED = [[1.0, 2.0], [], [3.0]]
DATASETS: dict[str, Any] = {
    "matrix": np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
    "fields": np.array([(1, 2.5), (3, 4.5), (5, 6.5)], dtype=[("age", "i8"), ("income", "f8")]),
    "lists": [[1, 2], [3, 4], [5, 6]],
    "tuples": [(1, "a"), (2, "b"), (3, "c")],
    "dicts": [{"age": 1}, {"age": 2, "name": "b"}, {"age": 3}],
    "dataclasses": [Person(1, "a"), Person(2, "b"), Person(3, "c")],
    "ragged": RAGGED,
    "arrays": [np.ones(2), np.ones((2, 2)), np.zeros(0)],
    "people": {"a": [1, 2], "b": [3], "c": []},
}


@pytest.mark.parametrize("form", DATASETS)
def test_datasets_of_every_form_are_neighbours_by_one_record_and_stay_as_they_are(form: str) -> None:
    dataset: Any = DATASETS[form]
    without: list[Any]
    replaced: Any
    if isinstance(dataset, dict):
        without = [{key: value for key, value in dataset.items() if key != left_out} for left_out in dataset]
        replaced = {**dataset, "b": [4]}
    else:
        whole = list(dataset)
        without = [whole[:place] + whole[place + 1 :] for place in range(3)]
        replaced = [whole[0], whole[0], whole[2]]
        if isinstance(dataset, np.ndarray):
            without, replaced = [np.array(one, dtype=dataset.dtype) for one in without], dataset[[0, 0, 2]]
    for shorter in without:
        pair = NeighbouringPair.records(dataset, shorter, Relation.ADD_REMOVE)
        assert pair.first is dataset
        assert type(pair.second) is type(dataset)
        assert not is_pair(dataset, shorter, Relation.SUBSTITUTE)
    assert NeighbouringPair.records(dataset, replaced, Relation.SUBSTITUTE).second is replaced
    assert not is_pair(dataset, replaced, Relation.ADD_REMOVE)
    assert not is_pair(without[0], without[2], Relation.ADD_REMOVE)
    assert not is_pair(dataset, copy.deepcopy(dataset), Relation.SUBSTITUTE)


def test_datasets_of_two_forms_or_none_are_refused() -> None:
    for first, second in ((3.0, [3.0, 1.0]), ([(1, 2)], np.array([[1, 2], [3, 4]])), ("ab", "a"), ({"a": 1}, [1])):
        with pytest.raises(ValueError, match="records must be vectors, matrices, lists"):
            NeighbouringPair.records(first, second, Relation.ADD_REMOVE)


class NeitherTrueNorFalse:
    """Compares as a missing value of a data frame does."""

    def __eq__(self, other: object) -> Any:
        return self

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise TypeError("boolean value is ambiguous")


def test_records_are_compared_by_what_they_hold_whatever_their_own_equality_says() -> None:
    missing = NeitherTrueNorFalse()
    assert is_pair([(1, missing), (2, 3)], [(1, NeitherTrueNorFalse())], Relation.ADD_REMOVE)
    assert not is_pair([(1, missing), (2, 3)], [(2, NeitherTrueNorFalse())], Relation.ADD_REMOVE)
    assert is_pair([1, 2**70], [1], Relation.ADD_REMOVE)
    assert is_pair([BIG], [BIG - 1.0], Relation.SUBSTITUTE)
    for first, second in (((1, True), (1, 1)), ((1, "a"), ("1", "a")), ([0.0], [-0.0]), (np.datetime64(1, "D"), 1)):
        assert is_pair([first], [second], Relation.SUBSTITUTE)
        assert fingerprint(first) != fingerprint(second)
    with pytest.raises(UsageError, match=r"of one form, not an array without dimensions"):
        NeighbouringPair.records(np.array(1.0), np.array(2.0), Relation.SUBSTITUTE)


BIG = 2**53 + 1
PLACE = type("Place", (), {"__init__": lambda self, name: setattr(self, "name", name)})
SAME: tuple[tuple[Any, Any], ...] = (
    ([34.5, 29, 41], [34.5, 29, None]),
    ([True, 2.5], [True, None]),
    ([True, 0, 3], [1.0, 0.0, 4]),
    (np.array([BIG, 2], dtype=np.int64), np.array([BIG - 1, 2], dtype=np.uint64)),
    ([{0, 8}, 1], [{8, 0}, 2]),
    ([{"a": ({8, 0},)}, 1], [{"a": ({0, 8},)}, 2]),
    ([PLACE("a"), PLACE("b")], [PLACE("a"), PLACE("c")]),
    (np.array([[1, 2], [3, 4]]), np.array([[1.0, 2.0], [3.5, 4.0]])),
    (np.array([[1.5, 2], [3, 4]]), np.array([[1.5, 2], [3, None]], dtype=object)),
)


@pytest.mark.parametrize(("first", "second"), SAME)
def test_equal_numbers_of_two_types_and_equal_sets_are_one_record(first: Any, second: Any) -> None:
    assert is_pair(first, second, Relation.SUBSTITUTE)


def graphs(nodes: int) -> list[np.ndarray]:
    places = list(itertools.combinations(range(nodes), 2))
    made = []
    for edges in itertools.product((0, 1), repeat=len(places)):
        matrix = np.zeros((nodes, nodes), dtype=int)
        for (one, other), edge in zip(places, edges, strict=True):
            matrix[one, other] = matrix[other, one] = edge
        made.append(matrix)
    return made


def is_graph_pair(first: np.ndarray, second: np.ndarray, relation: Relation) -> bool:
    try:
        NeighbouringPair.graphs(first, second, relation)
    except ValueError as error:
        assert f"not neighbouring by {relation}" in str(error)  # noqa: PT017 - of the two outcomes only one raises
        return False
    return True


def edge_set(matrix: np.ndarray) -> set[tuple[int, int]]:
    return {(int(one), int(other)) for one, other in np.argwhere(np.triu(matrix))}


def test_small_graphs_are_edge_neighbours_exactly_when_their_edge_sets_differ_by_one() -> None:
    for first, second in itertools.product(graphs(3), repeat=2):
        assert is_graph_pair(first, second, Relation.EDGE) == (len(edge_set(first) ^ edge_set(second)) == 1)
    assert not is_graph_pair(graphs(3)[0], graphs(2)[0], Relation.EDGE)


def test_small_graphs_are_node_neighbours_exactly_when_some_node_and_its_edges_are_removed() -> None:
    found = 0
    for larger, smaller in itertools.product(graphs(3), graphs(2)):
        expected = any(
            {(kept.index(one), kept.index(other)) for one, other in edge_set(larger) if one in kept and other in kept}
            == edge_set(smaller)
            for kept in ([1, 2], [0, 2], [0, 1])
        )
        assert is_graph_pair(larger, smaller, Relation.NODE) == expected
        assert is_graph_pair(smaller, larger, Relation.NODE) == expected
        found += expected
    assert 0 < found < len(graphs(3)) * len(graphs(2))
    assert not is_graph_pair(graphs(3)[0], graphs(3)[1], Relation.NODE)


def test_malformed_graphs_and_foreign_relations_are_refused() -> None:
    with pytest.raises(ValueError, match=r"square adjacency matrix, not of shape \(1, 2\)"):
        NeighbouringPair.graphs([[0, 1]], [[0, 1]], Relation.EDGE)
    with pytest.raises(ValueError, match="not symmetric"):
        NeighbouringPair.graphs([[0, 1], [0, 0]], [[0, 0], [0, 0]], Relation.EDGE)
    with pytest.raises(ValueError, match="by node or edge, not by substitute"):
        NeighbouringPair.graphs([[0]], [[0]], Relation.SUBSTITUTE)
    with pytest.raises(ValueError, match="by add-remove or substitute, not by edge"):
        NeighbouringPair.records([0], [1], Relation.EDGE)

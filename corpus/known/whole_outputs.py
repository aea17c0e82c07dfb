"""Outputs that are not numbers: reports, dictionaries, sets, texts and lists that say more than the noisy number."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.domains import Categories, Domain, Queries, Records
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Failure, Target
from corpus.common.exact_noise import (
    coins,
    discrete_laplace,
    joint,
    laplace_law,
    noisy,
    pushed,
)
from corpus.common.specimen import Computed, Rng, Specimen, broken, record_pair, sound

GROUP = "whole outputs"

CITIES = ("ash", "birch", "cedar")
BY_CITY = Domain(shape=Categories(names=CITIES, most=20))
INTEGERS = Domain(shape=Records(most=30), integers=True, bounds=(0, 1))
WORDS = Domain(shape=Records(most=12), integers=True, bounds=(0, 9))


def _cities(first: list[str], second: list[str], relation: Relation) -> NeighbouringPair:
    return NeighbouringPair.records(np.array(first, dtype="<U5"), np.array(second, dtype="<U5"), relation)


CEDAR_ADDED = _cities(["ash", "ash", "cedar"], ["ash", "ash"], Relation.ADD_REMOVE)
ONE_MORE = record_pair([0, 0, 1], [0, 0], Relation.ADD_REMOVE)
ONE_CHANGED = record_pair([0, 0, 1], [0, 0, 0], Relation.SUBSTITUTE)


def _counts(people: NDArray[Any]) -> dict[str, int]:
    return {city: int((people == city).sum()) for city in CITIES}


def sparse_histogram(people: NDArray[Any], trials: int, rng: Rng) -> list[dict[str, float]]:
    counts = {city: count for city, count in _counts(people).items() if count}
    noise = rng.laplace(0.0, 1.0, (trials, len(CITIES)))
    return [{city: count + row[k] for k, (city, count) in enumerate(counts.items())} for row in noise]


def distinct_values(records: NDArray[Any], trials: int, rng: Rng) -> list[set[int]]:
    extra = rng.integers(0, 10, trials)
    return [{*map(int, records), int(value)} for value in extra]


def sum_and_count(records: NDArray[Any], trials: int, rng: Rng) -> list[tuple[int, int]]:
    totals = int(records.sum()) + discrete_laplace(1, trials, rng)
    counts = len(records) + discrete_laplace(1, trials, rng)
    return list(zip(totals.tolist(), counts.tolist(), strict=True))


def ordered_by_truth(people: NDArray[Any], trials: int, rng: Rng) -> list[dict[str, int]]:
    counts = sorted(_counts(people).items(), key=lambda item: -item[1])
    noise = discrete_laplace(1, 3 * trials, rng).reshape(trials, 3)
    return [{city: count + int(n) for (city, count), n in zip(counts, row, strict=True)} for row in noise]


class Answer:
    """A released answer, as a library wraps it in a class of its own."""

    def __init__(self, values: NDArray[np.float64]) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype, copy=copy)


def wrapped_in_class(answers: NDArray[Any], trials: int, rng: Rng) -> list[Answer]:
    noisy = answers[0] + rng.laplace(0.0, 1.0, trials)
    return [Answer(np.array([value, answers[1]])) for value in noisy]


def raises_on_empty(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.float64]:
    if not len(records):
        raise ValueError("no data: cannot compute a total")
    return np.asarray(records.sum() + rng.laplace(0.0, 1.0, trials))


def full_histogram(people: NDArray[Any], trials: int, rng: Rng) -> list[dict[str, int]]:
    noise = discrete_laplace(1, 3 * trials, rng).reshape(trials, 3)
    counts = _counts(people)
    return [{city: counts[city] + int(n) for city, n in zip(CITIES, row, strict=True)} for row in noise]


def sometimes_nothing(records: NDArray[Any], trials: int, rng: Rng) -> list[int | None]:
    lost = coins(Fraction(1, 4), trials, rng)
    noisy = int(records.sum()) + discrete_laplace(1, trials, rng)
    return [None if is_lost else int(total) for is_lost, total in zip(lost, noisy, strict=True)]


# fmt: off
SPECIMENS: tuple[Specimen, ...] = (
    broken(
        "sparse_histogram", Target.dataset, "a key is there only if somebody has that city", sparse_histogram,
        CEDAR_ADDED, lambda output: "cedar" in output, epsilon=1.0, relation="add-remove", domain=BY_CITY
    ),
    broken(
        "rounded_answers", Target.dataset, "answers are rounded to integers and have no noise at all",
        lambda answers, trials, rng: [[int(answer) for answer in answers] for _ in range(trials)],
        NeighbouringPair(np.zeros(4), np.ones(4), None), lambda output: output[0] == 0, epsilon=0.5,
        domain=Domain(shape=Queries(size=4))
    ),
    broken(
        "distinct_values", Target.dataset, "the set holds every value of the data and one decoy", distinct_values,
        record_pair([0, 0, 9], [0, 0, 0], Relation.SUBSTITUTE), lambda output: 9 in output, epsilon=1.0, domain=WORDS
    ),
    broken(
        "sum_and_count", Target.dataset, "a sum and a count have the whole budget each", sum_and_count, ONE_MORE,
        lambda output: output[0] >= 1 and output[1] >= 3, epsilon=1.0, relation="add-remove", domain=INTEGERS
    ),
    broken(
        "ordered_by_truth", Target.dataset, "the keys stand in the order of the true counts", ordered_by_truth,
        _cities(["cedar"], [], Relation.ADD_REMOVE), lambda output: next(iter(output)) == "cedar", epsilon=1.0,
        relation="add-remove", domain=BY_CITY
    ),
    broken(
        "wrapped_in_class", Target.dataset, "the second number of the array that the object turns into has no noise",
        wrapped_in_class, NeighbouringPair(np.array([0.0, 1.0]), np.array([0.0, 0.0]), None),
        lambda output: float(np.asarray(output)[1]) == 1.0, epsilon=1.0, domain=Domain(shape=Queries(size=2))
    ),
    broken(
        "raises_on_empty", Target.dataset, "a query over nobody raises, and over one person does not", raises_on_empty,
        record_pair([1.0], [], Relation.ADD_REMOVE), lambda output: not isinstance(output, Failure), trials=200,
        epsilon=1.0, relation="add-remove", domain=Domain(shape=Records(), bounds=(0, 1))
    ),
    sound(
        "full_histogram", Target.dataset, "all keys are there, and one person moves one count by 1", full_histogram,
        Computed(
            CEDAR_ADDED,
            lambda people: pushed(laplace_law(1), lambda n: _counts(people)["cedar"] + n),
            lambda output: output["cedar"],
        ),
        epsilon=1.0, relation="add-remove", domain=BY_CITY
    ),
    noisy(
        "sum_as_json", Target.dataset, "a text made of an integer with exact noise", 1, ONE_CHANGED,
        lambda n: json.dumps({"query": "sum", "sum": n}), true=lambda records: int(records.sum()), each=True,
        epsilon=1.0, domain=INTEGERS
    ),
    noisy(
        "clamped_to_a_byte", Target.dataset,
        "clamping is post-processing, and shows the mass that it moves to 0 only as it was", 1, ONE_MORE,
        lambda n: bytes([min(255, max(0, n))]), true=lambda records: int(records.sum()), each=True, epsilon=1.0,
        domain=INTEGERS
    ),
    sound(
        "sometimes_nothing", Target.dataset, "one output in four is missing, whatever the data", sometimes_nothing,
        Computed(
            ONE_CHANGED,
            lambda records: pushed(
                joint({True: 1 / 4, False: 3 / 4}, laplace_law(1)),
                lambda draw: None if draw[0] else int(records.sum()) + draw[1],
            ),
        ),
        epsilon=1.0, domain=INTEGERS
    ),
)
# fmt: on

"""Outputs that are not numbers: reports, dictionaries, sets, texts and lists that say more than the noisy number."""

from __future__ import annotations

import json
import struct
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.domains import Categories, Domain, Queries, Records, Streams
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Failure, Target
from corpus.common.exact_noise import (
    coins,
    discrete_laplace,
    joint,
    laplace_law,
    noisy,
    pushed,
    response_law,
    scale_of,
    truth_probability,
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


def report_as_json(records: NDArray[Any], trials: int, rng: Rng) -> list[str]:
    noisy = int(records.sum()) + discrete_laplace(1, trials, rng)
    return [json.dumps({"rows_read": len(records), "sum": int(total)}) for total in noisy]


def distinct_values(records: NDArray[Any], trials: int, rng: Rng) -> list[set[int]]:
    extra = rng.integers(0, 10, trials)
    return [{*map(int, records), int(value)} for value in extra]


def packed_twice(answers: NDArray[Any], trials: int, rng: Rng) -> list[bytes]:
    noise = discrete_laplace(2, trials, rng)
    low, high = int(answers[0]), int(answers[1])
    return [struct.pack("<qq", low + int(n), high + int(n)) for n in noise]


def sum_and_count(records: NDArray[Any], trials: int, rng: Rng) -> list[tuple[int, int]]:
    totals = int(records.sum()) + discrete_laplace(1, trials, rng)
    counts = len(records) + discrete_laplace(1, trials, rng)
    return list(zip(totals.tolist(), counts.tolist(), strict=True))


def noise_per_record(records: NDArray[Any], trials: int, rng: Rng) -> list[list[float]]:
    noise = rng.laplace(0.0, 9.0, (trials, len(records)))
    return [(row + records).tolist() for row in noise]


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


def interval_of_local_width(records: NDArray[Any], trials: int, rng: Rng) -> list[dict[str, Any]]:
    centre = int(records.sum()) + discrete_laplace(1, trials, rng)
    width = round(2.0 * float(np.std(records)) if len(records) else 0.0, 3)
    return [{"estimate": int(c), "interval": {"low": c - width, "high": c + width}} for c in centre]


def digits_of_truth(records: NDArray[Any], trials: int, rng: Rng) -> list[str]:
    total = int(records.sum())
    digits = len(str(total))
    return [f"{total + n:.{digits}f} people" for n in discrete_laplace(1, trials, rng)]


def noise_where_counted(people: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.float64]:
    counts = np.array(list(_counts(people).values()), dtype=float)
    noise = rng.laplace(0.0, 1.0, (trials, len(CITIES)))
    released: NDArray[np.float64] = np.where(counts > 0, counts + noise, 0.0)
    return released


def raises_on_empty(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.float64]:
    if not len(records):
        raise ValueError("no data: cannot compute a total")
    return np.asarray(records.sum() + rng.laplace(0.0, 1.0, trials))


def full_histogram(people: NDArray[Any], trials: int, rng: Rng) -> list[dict[str, int]]:
    noise = discrete_laplace(1, 3 * trials, rng).reshape(trials, 3)
    counts = _counts(people)
    return [{city: counts[city] + int(n) for city, n in zip(CITIES, row, strict=True)} for row in noise]


def answers_of_all(records: NDArray[Any], trials: int, rng: Rng) -> list[list[bool]]:
    lies = ~coins(truth_probability(1.0), trials * len(records), rng).reshape(trials, len(records))
    return [(row ^ (records == 1)).tolist() for row in lies]


def encoded_set(people: NDArray[Any], trials: int, rng: Rng) -> list[frozenset[str]]:
    lies = ~coins(truth_probability(0.5), trials * 3, rng).reshape(trials, 3)
    mine = np.array([people[0] == city for city in CITIES])
    return [frozenset(city for city, is_in in zip(CITIES, row ^ mine, strict=True) if is_in) for row in lies]


def sometimes_nothing(records: NDArray[Any], trials: int, rng: Rng) -> list[int | None]:
    lost = coins(Fraction(1, 4), trials, rng)
    noisy = int(records.sum()) + discrete_laplace(1, trials, rng)
    return [None if is_lost else int(total) for is_lost, total in zip(lost, noisy, strict=True)]


def padded_at_random(records: NDArray[Any], trials: int, rng: Rng) -> list[list[int]]:
    """The noisy count among as many zeros as a public die says."""
    noisy = len(records) + discrete_laplace(1, trials, rng)
    return [[0] * int(k) + [int(count)] for k, count in zip(rng.integers(1, 7, trials), noisy, strict=True)]


# fmt: off
SPECIMENS: tuple[Specimen, ...] = (
    broken(
        "sparse_histogram", Target.dataset, "a key is there only if somebody has that city", sparse_histogram,
        CEDAR_ADDED, lambda output: "cedar" in output, epsilon=1.0, relation="add-remove", domain=BY_CITY
    ),
    broken(
        "report_as_json", Target.dataset, "the report says beside the noisy sum how many rows were read",
        report_as_json, ONE_MORE, lambda output: '"rows_read": 3' in output, epsilon=1.0, relation="add-remove",
        domain=INTEGERS
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
        "packed_twice", Target.dataset, "both numbers have the same noise, so that their difference is exact",
        packed_twice, NeighbouringPair(np.array([1, 0]), np.array([0, 0]), None),
        lambda output: struct.unpack("<qq", output)[0] > struct.unpack("<qq", output)[1], epsilon=1.0,
        domain=Domain(shape=Queries(size=2), integers=True, bounds=(0, 50))
    ),
    broken(
        "sum_and_count", Target.dataset, "a sum and a count have the whole budget each", sum_and_count, ONE_MORE,
        lambda output: output[0] >= 1 and output[1] >= 3, epsilon=1.0, relation="add-remove", domain=INTEGERS
    ),
    broken(
        "noise_per_record", Target.dataset, "the list is as long as the data, whatever is in it", noise_per_record,
        ONE_MORE, lambda output: len(output) == 3, epsilon=1.0, relation="add-remove", domain=WORDS
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
        "interval_of_local_width", Target.dataset,
        "the width of the confidence interval is the data's standard deviation", interval_of_local_width, ONE_CHANGED,
        lambda output: output["interval"]["high"] > output["interval"]["low"], epsilon=1.0, relation="substitute",
        domain=INTEGERS
    ),
    broken(
        "digits_of_truth", Target.dataset, "a number is printed with as many decimals as the true sum has digits",
        digits_of_truth, record_pair([1] * 10, [1] * 9, Relation.ADD_REMOVE),
        lambda output: output.endswith("00 people"), epsilon=1.0,
        domain=Domain(shape=Records(most=15), integers=True, bounds=(0, 1))
    ),
    broken(
        "noise_where_counted", Target.dataset, "cells that nobody is in stay exactly 0", noise_where_counted,
        CEDAR_ADDED, lambda output: output[2] != 0, epsilon=1.0, relation="add-remove", domain=BY_CITY
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
    sound(
        "answers_of_all", Target.dataset, "each person answers by randomized response, and one of them changes",
        answers_of_all,
        Computed(
            record_pair([1, 0, 0, 0, 0], [0, 0, 0, 0, 0], Relation.SUBSTITUTE),
            lambda records: response_law(1.0, bool(records[0]), (False, True)),
            lambda output: output[0],
        ),
        epsilon=1.0, domain=Domain(shape=Streams(length=5), integers=True, bounds=(0, 1))
    ),
    sound(
        "encoded_set", Target.dataset,
        "unary encoding: a person who changes flips two of three coins, each at half of ε", encoded_set,
        Computed(
            _cities(["ash"], ["cedar"], Relation.SUBSTITUTE),
            lambda people: pushed(
                joint(*(response_law(0.5, bool(people[0] == city), (False, True)) for city in CITIES)),
                lambda bits: frozenset(city for city, is_in in zip(CITIES, bits, strict=True) if is_in),
            ),
        ),
        epsilon=1.0, relation="substitute", domain=Domain(shape=Categories(names=CITIES, least=1, most=1))
    ),
    noisy(
        "clamped_to_a_byte", Target.dataset,
        "clamping is post-processing, and shows the mass that it moves to 0 only as it was", 1, ONE_MORE,
        lambda n: bytes([min(255, max(0, n))]), true=lambda records: int(records.sum()), each=True, epsilon=1.0,
        domain=INTEGERS
    ),
    sound(
        "schema_of_table", Target.dataset, "unhashable outputs that are the same whatever the data",
        lambda records, trials, rng: [{"columns": ["age", "income"], "types": ("int", "int")} for _ in range(trials)],
        epsilon=0.1, domain=WORDS
    ),
    noisy(
        "noisy_count_beside_public_text", Target.dataset,
        "a tuple of public text, an exactly noisy count and a dictionary", scale_of(0.25), ONE_MORE,
        lambda n: ("count", n, {"unit": "people"}), true=len, each=True, key=lambda output: output[1], epsilon=0.25,
        relation="add-remove", domain=WORDS
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
    sound(
        "padded_at_random", Target.dataset,
        "lists whose length a public die chooses, with an exactly noisy count at the end", padded_at_random,
        Computed(
            ONE_MORE,
            lambda records: pushed(
                joint(dict.fromkeys(range(1, 7), 1 / 6), laplace_law(1)),
                lambda draw: (draw[0] + 1, len(records) + draw[1]),
            ),
            lambda output: (len(output), output[-1]),
        ),
        epsilon=1.0, relation="add-remove", domain=WORDS
    ),
)
# fmt: on

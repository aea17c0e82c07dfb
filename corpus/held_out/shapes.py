"""Inputs that are matrices, rows of fields, dicts or ragged lists."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.claims import ZeroConcentrated
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target
from corpus.common.specimen import Rng, Specimen, broken, sound
from corpus.held_out.inputs import ADD_REMOVE, noise

GROUP = "shapes of inputs"


def with_normal_noise(total: Any, scale: float, trials: int, rng: Rng) -> NDArray[Any]:
    return np.asarray(np.rint((total + rng.normal(scale=scale, size=(trials, 4))) * 256) / 256)


def gradients_clipped_by_entry(rows: Any, trials: int, rng: Rng) -> NDArray[Any]:
    return with_normal_noise(np.clip(rows, -1, 1).sum(axis=0), 1.0, trials, rng)


def gradients_clipped_by_length(rows: Any, trials: int, rng: Rng) -> NDArray[Any]:
    total = np.sum([row / max(1.0, math.hypot(*row)) for row in np.asarray(rows)], axis=0)
    return with_normal_noise(total, 1.02, trials, rng)


def two_sums(people: Any, epsilon: float, trials: int, rng: Rng) -> NDArray[Any]:
    ages = sum(min(age, 100) for _, age, _ in people)
    incomes = sum(min(int(income), 1000) for _, _, income in people)
    drawn = (noise(epsilon, trials, rng, sensitivity=most) for most in (100, 1000))
    return np.stack([total + added for total, added in zip((ages, incomes), drawn, strict=True)], axis=1)


def keys_of_the_records(table: Any, trials: int, rng: Rng) -> list[dict[str, int]]:
    rows = noise(1.0, trials, rng, size=len(table)).tolist()
    return [{name: table[name] + drawn for name, drawn in zip(table, row, strict=True)} for row in rows]


def of_each_user(users: Any, most: int, epsilon: float, trials: int, rng: Rng) -> NDArray[Any]:
    return sum(sum(user[:most]) for user in users) + noise(epsilon, trials, rng)


def of_distinct_people(rows: Any, trials: int, rng: Rng) -> NDArray[Any]:
    return len({name for name, _ in rows}) + noise(1.0, trials, rng)


def removed(first: Any, second: Any) -> NeighbouringPair:
    return NeighbouringPair(first, second, ADD_REMOVE)


GRADIENTS = removed(np.array([[0.9, 0.9, 0.9, 0.9], [0.1, 0.0, 0.0, 0.2]]), np.array([[0.1, 0.0, 0.0, 0.2]]))
PEOPLE = [("ann", 100, 1000.0), ("bob", 64, 400.0), ("cyd", 22, 0.0)]
ONE_PERSON = removed(PEOPLE, PEOPLE[1:])
THREE_ROWS = removed([("ann", 1), ("ann", 1), ("ann", 1), ("bob", 1)], [("bob", 1)])
TABLES = removed({"x": 3, "y": 1}, {"x": 3})
USERS = removed([[1, 1, 1, 1], [1]], [[1]])
# fmt: off
SPECIMENS: tuple[Specimen, ...] = (
    broken(
        "gradients_clipped_by_entry", Target.dataset, "entries are clipped to 1, the noise is for a length of 1",
        gradients_clipped_by_entry, GRADIENTS, lambda output: output.sum() > 2.5, trials=100_000,
        claim=ZeroConcentrated(0.5), relation=ADD_REMOVE, pairs=(GRADIENTS,)
    ),
    broken(
        "two_sums_at_epsilon", Target.dataset, "two fields are summed, each at the whole budget",
        lambda people, trials, rng: two_sums(people, 1.0, trials, rng), ONE_PERSON,
        lambda output: output[0] >= 186 and output[1] >= 1400, trials=10_000, epsilon=1.0, relation=ADD_REMOVE,
        pairs=(ONE_PERSON,)
    ),
    broken(
        "several_rows_a_person", Target.dataset, "a person has three rows, the noise is for one",
        lambda rows, trials, rng: sum(value for _, value in rows) + noise(1.0, trials, rng), THREE_ROWS,
        lambda output: output >= 4, epsilon=1.0, relation=ADD_REMOVE, pairs=(THREE_ROWS,)
    ),
    broken(
        "keys_of_the_records", Target.dataset, "the keys of a dict come out as they are", keys_of_the_records, TABLES,
        lambda output: "y" in output, epsilon=1.0, relation=ADD_REMOVE, pairs=(TABLES,)
    ),
    broken(
        "user_of_any_length", Target.dataset, "a user's list is not cut, the noise is for one entry",
        lambda users, trials, rng: of_each_user(users, 10**6, 1.0, trials, rng), USERS, lambda output: output >= 5,
        epsilon=1.0, relation=ADD_REMOVE, pairs=(USERS,)
    ),
    sound(
        "gradients_clipped_by_length", Target.dataset, "rows are clipped to a length of 1, and the noise has a margin",
        gradients_clipped_by_length, claim=ZeroConcentrated(0.5), relation=ADD_REMOVE, pairs=(GRADIENTS,)
    ),
    sound(
        "two_sums_at_half", Target.dataset, "two fields are summed, each at half of the budget",
        lambda people, trials, rng: two_sums(people, 0.5, trials, rng), epsilon=1.0, relation=ADD_REMOVE,
        pairs=(ONE_PERSON,)
    ),
    sound(
        "distinct_people", Target.dataset, "however many rows a person has, it counts once", of_distinct_people,
        epsilon=1.0, relation=ADD_REMOVE, pairs=(THREE_ROWS,)
    ),
    sound(
        "user_cut_at_two", Target.dataset, "a user's list is cut to the two entries that the noise is for",
        lambda users, trials, rng: of_each_user(users, 2, 0.5, trials, rng), epsilon=1.0, relation=ADD_REMOVE,
        pairs=(USERS,)
    ),
)
# fmt: on

"""How accurate a repair has to be, and on which inputs: they are drawn anew for each file."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Outputs = NDArray[Any]
Errors = Callable[[Any, Outputs], NDArray[np.float64]]
"""The error of each output of an input."""


@dataclass(frozen=True)
class Use:
    """An input on which a repair has to be accurate.

    Attributes:
        first: the input.
        second: a neighbour of it. A repair that treats the first one specially lets the two be told apart.
        bound: the largest mean error.
    """

    first: Any
    second: Any
    bound: float


Uses = Callable[[np.random.Generator], tuple[Use, ...]]
"""Draws inputs so far apart that no constant output is accurate on all of them."""


def behind(best: Callable[[ArrayLike], Any]) -> Errors:
    """How far the value of the chosen alternative is from the best one's."""

    def errors(input_: Any, outputs: Outputs) -> NDArray[np.float64]:
        values = np.asarray(input_, dtype=np.float64)
        return np.asarray(np.abs(values[outputs] - best(values)))

    return errors


def distance_from(true: Callable[[Any], Any]) -> Errors:
    """How far a number is from the true answer; in an output of several numbers, the first of them."""

    def errors(input_: Any, outputs: Outputs) -> NDArray[np.float64]:
        numbers = np.asarray(outputs, dtype=np.float64).reshape(len(outputs), -1)[:, 0]
        return np.abs(numbers - float(true(input_)))

    return errors


def unlike(true: Callable[[Any], Any]) -> Errors:
    """1 where an output is not the true answer."""

    def errors(input_: Any, outputs: Outputs) -> NDArray[np.float64]:
        return np.asarray(outputs != true(input_), dtype=np.float64)

    return errors


def itself(input_: Any) -> Any:
    """The true answer where the input is the answer."""
    return input_


def alternatives(
    pairs: Sequence[tuple[Sequence[float], Sequence[float]]], best: Callable[[ArrayLike], Any], most: int, bound: float
) -> Uses:
    """Pairs of utilities or costs from 0 to `most`, in another order and moved by an integer, the best ones apart."""

    def uses(rng: np.random.Generator) -> tuple[Use, ...]:
        while True:
            drawn = tuple(Use(*_moved(*pair, most, rng), bound) for pair in pairs)
            if len({int(best(use.first)) for use in drawn}) == len(drawn):
                return drawn

    return uses


def _moved(
    first: Sequence[float], second: Sequence[float], most: int, rng: np.random.Generator
) -> tuple[list[float], list[float]]:
    low, high = min(*first, *second), max(*first, *second)
    by = int(rng.integers(-math.floor(low), most - math.ceil(high), endpoint=True))
    order = rng.permutation(len(first))
    return [first[place] + by for place in order], [second[place] + by for place in order]


def truths(choices: int, bound: float) -> Uses:
    """Two answers of one person, among some choices; each is the other's neighbour."""

    def uses(rng: np.random.Generator) -> tuple[Use, ...]:
        first, second = map(int, rng.permutation(choices)[:2])
        return Use(first, second, bound), Use(second, first, bound)

    return uses


def numbers(ranges: Sequence[tuple[int, int]], bound: float, *, parts: int = 1) -> Uses:
    """One number from each range, a multiple of 1/parts; a neighbour is larger by 1."""

    def uses(rng: np.random.Generator) -> tuple[Use, ...]:
        drawn = [int(rng.integers(low * parts, high * parts, endpoint=True)) for low, high in ranges]
        firsts = drawn if parts == 1 else [number / parts for number in drawn]
        return tuple(Use(first, first + 1, bound) for first in firsts)

    return uses


def leading_categories(rng: np.random.Generator) -> tuple[Use, ...]:
    """Records in which one category leads by 10 or more; one of the others is taken away, or one of its own."""
    leader, minor = map(int, rng.permutation(4)[:2])
    lead = int(rng.integers(10, 80, endpoint=True))
    mixed = [leader] * (lead + 2) + [minor] * 2
    return Use(mixed, mixed[:-1], 0.1), Use([minor] * 14, [minor] * 13, 0.1)


def totals(rng: np.random.Generator) -> tuple[Use, ...]:
    """A few records, and thousands of large ones after hundreds of small ones."""
    few = rng.permutation([10.5, 20.0, 4096.0]).tolist()
    many = [7.0] * 500 + [4096.0] * int(rng.integers(1_000, 5_000, endpoint=True))
    raised = [4096.0 if record == 20.0 else record for record in few]
    return Use(few, raised, 6_000.0), Use(many, [0.0, *many[1:]], 6_000.0)


def means(rng: np.random.Generator) -> tuple[Use, ...]:
    """A low mean and a high one, of 600 records or more."""
    people = [int(count) for count in rng.integers(600, 1_000, size=2, endpoint=True)]
    low = [int(rng.integers(0, 16)) / 64] * people[0]
    ones = int(people[1] * rng.uniform(0.7, 1))
    high = rng.permutation([0.0] * (people[1] - ones) + [1.0] * ones).tolist()
    return tuple(Use(records, records[:-1], 0.1) for records in (low, high))


def baskets(rng: np.random.Generator) -> tuple[Use, ...]:
    """Cheap baskets with some dear ones among them, and dear ones throughout, of 600 people or more."""
    people = [int(count) for count in rng.integers(600, 1_000, size=2, endpoint=True)]
    few = rng.permutation([100.0] * 20 + [float(rng.integers(0, 20))] * (people[0] - 20)).tolist()
    many = rng.integers(60, 100, size=people[1]).astype(float).tolist()
    return tuple(Use(costs, costs[:-1], 3.0) for costs in (few, many))

"""What an output tells besides its noisy number: parts that have none, and formats that show through."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.domains import Categories, Domain, Queries, Records
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Failure, Target
from corpus.common.exact_noise import coins, discrete_laplace, joint, laplace_law, noisy, pushed, scale_of
from corpus.common.specimen import Computed, Rng, Specimen, broken, in_group, record_pair, sound

# Outputs that are not numbers: reports, dictionaries, sets, texts and lists that say more than the noisy number.


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


def ordered_by_truth(people: NDArray[Any], trials: int, rng: Rng) -> list[dict[str, int]]:
    counts = sorted(_counts(people).items(), key=lambda item: -item[1])
    noise = discrete_laplace(1, 3 * trials, rng).reshape(trials, 3)
    return [{city: count + int(n) for (city, count), n in zip(counts, row, strict=True)} for row in noise]


class Answer:
    """A released answer in a class of its own, as libraries have."""

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
WHOLE_OUTPUTS = in_group(
    "whole outputs",
    broken(
        "sparse_histogram", Target.dataset, "a key is there only if somebody has that city", sparse_histogram,
        CEDAR_ADDED, lambda output: "cedar" in output, epsilon=1.0, relation="add-remove", domain=BY_CITY
    ),
    broken(
        "distinct_values", Target.dataset, "the set holds every value of the data and one decoy", distinct_values,
        record_pair([0, 0, 9], [0, 0, 0], Relation.SUBSTITUTE), lambda output: 9 in output, epsilon=1.0, domain=WORDS
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


# Noise in narrow floats, or on a grid, that is handed on in another type, rounded, scaled, or printed.


ZERO_ONE = NeighbouringPair(0.0, 1.0, None)
WHOLE_01 = NeighbouringPair(0, 1, None)
ONE_QUERY = Domain(shape=Queries(size=1))
FIRST_MOVES = NeighbouringPair(np.array([0.0]), np.array([1.0]), None)
SOME_INTEGERS = Domain(integers=True, bounds=(-1000, 1000))


def is_off_grid(value: float, grid: float, *, within: float = 0.0) -> bool:
    """Whether a number below a quarter is further from a multiple of `grid` than `within`."""
    steps = value / grid
    return abs(value) < 0.25 and abs(steps - round(steps)) > within


def laplace32(trials: int, rng: Rng) -> NDArray[np.float32]:
    """Return Laplace noise of scale 1 as textbook code draws it in binary32: a 24-bit uniform, then a logarithm."""
    magnitude = -np.log1p(-rng.random(trials, dtype=np.float32))
    return np.where(rng.random(trials) < 0.5, -magnitude, magnitude).astype(np.float32)


def double_of_binary32(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:
    return np.asarray(np.float32(answer) + laplace32(trials, rng), dtype=np.float64)


def printed_binary32(answers: NDArray[Any], trials: int, rng: Rng) -> list[str]:
    noisy = answers.astype(np.float32)[0] + laplace32(trials, rng)
    return [f"{value:.9g}" for value in noisy]


def half_precision(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:
    noise = (rng.standard_normal(trials) * 4.0).astype(np.float16)
    return np.asarray(np.float16(answer) + noise, dtype=np.float64)


def truncated_to_bfloat16(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:
    cut = laplace32(trials, rng).view(np.uint32) & np.uint32(0xFFFF0000)
    return answer + cut.view(np.float32).astype(np.float64)


def json_record(answers: NDArray[Any], trials: int, rng: Rng) -> list[str]:
    noisy = answers[0] + rng.laplace(0.0, 1.0, trials)
    return [json.dumps({"unit": "m", "value": float(value)}) for value in noisy]


def rows_in_half_precision(answers: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.float16]:
    noise = discrete_laplace(3, 3 * trials, rng).reshape(trials, 3)
    return (answers + noise).astype(np.float16)


def _grid32(value: float) -> bool:
    return is_off_grid(value, 2.0**-24)


# fmt: off
HIDDEN_FORMATS = in_group(
    "hidden formats",
    broken(
        "double_of_binary32", Target.noise, "binary32 noise, cast to doubles at the end", double_of_binary32, ZERO_ONE,
        _grid32, epsilon=1.0
    ),
    broken(
        "printed_binary32", Target.dataset, "binary32 noise printed with nine digits", printed_binary32, FIRST_MOVES,
        lambda output: is_off_grid(float(output), 2.0**-24, within=0.01), epsilon=1.0, domain=ONE_QUERY
    ),
    broken(
        "percentages", Target.noise, "numpy's Laplace in doubles, times 100",
        lambda answer, trials, rng: 100.0 * (answer + rng.laplace(0.0, 1.0, trials)), ZERO_ONE,
        lambda output: abs(output) < 25 and 100.0 * (round(output / 100 * 2.0**53) * 2.0**-53) != output, epsilon=1.0,
        noise_scale=100.0
    ),
    broken(
        "half_precision", Target.noise, "normal noise in binary16, cast to doubles at the end", half_precision,
        ZERO_ONE, lambda output: is_off_grid(output, 2.0**-11), trials=20_000, epsilon=2.0, delta=1e-3, noise_scale=4.0
    ),
    broken(
        "truncated_to_bfloat16", Target.noise, "binary32 noise cut to bfloat16, added in doubles",
        truncated_to_bfloat16, ZERO_ONE, lambda output: is_off_grid(output, 2.0**-8), epsilon=1.0, noise_scale=1.0
    ),
    broken(
        "json_record", Target.dataset, "numpy's Laplace in doubles, printed to the last bit in JSON", json_record,
        FIRST_MOVES, lambda output: is_off_grid(json.loads(output)["value"], 2.0**-53), epsilon=1.0, domain=ONE_QUERY
    ),
    broken(
        "grid_of_noise_only", Target.noise, "noise is rounded to two decimals, the answer is not",
        lambda answer, trials, rng: answer + np.round(rng.laplace(0.0, 1.0, trials), 2),
        NeighbouringPair(0.0, 0.005, None), lambda output: is_off_grid(output / 10, 0.001, within=0.2), epsilon=1.0
    ),
    noisy(
        "tenths", Target.noise, "an integer with exact noise, times 0.1: each integer has one double", 1, WHOLE_01,
        lambda n: n * 0.1, epsilon=1.0, domain=SOME_INTEGERS, noise_scale=0.1
    ),
    noisy(
        "binary32_of_integer", Target.noise, "an integer with exact noise, cast to binary32", scale_of(0.3), WHOLE_01,
        np.float32, epsilon=0.3, domain=SOME_INTEGERS
    ),
    sound(
        "rows_in_half_precision", Target.dataset, "three integers with exact noise, a third of ε each, in binary16",
        rows_in_half_precision, epsilon=1.0, domain=Domain(shape=Queries(size=3), integers=True, bounds=(0, 100))
    ),
)
# fmt: on


SPECIMENS: tuple[Specimen, ...] = (*WHOLE_OUTPUTS, *HIDDEN_FORMATS)

"""Thresholds: sparse vectors, partition selection, quantiles, answers that are suppressed, noisy maxima with values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.domains import Categories, Domain, Queries, Records
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Target
from corpus.common.exact_noise import (
    discrete_laplace,
    laplace_law,
    pushed,
    scale_of,
)
from corpus.common.specimen import Computed, Rng, Specimen, broken, record_pair, sound

GROUP = "thresholds"

TEN = Domain(shape=Queries(size=10), integers=True, bounds=(-20, 20))
PLANTS = ("moss", "fern", "reed")
BY_PLANT = Domain(shape=Categories(names=PLANTS, most=60))
AGES = Domain(shape=Records(least=3, most=21), integers=True, bounds=(0, 9))


def _queries(first: list[int], second: list[int]) -> NeighbouringPair:
    return NeighbouringPair(np.array(first), np.array(second), None)


def _plants(first: list[str], second: list[str]) -> NeighbouringPair:
    kind = "<U4"
    return NeighbouringPair.records(np.array(first, dtype=kind), np.array(second, dtype=kind), Relation.ADD_REMOVE)


def _tests(
    answers: NDArray[Any], trials: int, rng: Rng, *, threshold: float, query: float, stop: int = 10**9
) -> list[list[str]]:
    """Comparisons of noisy answers with a noisy threshold of 0, given the scales of noise; 0 for none."""
    level = rng.laplace(0.0, threshold, trials) if threshold else np.zeros(trials)
    noise = rng.laplace(0.0, query, (trials, len(answers))) if query else np.zeros((trials, len(answers)))
    above = answers + noise >= level[:, None]
    outputs = []
    for row in above.tolist():
        marks: list[str] = []
        for is_above in row:
            marks.append("T" if is_above else "F")
            if marks.count("T") >= stop:
                break
        outputs.append(marks)
    return outputs


def scale_without_count(answers: NDArray[Any], trials: int, rng: Rng) -> list[tuple[str, ...]]:
    return [tuple(row) for row in _tests(answers, trials, rng, threshold=4.0, query=2 / 3, stop=6)]


def low_threshold(people: NDArray[Any], trials: int, rng: Rng) -> list[dict[str, int]]:
    outputs = []
    counts = [(plant, int((people == plant).sum())) for plant in PLANTS]
    for row in discrete_laplace(1, 3 * trials, rng).reshape(trials, 3):
        noisy = {plant: count + int(n) for (plant, count), n in zip(counts, row, strict=True) if count}
        outputs.append({plant: value for plant, value in noisy.items() if value >= 4})
    return outputs


def quantile_of_records(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[Any]:
    """One of the records themselves, chosen by rank: no interval, so what nobody has is never told."""
    ordered = np.sort(records)
    ranks = np.abs(np.arange(len(ordered)) - (len(ordered) - 1) / 2)
    weights = np.exp(-ranks / 2)
    return np.asarray(rng.choice(ordered, trials, p=weights / weights.sum()))


def maximum_with_value(answers: NDArray[Any], trials: int, rng: Rng) -> list[tuple[int, int]]:
    noisy = answers + discrete_laplace(2, trials * len(answers), rng).reshape(trials, len(answers))
    places = noisy.argmax(axis=1)
    return [(int(place), int(row[place])) for place, row in zip(places, noisy, strict=True)]


def stopped_by_truth(answers: NDArray[Any], trials: int, rng: Rng) -> list[int]:
    """How many answers were given until the true total passed 30."""
    count = int(np.argmax(np.cumsum(answers) > 30)) if (np.cumsum(answers) > 30).any() else len(answers)
    return [count] * trials


def above_threshold(answers: NDArray[Any], trials: int, rng: Rng) -> list[int]:
    """The place of the first noisy answer above a noisy threshold, with half of ε for the threshold."""
    level = discrete_laplace(scale_of(0.5), trials, rng)
    noise = discrete_laplace(scale_of(0.5, 2), trials * len(answers), rng).reshape(trials, len(answers))
    above = answers + noise >= level[:, None]
    return [int(row.argmax()) if row.any() else len(answers) for row in above]


def known_keys(people: NDArray[Any], trials: int, rng: Rng) -> list[frozenset[str]]:
    counts = [(plant, int((people == plant).sum())) for plant in PLANTS]
    noise = discrete_laplace(1, 3 * trials, rng).reshape(trials, 3)
    return [frozenset(plant for (plant, count), n in zip(counts, row, strict=True) if count + n >= 3) for row in noise]


def maximum_of_five(answers: NDArray[Any], trials: int, rng: Rng) -> list[int]:
    noise = discrete_laplace(scale_of(1.0, 2), trials * len(answers), rng).reshape(trials, len(answers))
    return [int(place) for place in (answers + noise).argmax(axis=1)]


# fmt: off
SPECIMENS: tuple[Specimen, ...] = (
    broken(
        "queries_without_noise", Target.dataset,
        "only the threshold of a sparse vector has noise, so that no order of answers is ever wrong",
        lambda answers, trials, rng: ["".join(row) for row in _tests(answers, trials, rng, threshold=2.0, query=0.0)],
        _queries([1] * 5 + [0] * 5, [0] * 5 + [1] * 5), lambda output: "T" in output[:5] and "F" in output[5:],
        epsilon=1.0, domain=TEN
    ),
    broken(
        "never_stops", Target.dataset, "a sparse vector that goes on after any number of answers above the threshold",
        lambda answers, trials, rng: _tests(answers, trials, rng, threshold=2.0, query=2.0),
        _queries([1] * 5 + [0] * 5, [0] * 5 + [1] * 5),
        lambda output: output[:5].count("T") - output[5:].count("T") >= 2, epsilon=1.0, domain=TEN
    ),
    broken(
        "public_threshold", Target.dataset, "a sparse vector whose threshold has no noise",
        lambda answers, trials, rng: _tests(answers, trials, rng, threshold=0.0, query=2.0, stop=1),
        _queries([0] * 10, [1] * 10), lambda output: len(output) >= 5, epsilon=0.5, domain=TEN
    ),
    broken(
        "scale_without_count", Target.dataset,
        "the noise of a sparse vector's answers does not grow with how many may be above", scale_without_count,
        _queries([1] * 5 + [0] * 5, [0] * 5 + [1] * 5),
        lambda output: len(output) == 10 and output[:5].count("T") - output[5:].count("T") >= 3, epsilon=1.0, domain=TEN
    ),
    broken(
        "low_threshold", Target.dataset, "a key with one person passes the threshold more often than δ allows",
        low_threshold, _plants(["moss", "reed"], ["moss"]), lambda output: "reed" in output, epsilon=1.0, delta=1e-5,
        relation="add-remove", domain=BY_PLANT
    ),
    broken(
        "quantile_of_records", Target.dataset,
        "a quantile is one of the records, so that a value that nobody has is never told", quantile_of_records,
        record_pair([0, 0, 9], [0, 0, 0]), lambda output: output == 9, epsilon=1.0, relation="substitute", domain=AGES
    ),
    broken(
        "maximum_with_value", Target.dataset, "a noisy maximum that tells the value, with noise for the place alone",
        maximum_with_value, _queries([0] * 10, [1] * 10), lambda output: output[1] <= 1, trials=50_000, epsilon=1.0,
        domain=TEN
    ),
    broken(
        "stopped_by_truth", Target.dataset, "answers end when the true total passes 30", stopped_by_truth,
        _queries([3] * 10, [4] * 10), lambda output: output == 10, epsilon=1.0, domain=TEN,
        pairs=(_queries([3] * 10, [4] * 10),)
    ),
    sound(
        "above_threshold", Target.dataset, "AboveThreshold with exact noise, one answer above", above_threshold,
        Computed(_queries([0] * 5 + [1] * 5, [1] * 5 + [0] * 5), lambda answers: _first_above(answers)), epsilon=1.0,
        domain=TEN
    ),
    sound(
        "known_keys", Target.dataset, "a threshold on exactly noisy counts of keys that are public", known_keys,
        Computed(
            _plants(["reed"] * 3, ["reed"] * 2),
            lambda people: pushed(laplace_law(1), lambda n: int((people == "reed").sum()) + n >= 3),
            lambda output: "reed" in output,
        ),
        epsilon=1.0, relation="add-remove", domain=BY_PLANT
    ),
    sound(
        "maximum_of_five", Target.dataset, "the place of a noisy maximum, with exact noise", maximum_of_five,
        Computed(_queries([1, 0, 0, 0, 0], [0, 1, 1, 1, 1]), lambda answers: _place_of_maximum(answers)), epsilon=1.0,
        domain=Domain(shape=Queries(size=5), integers=True, bounds=(0, 20))
    ),
)
# fmt: on


def _below(law: dict[int, float], bound: int) -> float:
    return sum(mass for n, mass in law.items() if n < bound)


def _first_above(answers: NDArray[Any]) -> dict[int, float]:
    noise = laplace_law(4)
    result = dict.fromkeys(range(len(answers) + 1), 0.0)
    for level, mass in laplace_law(2).items():
        left = mass
        for place, answer in enumerate(answers):
            below = _below(noise, level - int(answer))
            result[place] += left * (1 - below)
            left *= below
        result[len(answers)] += left
    return result


def _place_of_maximum(answers: NDArray[Any]) -> dict[int, float]:
    """Ties go to the lowest place."""
    noise = laplace_law(2)
    return {
        place: sum(
            mass
            * math.prod(
                _below(noise, int(answer) + n - int(rival_answer) + (rival > place))
                for rival, rival_answer in enumerate(answers)
                if rival != place
            )
            for n, mass in noise.items()
        )
        for place, answer in enumerate(answers)
    }

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
    coins,
    discrete_laplace,
    laplace_law,
    noisy,
    pushed,
    response_law,
    scale_of,
    truth_probability,
    weighted,
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


def numeric_with_same_noise(answers: NDArray[Any], trials: int, rng: Rng) -> list[list[float | None]]:
    """Lee and Clifton's kind: the value that passed the test is released as it is."""
    level = np.rint(rng.laplace(0.0, 2.0, trials))
    noise = np.rint(rng.laplace(0.0, 1.5, (trials, len(answers))))
    outputs: list[list[float | None]] = []
    for at, row in zip(level, answers + noise, strict=True):
        first = int(np.argmax(row >= at)) if (row >= at).any() else len(row)
        outputs.append([None] * first + [float(value) for value in row[first : first + 1]])
    return outputs


def low_threshold(people: NDArray[Any], trials: int, rng: Rng) -> list[dict[str, int]]:
    outputs = []
    counts = [(plant, int((people == plant).sum())) for plant in PLANTS]
    for row in discrete_laplace(1, 3 * trials, rng).reshape(trials, 3):
        noisy = {plant: count + int(n) for (plant, count), n in zip(counts, row, strict=True) if count}
        outputs.append({plant: value for plant, value in noisy.items() if value >= 4})
    return outputs


def threshold_on_truth(people: NDArray[Any], trials: int, rng: Rng) -> list[set[str]]:
    counts = [(plant, int((people == plant).sum())) for plant in PLANTS]
    kept = {plant for plant, count in counts if count >= 5}
    return [set(kept) for _ in range(trials)]


def small_counts_suppressed(people: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.int64]:
    counts = np.array([int((people == plant).sum()) for plant in PLANTS])
    noise = discrete_laplace(1, 3 * trials, rng).reshape(trials, 3)
    return np.asarray(np.where(counts < 3, 0, counts + noise))


def quantile_of_records(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[Any]:
    """One of the records themselves, chosen by rank: no interval, so what nobody has is never told."""
    ordered = np.sort(records)
    ranks = np.abs(np.arange(len(ordered)) - (len(ordered) - 1) / 2)
    weights = np.exp(-ranks / 2)
    return np.asarray(rng.choice(ordered, trials, p=weights / weights.sum()))


def intervals_of_width_zero(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.float64]:
    """The exponential mechanism over the intervals between records, the empty ones padded so that they count."""
    edges = np.concatenate([[0.0], np.sort(records), [9.0]])
    widths = np.maximum(np.diff(edges), 0.1)
    weights = widths * np.exp(-np.abs(np.arange(len(widths)) - len(records) / 2) / 2)
    chosen = np.searchsorted(np.cumsum(weights), rng.random(trials) * weights.sum(), side="right")
    return np.asarray(np.round(edges[:-1][chosen] + np.diff(edges)[chosen] * rng.random(trials), 6))


def maximum_with_value(answers: NDArray[Any], trials: int, rng: Rng) -> list[tuple[int, int]]:
    noisy = answers + discrete_laplace(2, trials * len(answers), rng).reshape(trials, len(answers))
    places = noisy.argmax(axis=1)
    return [(int(place), int(row[place])) for place, row in zip(places, noisy, strict=True)]


def stopped_by_truth(answers: NDArray[Any], trials: int, rng: Rng) -> list[int]:
    """How many answers were given until the true total passed 30."""
    count = int(np.argmax(np.cumsum(answers) > 30)) if (np.cumsum(answers) > 30).any() else len(answers)
    return [count] * trials


def nothing_of_few(records: NDArray[Any], trials: int, rng: Rng) -> list[int | None]:
    if len(records) < 5:
        return [None] * trials
    noisy: list[int | None] = (int(records.sum()) + discrete_laplace(9, trials, rng)).tolist()
    return noisy


def noise_on_the_large(answer: int, trials: int, rng: Rng) -> NDArray[np.int64]:
    noise = discrete_laplace(2, trials, rng)
    return np.asarray(np.where(answer + noise > 6, answer, answer + noise))


def above_threshold(answers: NDArray[Any], trials: int, rng: Rng) -> list[int]:
    """The place of the first noisy answer above a noisy threshold, with half of ε for the threshold."""
    level = discrete_laplace(scale_of(0.5), trials, rng)
    noise = discrete_laplace(scale_of(0.5, 2), trials * len(answers), rng).reshape(trials, len(answers))
    above = answers + noise >= level[:, None]
    return [int(row.argmax()) if row.any() else len(answers) for row in above]


def high_threshold(people: NDArray[Any], trials: int, rng: Rng) -> list[dict[str, int]]:
    """Keys are told if their noisy count reaches 15: somebody alone does with probability e^−14/(1 + e^−1) < 10^−6."""
    outputs = []
    counts = [(plant, int((people == plant).sum())) for plant in PLANTS]
    for row in discrete_laplace(1, 3 * trials, rng).reshape(trials, 3):
        noisy = {plant: count + int(n) for (plant, count), n in zip(counts, row, strict=True) if count}
        outputs.append({plant: value for plant, value in noisy.items() if value >= 15})
    return outputs


def _digit_weights(records: NDArray[Any]) -> list[int]:
    """2^−|records below − records above| of each digit, in units of 2^−21: one change moves either count by 1."""
    return [2 ** (21 - abs(int((records < digit).sum()) - int((records > digit).sum()))) for digit in range(10)]


def known_keys(people: NDArray[Any], trials: int, rng: Rng) -> list[frozenset[str]]:
    counts = [(plant, int((people == plant).sum())) for plant in PLANTS]
    noise = discrete_laplace(1, 3 * trials, rng).reshape(trials, 3)
    return [frozenset(plant for (plant, count), n in zip(counts, row, strict=True) if count + n >= 3) for row in noise]


def vote_of_all(records: NDArray[Any], trials: int, rng: Rng) -> list[bool]:
    lies = ~coins(truth_probability(0.5), trials, rng)
    return [bool(lie ^ (records.sum() > 20)) for lie in lies]


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
        "numeric_with_same_noise", Target.dataset,
        "the answer that passed is released with the noise that it passed with, at no further cost",
        numeric_with_same_noise, _queries([0] * 5 + [1] * 5, [1] * 5 + [0] * 5),
        lambda output: len(output) >= 4 and output[-1] is not None and output[-1] <= min(3, len(output) - 3),
        trials=50_000, epsilon=1.0, domain=TEN
    ),
    broken(
        "low_threshold", Target.dataset, "a key with one person passes the threshold more often than δ allows",
        low_threshold, _plants(["moss", "reed"], ["moss"]), lambda output: "reed" in output, epsilon=1.0, delta=1e-5,
        relation="add-remove", domain=BY_PLANT
    ),
    broken(
        "threshold_on_truth", Target.dataset, "keys are told where the true count reaches 5", threshold_on_truth,
        _plants(["fern"] * 5, ["fern"] * 4), lambda output: "fern" in output, epsilon=1.0, relation="add-remove",
        domain=BY_PLANT, pairs=(_plants(["fern"] * 5, ["fern"] * 4),)
    ),
    broken(
        "small_counts_suppressed", Target.dataset, "true counts below 3 are set to 0", small_counts_suppressed,
        _plants(["moss"] * 3, ["moss"] * 2), lambda output: output[0] != 0, epsilon=1.0, relation="add-remove",
        domain=Domain(shape=Categories(names=PLANTS, most=4))
    ),
    broken(
        "quantile_of_records", Target.dataset,
        "a quantile is one of the records, so that a value that nobody has is never told", quantile_of_records,
        record_pair([0, 0, 9], [0, 0, 0]), lambda output: output == 9, epsilon=1.0, relation="substitute", domain=AGES
    ),
    broken(
        "intervals_of_width_zero", Target.dataset,
        "intervals of no width get a weight, and tell the value that people share", intervals_of_width_zero,
        record_pair([5, 5, 0], [5, 0, 0]), lambda output: output == 5.0, trials=20_000, epsilon=1.0,
        relation="substitute", domain=AGES
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
    broken(
        "nothing_of_few", Target.dataset, "nothing is told of fewer than five people, without noise on their number",
        nothing_of_few, record_pair([0] * 5, [0] * 4, Relation.ADD_REMOVE), lambda output: output is None, epsilon=1.0,
        relation="add-remove", domain=Domain(shape=Records(most=5), integers=True, bounds=(0, 9))
    ),
    broken(
        "noise_on_the_large", Target.noise, "an answer whose noisy value is large is told as it is", noise_on_the_large,
        NeighbouringPair(7, 8, None), lambda output: output == 8, epsilon=0.5,
        domain=Domain(integers=True, bounds=(0, 12))
    ),
    sound(
        "above_threshold", Target.dataset, "AboveThreshold with exact noise, one answer above", above_threshold,
        Computed(_queries([0] * 5 + [1] * 5, [1] * 5 + [0] * 5), lambda answers: _first_above(answers)), epsilon=1.0,
        domain=TEN
    ),
    sound(
        "high_threshold", Target.dataset, "a key with one person passes the threshold with a probability below δ",
        high_threshold,
        Computed(
            _plants(["moss", "reed"], ["moss"]),
            lambda people: pushed(
                laplace_law(1), lambda n: int((people == "reed").sum()) + n >= 15 and bool((people == "reed").any())
            ),
            lambda output: "reed" in output,
        ),
        epsilon=1.0, delta=1e-6, relation="add-remove", domain=BY_PLANT
    ),
    sound(
        "quantile_on_digits", Target.dataset, "the exponential mechanism over all ten digits with integer weights",
        lambda records, trials, rng: weighted(_digit_weights(records), trials, rng),
        Computed(
            record_pair([0, 0, 9], [0, 0, 0]),
            lambda records: {
                digit: weight / sum(_digit_weights(records)) for digit, weight in enumerate(_digit_weights(records))
            },
        ),
        epsilon=4 * math.log(2) + 1e-12, relation="substitute", domain=AGES
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
    noisy(
        "noisy_count_decides", Target.dataset, "a word that a noisy count chooses", 2,
        record_pair([0] * 5, [0] * 4, Relation.ADD_REMOVE), lambda n: "many" if n >= 5 else "few", true=len, each=True,
        epsilon=0.5, relation="add-remove", domain=Domain(shape=Records(most=10), integers=True, bounds=(0, 9))
    ),
    sound(
        "vote_of_all", Target.dataset,
        "randomized response on whether a total is large: the true answer may flip at one record", vote_of_all,
        Computed(
            record_pair([9, 9, 9], [9, 9, 0]),
            lambda records: response_law(0.5, bool(records.sum() > 20), (False, True)),
        ),
        epsilon=0.5, relation="substitute", domain=AGES
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

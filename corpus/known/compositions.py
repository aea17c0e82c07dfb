"""Budgets, thresholds and streams."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.claims import Renyi, ZeroConcentrated
from attacklab.model.domains import Categories, Domain, Queries, Records, Streams
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.random_bits import SeededBits
from attacklab.model.targets import Target
from corpus.common.exact_noise import (
    answered,
    coins,
    discrete_laplace,
    laplace_law,
    pushed,
    response_law,
    scale_of,
    truth_probability,
)
from corpus.common.specimen import Computed, Rng, Specimen, broken, in_group, record_pair, sound
from mechanisms.core.grid import Grid
from mechanisms.gaussian.exact import exact_discrete_gaussian

# Budgets spent twice, at large ε, in other currencies of privacy, by groups, and by samples that amplify too much.


WHOLE = Domain(integers=True, bounds=(-1000, 1000))
BIT = Domain(integers=True, bounds=(0, 1))
ZERO_ONE = NeighbouringPair(0, 1, None)
PEOPLE = Domain(shape=Records(most=40), integers=True, bounds=(0, 1))
CROWD = Domain(shape=Records(least=10, most=10), integers=True, bounds=(0, 1))


def _normal(answer: float, sigma: float, trials: int, rng: Rng) -> NDArray[np.float64]:
    return np.asarray(exact_discrete_gaussian(sigma, grid=Grid(0)).many(answer, trials, SeededBits(rng)))


def ten_queries(answers: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.int64]:
    noise = discrete_laplace(scale_of(0.3), trials * 10, rng).reshape(trials, 10)
    return np.asarray(answers + noise)


def truth_with_one_percent(answer: int, trials: int, rng: Rng) -> NDArray[np.int64]:
    noisy = answer + discrete_laplace(1, trials, rng)
    leaks = coins(Fraction(1, 100), trials, rng)
    return np.asarray(np.where(leaks, answer + 10_000, noisy))


def sampled_then_amplified(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.int64]:
    """Return noisy counts (ε = 3) of a sample of one in ten people; the claim is a tenth of that ε."""
    asked = rng.random((trials, len(records))) < 0.1
    return np.asarray(asked @ records + discrete_laplace(scale_of(3.0), trials, rng))


def one_sample_for_all(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.int64]:
    """Return noisy counts of a fixed sample: the first tenth of the records, in their order."""
    total = int(records[: max(1, len(records) // 10)].sum())
    return np.asarray(total + discrete_laplace(scale_of(1.0), trials, rng))


def shuffled_answers(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.int64]:
    """Return how many of ten people say yes by randomized response of ε = 2; the claim is 2/√10."""
    lies = rng.random((trials, len(records))) >= float(truth_probability(2.0))
    return np.asarray((lies ^ (records == 1)).sum(axis=1))


def name_and_shame(records: NDArray[Any], trials: int, rng: Rng) -> list[tuple[int, int]]:
    """Return the first record in the clear with probability 1/1000, which is exactly a δ of 1/1000."""
    leaks = coins(Fraction(1, 1000), trials, rng)
    return [(int(records[0]), 1) if tell else (0, 0) for tell in leaks]


def sampled_rightly(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.int64]:
    asked = coins(Fraction(1, 10), trials * len(records), rng).reshape(trials, len(records))
    return np.asarray(asked @ records + discrete_laplace(scale_of(3.0), trials, rng))


AMPLIFIED = math.log1p(0.1 * math.expm1(3.0)) + 1e-12

# fmt: off
BUDGETS = in_group(
    "budgets",
    broken(
        "answers_with_six", Target.noise, "randomized response of ε = 6 claims 5", partial(answered, epsilon=6.0),
        ZERO_ONE, lambda output: output == 0, trials=60_000, epsilon=5.0, domain=BIT
    ),
    broken(
        "ten_queries", Target.dataset, "ten answers of ε = 0.3 each claim 1", ten_queries,
        NeighbouringPair(np.zeros(10, dtype=np.int64), np.ones(10, dtype=np.int64), None),
        lambda output: float(np.clip(output, 0, 1).sum()) <= 3, trials=20_000, epsilon=1.0,
        domain=Domain(shape=Queries(size=10), integers=True, bounds=(0, 50))
    ),
    broken(
        "half_of_rho", Target.noise, "discrete Gaussian noise of ρ = 1/2 claims half of that",
        lambda answer, trials, rng: _normal(answer, math.sqrt(1 / 1.0), trials, rng), ZERO_ONE,
        lambda output: output <= 0, trials=20_000, claim=ZeroConcentrated(0.25), domain=WHOLE
    ),
    broken(
        "renyi_of_other_order", Target.noise,
        "the divergence of order 8 is 4, and the claim's 0.6 is nearer to that of order 1",
        lambda answer, trials, rng: _normal(answer, 1.0, trials, rng), ZERO_ONE, lambda output: output <= -1,
        claim=Renyi(8.0, 0.6), domain=WHOLE
    ),
    broken(
        "truth_with_one_percent", Target.noise, "one output in a hundred tells the answer, ten times the claimed δ",
        truth_with_one_percent, ZERO_ONE, lambda output: output == 10_000, trials=20_000, epsilon=1.0, delta=1e-3,
        domain=WHOLE
    ),
    broken(
        "sampled_then_amplified", Target.dataset,
        "amplification by sampling taken for a factor, which it is for small ε only", sampled_then_amplified,
        NeighbouringPair.records(np.array([1]), np.array([], dtype=np.int64), Relation.ADD_REMOVE),
        lambda output: output >= 1, trials=20_000, epsilon=0.3, relation="add-remove", domain=PEOPLE
    ),
    broken(
        "one_sample_for_all", Target.dataset, "the sample is not random, and amplifies nothing", one_sample_for_all,
        record_pair([1] + [0] * 9, [0] * 10), lambda output: output >= 1, epsilon=0.2, relation="substitute",
        domain=PEOPLE
    ),
    broken(
        "shuffled_answers", Target.dataset, "ten shuffled answers do not hide each other as well as the claim says",
        shuffled_answers, record_pair([1] + [0] * 9, [0] * 10), lambda output: output >= 5, trials=100_000,
        epsilon=2 / math.sqrt(10), relation="substitute", domain=CROWD
    ),
    sound(
        "answers_with_eight", Target.noise, "randomized response of ε = 8", partial(answered, epsilon=8.0),
        Computed(ZERO_ONE, lambda answer: response_law(8.0, answer, (0, 1))), epsilon=8.0, domain=BIT
    ),
    sound(
        "name_and_shame", Target.dataset, "one output in a thousand is the truth, which is the claimed δ",
        name_and_shame,
        Computed(
            NeighbouringPair.records(np.array([9, 0, 0]), np.array([0, 0, 0]), Relation.SUBSTITUTE),
            lambda records: {(int(records[0]), 1): 0.001, (0, 0): 0.999},
        ),
        epsilon=0.5, delta=0.001, domain=Domain(shape=Streams(length=3), integers=True, bounds=(0, 9))
    ),
    sound(
        "sampled_rightly", Target.dataset,
        "one in ten people is asked with ε = 3, which is log(1 + (e^3 − 1)/10) for those who may be asked",
        sampled_rightly,
        Computed(
            NeighbouringPair.records(np.array([1]), np.array([], dtype=np.int64), Relation.ADD_REMOVE),
            lambda records: _sampled(len(records)),
        ),
        epsilon=AMPLIFIED, relation="add-remove", domain=PEOPLE
    ),
)
# fmt: on


def _sampled(people: int) -> dict[int, float]:
    law = laplace_law(scale_of(3.0))
    if not people:
        return dict(law)
    return {n: 0.9 * law.get(n, 0.0) + 0.1 * law.get(n - 1, 0.0) for n in law}


# Thresholds: sparse vectors, partition selection, quantiles, answers that are suppressed, noisy maxima with values.


TEN = Domain(shape=Queries(size=10), integers=True, bounds=(-20, 20))
PLANTS = ("moss", "fern", "reed")
BY_PLANT = Domain(shape=Categories(names=PLANTS, most=60))
AGES = Domain(shape=Records(least=3, most=21), integers=True, bounds=(0, 9))


def _queries(first: list[int], second: list[int]) -> NeighbouringPair:
    return NeighbouringPair(np.array(first), np.array(second), None)


def _plants(first: list[str], second: list[str]) -> NeighbouringPair:
    kind = "<U4"
    return NeighbouringPair.records(np.array(first, dtype=kind), np.array(second, dtype=kind), Relation.ADD_REMOVE)


REED = _plants(["moss", "reed"], ["moss"])


def _tests(
    answers: NDArray[Any], trials: int, rng: Rng, *, threshold: float, query: float, stop: int = 10**9
) -> list[list[str]]:
    """Return comparisons (T or F) of noisy answers with a noisy threshold of 0; a noise scale of 0 means none."""
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


def low_threshold(people: NDArray[Any], trials: int, rng: Rng) -> list[dict[str, int]]:
    outputs = []
    counts = [(plant, int((people == plant).sum())) for plant in PLANTS]
    for row in discrete_laplace(1, 3 * trials, rng).reshape(trials, 3):
        noisy = {plant: count + int(n) for (plant, count), n in zip(counts, row, strict=True) if count}
        outputs.append({plant: value for plant, value in noisy.items() if value >= 4})
    return outputs


def quantile_of_records(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[Any]:
    """Return one of the records, chosen by rank; a number that nobody has can never come out."""
    ordered = np.sort(records)
    ranks = np.abs(np.arange(len(ordered)) - (len(ordered) - 1) / 2)
    weights = np.exp(-ranks / 2)
    return np.asarray(rng.choice(ordered, trials, p=weights / weights.sum()))


def maximum_with_value(answers: NDArray[Any], trials: int, rng: Rng) -> list[tuple[int, int]]:
    noisy = answers + discrete_laplace(2, trials * len(answers), rng).reshape(trials, len(answers))
    places = noisy.argmax(axis=1)
    return [(int(place), int(row[place])) for place, row in zip(places, noisy, strict=True)]


def above_threshold(answers: NDArray[Any], trials: int, rng: Rng) -> list[int]:
    """Return the index of the first noisy answer above a noisy threshold, with half of ε for the threshold."""
    level = discrete_laplace(scale_of(0.5), trials, rng)
    noise = discrete_laplace(scale_of(0.5, 2), trials * len(answers), rng).reshape(trials, len(answers))
    above = answers + noise >= level[:, None]
    return [int(row.argmax()) if row.any() else len(answers) for row in above]


def known_keys(people: NDArray[Any], trials: int, rng: Rng) -> list[frozenset[str]]:
    counts = [(plant, int((people == plant).sum())) for plant in PLANTS]
    noise = discrete_laplace(1, 3 * trials, rng).reshape(trials, 3)
    return [frozenset(plant for (plant, count), n in zip(counts, row, strict=True) if count + n >= 3) for row in noise]


# fmt: off
THRESHOLDS = in_group(
    "thresholds",
    broken(
        "queries_without_noise", Target.dataset,
        "only the threshold of a sparse vector has noise, so that no order of answers is ever wrong",
        lambda answers, trials, rng: ["".join(row) for row in _tests(answers, trials, rng, threshold=2.0, query=0.0)],
        _queries([1] * 5 + [0] * 5, [0] * 5 + [1] * 5), lambda output: "T" in output[:5] and "F" in output[5:],
        epsilon=1.0, domain=TEN
    ),
    broken(
        "low_threshold", Target.dataset, "a key with one person passes the threshold more often than δ allows",
        low_threshold, REED, lambda output: "reed" in output, epsilon=1.0, delta=1e-5,
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


# Streams of numbers, reports that people send themselves, and an adversary who asks again.


STEPS = 8
STREAM = Domain(shape=Streams(length=STEPS), integers=True, bounds=(0, 1))
SITES = ("a.org", "b.org", "c.org", "d.org")
ONE_SITE = Domain(shape=Categories(names=SITES, least=1, most=1))


FIRST_STEP = record_pair([1] + [0] * 7, [0] * 8)
LAST_STEP = record_pair([0] * 7 + [1], [0] * 8)
ONE_A_B = NeighbouringPair.records(np.array(["a.org"]), np.array(["b.org"]), Relation.SUBSTITUTE)


def _rows(scale: Fraction | int, trials: int, width: int, rng: Rng) -> NDArray[np.int64]:
    return discrete_laplace(scale, trials * width, rng).reshape(trials, width)


def stops_when_busy(stream: NDArray[Any], trials: int, rng: Rng) -> list[list[int]]:
    """Return the stream with noise, up to its first true 1."""
    until = int(np.argmax(stream == 1)) if (stream == 1).any() else STEPS
    return [(stream[:until] + row[:until]).tolist() for row in _rows(1, trials, STEPS, rng)]


def noisy_unary(sites: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.bool_]:
    """Return one bit for each site, true with probability 0.75 for the person's own site and 0.05 for others."""
    mine = np.array([site == sites[0] for site in SITES])
    return np.asarray(rng.random((trials, len(SITES))) < np.where(mine, 0.75, 0.05))


def site_by_response(sites: NDArray[Any], trials: int, rng: Rng) -> list[str]:
    truth = coins(truth_probability(1.0, len(SITES)), trials, rng)
    others = [site for site in SITES if site != sites[0]]
    guesses = rng.integers(0, len(others), trials)
    return [str(sites[0]) if is_true else others[guess] for is_true, guess in zip(truth, guesses, strict=True)]


# fmt: off
STREAMS = in_group(
    "streams and local reports",
    broken(
        "fresh_noise_on_totals", Target.dataset,
        "running totals with fresh noise each: the first step is part of all eight",
        lambda stream, trials, rng: np.cumsum(stream) + _rows(1, trials, STEPS, rng), FIRST_STEP,
        lambda output: float(np.clip(output, 0, 1).sum()) >= 6, epsilon=1.0, domain=STREAM
    ),
    broken(
        "stops_when_busy", Target.dataset, "the answers end at the first true 1", stops_when_busy, LAST_STEP,
        lambda output: len(output) == 8, epsilon=1.0, domain=STREAM
    ),
    broken(
        "noisy_unary", Target.dataset, "two bits differ, and the claim counts one", noisy_unary, ONE_A_B,
        lambda output: bool(output[0] and not output[1]), epsilon=2.0, relation="substitute", domain=ONE_SITE
    ),
    sound(
        "noisy_stream", Target.dataset, "exact noise on each step, of which one changes",
        lambda stream, trials, rng: [row.tolist() for row in stream + _rows(1, trials, STEPS, rng)],
        Computed(
            FIRST_STEP, lambda stream: pushed(laplace_law(1), lambda n: int(stream[0]) + n), lambda output: output[0]
        ),
        epsilon=1.0, domain=STREAM
    ),
    sound(
        "site_by_response", Target.dataset, "randomized response among four sites", site_by_response,
        Computed(ONE_A_B, lambda sites: response_law(1.0, sites[0], SITES)), epsilon=1.0, relation="substitute",
        domain=ONE_SITE
    ),
)
# fmt: on


SPECIMENS: tuple[Specimen, ...] = (*BUDGETS, *THRESHOLDS, *STREAMS)

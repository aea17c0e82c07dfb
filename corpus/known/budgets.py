"""Budgets spent twice, at large ε, in other currencies of privacy, by groups, and by samples that amplify too much."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.claims import Renyi, ZeroConcentrated
from attacklab.model.domains import Domain, Queries, Records, Streams
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.random_bits import SeededBits
from attacklab.model.targets import Target
from corpus.common.exact_noise import (
    answered,
    coins,
    discrete_laplace,
    laplace_law,
    noisy,
    response_law,
    scale_of,
    truth_probability,
)
from corpus.common.specimen import Computed, Rng, Specimen, broken, record_pair, sound
from mechanisms.core.grid import Grid
from mechanisms.gaussian.exact import exact_discrete_gaussian

GROUP = "budgets"

WHOLE = Domain(integers=True, bounds=(-1000, 1000))
BIT = Domain(integers=True, bounds=(0, 1))
ZERO_ONE = NeighbouringPair(0, 1, None)
PEOPLE = Domain(shape=Records(most=40), integers=True, bounds=(0, 1))
TWO_PEOPLE = NeighbouringPair(np.array([0, 0, 1]), np.array([1, 1, 1]), None)
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
    """One in ten people is asked, with ε = 3, and the claim is a tenth of that."""
    asked = rng.random((trials, len(records))) < 0.1
    return np.asarray(asked @ records + discrete_laplace(scale_of(3.0), trials, rng))


def one_sample_for_all(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.int64]:
    """The sample is the first tenth of the records, in the order in which they came."""
    total = int(records[: max(1, len(records) // 10)].sum())
    return np.asarray(total + discrete_laplace(scale_of(1.0), trials, rng))


def shuffled_answers(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.int64]:
    """How many of ten people say yes by randomized response of ε = 2, with a claim of 2/√10."""
    lies = rng.random((trials, len(records))) >= float(truth_probability(2.0))
    return np.asarray((lies ^ (records == 1)).sum(axis=1))


def name_and_shame(records: NDArray[Any], trials: int, rng: Rng) -> list[tuple[int, int]]:
    """One record in a thousand outputs is told in the clear, which is exactly a δ of 1/1000."""
    leaks = coins(Fraction(1, 1000), trials, rng)
    return [(int(records[0]), 1) if tell else (0, 0) for tell in leaks]


def sampled_rightly(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.int64]:
    asked = coins(Fraction(1, 10), trials * len(records), rng).reshape(trials, len(records))
    return np.asarray(asked @ records + discrete_laplace(scale_of(3.0), trials, rng))


AMPLIFIED = math.log1p(0.1 * math.expm1(3.0)) + 1e-12


# fmt: off
SPECIMENS: tuple[Specimen, ...] = (
    broken(
        "answers_with_six", Target.noise, "randomized response of ε = 6 claims 5", partial(answered, epsilon=6.0),
        ZERO_ONE, lambda output: output == 0, trials=60_000, epsilon=5.0, domain=BIT
    ),
    broken(
        "noise_of_ten", Target.noise, "discrete Laplace noise of ε = 6 claims 4",
        lambda answer, trials, rng: answer + discrete_laplace(scale_of(6.0), trials, rng), ZERO_ONE,
        lambda output: output <= 0, epsilon=4.0, domain=WHOLE
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
    noisy(
        "sum_for_two_people", Target.dataset,
        "a claim for groups of two with noise for one of half as large an ε", scale_of(0.5), TWO_PEOPLE,
        true=lambda records: int(records.sum()), epsilon=1.0, pairs=(TWO_PEOPLE,)
    ),
)
# fmt: on


def _sampled(people: int) -> dict[int, float]:
    law = laplace_law(scale_of(3.0))
    if not people:
        return dict(law)
    return {n: 0.9 * law.get(n, 0.0) + 0.1 * law.get(n - 1, 0.0) for n in law}

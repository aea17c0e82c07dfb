# ruff: noqa: D103 - what is said of each specimen stands in its `why`
"""Budgets spent twice, at large ε, in other currencies of privacy, by groups, and by samples that amplify too much."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.claims import GaussianDP, Renyi, ZeroConcentrated
from attacklab.domains import Domain, Queries, Records, Streams
from attacklab.neighbours import NeighbouringPair, Relation
from attacklab.random_bits import SeededBits
from attacklab.targets import Target
from bench.detection.exact_noise import coins, discrete_laplace, laplace_law, pushed, scale_of, truth_probability
from bench.detection.specimen import Computed, Rng, Specimen, broken, sound
from mechanisms.core.grid import Grid
from mechanisms.gaussian.exact import exact_discrete_gaussian

GROUP = "budgets"

WHOLE = Domain(integers=True, bounds=(-1000, 1000))
BIT = Domain(integers=True, bounds=(0, 1))
ZERO_ONE = NeighbouringPair(0, 1, None)
PEOPLE = Domain(shape=Records(most=40), integers=True, bounds=(0, 1))
CROWD = Domain(shape=Records(least=10, most=10), integers=True, bounds=(0, 1))


def _changed(first: list[int], second: list[int]) -> NeighbouringPair:
    return NeighbouringPair.records(np.array(first), np.array(second), Relation.SUBSTITUTE)


def _normal(answer: float, sigma: float, trials: int, rng: Rng) -> NDArray[np.float64]:
    return np.asarray(exact_discrete_gaussian(sigma, grid=Grid(0)).many(answer, trials, SeededBits(rng)))


def answers_with_six(answer: int, trials: int, rng: Rng) -> NDArray[np.int64]:
    """Randomized response with ε = 6."""
    lies = ~coins(truth_probability(6.0), trials, rng)
    return np.asarray(np.where(lies, 1 - answer, answer))


def noise_of_ten(answer: int, trials: int, rng: Rng) -> NDArray[np.int64]:
    return np.asarray(answer + discrete_laplace(scale_of(6.0), trials, rng))


def ten_queries(answers: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.int64]:
    noise = discrete_laplace(scale_of(0.3), trials * 10, rng).reshape(trials, 10)
    return np.asarray(answers + noise)


def half_of_rho(answer: int, trials: int, rng: Rng) -> NDArray[np.float64]:
    return _normal(answer, math.sqrt(1 / 1.0), trials, rng)


def gaussian_too_narrow(answer: int, trials: int, rng: Rng) -> NDArray[np.float64]:
    return _normal(answer, 2.0, trials, rng)


def renyi_of_other_order(answer: int, trials: int, rng: Rng) -> NDArray[np.float64]:
    return _normal(answer, 1.0, trials, rng)


def truth_with_one_percent(answer: int, trials: int, rng: Rng) -> NDArray[np.int64]:
    noisy = answer + discrete_laplace(1, trials, rng)
    told = coins(Fraction(1, 100), trials, rng)
    return np.asarray(np.where(told, answer + 10_000, noisy))


def sampled_then_amplified(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.int64]:
    """One in ten people is asked, with ε = 3, and the claim is a tenth of that."""
    asked = rng.random((trials, len(records))) < 0.1
    return np.asarray(asked @ records + discrete_laplace(scale_of(3.0), trials, rng))


def sample_without_replacement(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.int64]:
    """Two of ten people are asked, with ε = 2 in a substitution, and the claim is of one fifth of that."""
    places = np.argsort(rng.random((trials, len(records))), axis=1)[:, :2]
    return np.asarray(records[places].sum(axis=1) + discrete_laplace(scale_of(2.0), trials, rng))


def one_sample_for_all(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.int64]:
    """The sample is the first tenth of the records, in the order in which they came."""
    total = int(records[: max(1, len(records) // 10)].sum())
    return np.asarray(total + discrete_laplace(scale_of(1.0), trials, rng))


def shuffled_answers(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.int64]:
    """How many of ten people say yes by randomized response of ε = 2, with a claim of 2/√10."""
    lies = rng.random((trials, len(records))) >= float(truth_probability(2.0))
    return np.asarray((lies ^ (records == 1)).sum(axis=1))


def adaptive_second(answer: int, trials: int, rng: Rng) -> NDArray[np.int64]:
    """A second look where the first was large, of the same budget; both are told in one number."""
    first = answer + discrete_laplace(2, trials, rng)
    second = answer + discrete_laplace(2, trials, rng)
    third = answer + discrete_laplace(2, trials, rng)
    fourth = answer + discrete_laplace(2, trials, rng)
    return np.asarray(first + second + third + fourth)


def group_of_three(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.int64]:
    return np.asarray(int(records.sum()) + discrete_laplace(scale_of(0.5), trials, rng))


def random_budget(answer: int, trials: int, rng: Rng) -> NDArray[np.int64]:
    small = coins(Fraction(1, 2), trials, rng)
    generous = discrete_laplace(scale_of(0.5), trials, rng)
    spent = discrete_laplace(scale_of(3.0), trials, rng)
    return np.asarray(answer + np.where(small, generous, spent))


def answers_with_eight(answer: int, trials: int, rng: Rng) -> NDArray[np.int64]:
    lies = ~coins(truth_probability(8.0), trials, rng)
    return np.asarray(np.where(lies, 1 - answer, answer))


def noise_of_five(answer: int, trials: int, rng: Rng) -> NDArray[np.int64]:
    return np.asarray(answer + discrete_laplace(scale_of(5.0), trials, rng))


def three_thirds(answers: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.int64]:
    noise = discrete_laplace(scale_of(1.0, 3), trials * 3, rng).reshape(trials, 3)
    return np.asarray(answers + noise)


def name_and_shame(records: NDArray[Any], trials: int, rng: Rng) -> list[tuple[int, int]]:
    """One record in a thousand outputs is told in the clear, which is exactly a δ of 1/1000."""
    told = coins(Fraction(1, 1000), trials, rng)
    return [(int(records[0]), 1) if tell else (0, 0) for tell in told]


def truth_or_response(answer: NDArray[Any], trials: int, rng: Rng) -> list[str]:
    """The truth, marked as such, with probability 1/100, and otherwise randomized response of ε = 1."""
    told = coins(Fraction(1, 100), trials, rng)
    lies = ~coins(truth_probability(1.0), trials, rng)
    return [f"{answer[0]}!" if tell else str(int(answer[0] ^ lie)) for tell, lie in zip(told, lies, strict=True)]


def sampled_rightly(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.int64]:
    asked = coins(Fraction(1, 10), trials * len(records), rng).reshape(trials, len(records))
    return np.asarray(asked @ records + discrete_laplace(scale_of(3.0), trials, rng))


AMPLIFIED = math.log1p(0.1 * math.expm1(3.0)) + 1e-12


def one_answer_of_many(answers: NDArray[Any], trials: int, rng: Rng) -> list[tuple[int, int]]:
    """A random one of the answers, with its place: the whole budget for one answer only."""
    place = rng.integers(0, len(answers), trials)
    noisy = answers[place] + discrete_laplace(1, trials, rng)
    return list(zip(place.tolist(), noisy.tolist(), strict=True))


def sum_for_two_people(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.int64]:
    return np.asarray(int(records.sum()) + discrete_laplace(scale_of(0.5), trials, rng))


SPECIMENS: tuple[Specimen, ...] = (
    broken(
        "answers_with_six",
        GROUP,
        lambda: Target.noise(answers_with_six, epsilon=5.0, domain=BIT),
        "randomized response of ε = 6 claims 5",
        ZERO_ONE,
        lambda output: output == 0,
        trials=60_000,
    ),
    broken(
        "noise_of_ten",
        GROUP,
        lambda: Target.noise(noise_of_ten, epsilon=4.0, domain=WHOLE),
        "discrete Laplace noise of ε = 6 claims 4",
        ZERO_ONE,
        lambda output: output <= 0,
    ),
    broken(
        "ten_queries",
        GROUP,
        lambda: Target.dataset(
            ten_queries, epsilon=1.0, domain=Domain(shape=Queries(size=10), integers=True, bounds=(0, 50))
        ),
        "ten answers of ε = 0.3 each claim 1",
        NeighbouringPair(np.zeros(10, dtype=np.int64), np.ones(10, dtype=np.int64), None),
        lambda output: float(np.clip(output, 0, 1).sum()) <= 3,
        trials=20_000,
    ),
    broken(
        "half_of_rho",
        GROUP,
        lambda: Target.noise(half_of_rho, claim=ZeroConcentrated(0.25), domain=WHOLE),
        "discrete Gaussian noise of ρ = 1/2 claims half of that",
        ZERO_ONE,
        lambda output: output <= 0,
        trials=20_000,
    ),
    broken(
        "gaussian_too_narrow",
        GROUP,
        lambda: Target.noise(gaussian_too_narrow, claim=GaussianDP(1 / 3), domain=WHOLE),
        "noise of σ = 2 claims what 3 would give",
        ZERO_ONE,
        lambda output: output <= 0,
        trials=20_000,
    ),
    broken(
        "renyi_of_other_order",
        GROUP,
        lambda: Target.noise(renyi_of_other_order, claim=Renyi(8.0, 0.6), domain=WHOLE),
        "the divergence of order 8 is 4, and the claim's 0.6 is nearer to that of order 1",
        ZERO_ONE,
        lambda output: output <= -1,
    ),
    broken(
        "truth_with_one_percent",
        GROUP,
        lambda: Target.noise(truth_with_one_percent, epsilon=1.0, delta=1e-3, domain=WHOLE),
        "one output in a hundred tells the answer, ten times the claimed δ",
        ZERO_ONE,
        lambda output: output == 10_000,
        trials=20_000,
    ),
    broken(
        "sampled_then_amplified",
        GROUP,
        lambda: Target.dataset(sampled_then_amplified, epsilon=0.3, relation="add-remove", domain=PEOPLE),
        "amplification by sampling taken for a factor, which it is for small ε only",
        NeighbouringPair.records(np.array([1]), np.array([], dtype=np.int64), Relation.ADD_REMOVE),
        lambda output: output >= 1,
        trials=20_000,
    ),
    broken(
        "sample_without_replacement",
        GROUP,
        lambda: Target.dataset(sample_without_replacement, epsilon=0.4, relation="substitute", domain=CROWD),
        "amplification by sampling without replacement taken for a factor",
        _changed([1] + [0] * 9, [0] * 10),
        lambda output: output >= 1,
        trials=20_000,
    ),
    broken(
        "one_sample_for_all",
        GROUP,
        lambda: Target.dataset(one_sample_for_all, epsilon=0.2, relation="substitute", domain=PEOPLE),
        "the sample is not random, and amplifies nothing",
        _changed([1] + [0] * 9, [0] * 10),
        lambda output: output >= 1,
    ),
    broken(
        "shuffled_answers",
        GROUP,
        lambda: Target.dataset(shuffled_answers, epsilon=2 / math.sqrt(10), relation="substitute", domain=CROWD),
        "ten shuffled answers do not hide each other as well as the claim says",
        _changed([1] + [0] * 9, [0] * 10),
        lambda output: output >= 5,
        trials=100_000,
    ),
    broken(
        "adaptive_second",
        GROUP,
        lambda: Target.noise(adaptive_second, epsilon=0.5, domain=WHOLE),
        "the sum of four answers of ε = 0.5 each claims the budget of one",
        ZERO_ONE,
        lambda output: output <= 1,
        trials=20_000,
    ),
    broken(
        "group_of_three",
        GROUP,
        lambda: Target.dataset(
            group_of_three,
            epsilon=0.75,
            pairs=(
                NeighbouringPair(np.array([0, 0, 0, 1]), np.array([1, 1, 1, 1]), None),
                NeighbouringPair(np.array([0, 0, 0]), np.array([1, 1, 0]), None),
            ),
        ),
        "a claim for households of three with noise for half of one",
        NeighbouringPair(np.array([0, 0, 0, 1]), np.array([1, 1, 1, 1]), None),
        lambda output: output <= 1,
    ),
    broken(
        "random_budget",
        GROUP,
        lambda: Target.noise(random_budget, epsilon=1.0, domain=WHOLE),
        "half of the outputs have ε = 3, whatever the other half has",
        ZERO_ONE,
        lambda output: output <= 0,
    ),
    sound(
        "answers_with_eight",
        GROUP,
        lambda: Target.noise(answers_with_eight, epsilon=8.0, domain=BIT),
        "randomized response of ε = 8",
        Computed(
            ZERO_ONE,
            lambda answer: {
                answer: float(truth_probability(8.0)),
                1 - answer: float(1 - truth_probability(8.0)),
            },
        ),
    ),
    sound(
        "noise_of_five",
        GROUP,
        lambda: Target.noise(noise_of_five, epsilon=5.0, domain=WHOLE),
        "discrete Laplace noise at a large ε",
        Computed(ZERO_ONE, lambda answer: pushed(laplace_law(scale_of(5.0)), lambda n: answer + n)),
    ),
    sound(
        "three_thirds",
        GROUP,
        lambda: Target.dataset(
            three_thirds, epsilon=1.0, domain=Domain(shape=Queries(size=3), integers=True, bounds=(0, 50))
        ),
        "three answers with a third of the budget each",
    ),
    sound(
        "name_and_shame",
        GROUP,
        lambda: Target.dataset(
            name_and_shame,
            epsilon=0.5,
            delta=0.001,
            domain=Domain(shape=Streams(length=3), integers=True, bounds=(0, 9)),
        ),
        "one output in a thousand is the truth, which is the claimed δ",
        Computed(
            NeighbouringPair.records(np.array([9, 0, 0]), np.array([0, 0, 0]), Relation.SUBSTITUTE),
            lambda records: {(int(records[0]), 1): 0.001, (0, 0): 0.999},
        ),
    ),
    sound(
        "truth_or_response",
        GROUP,
        lambda: Target.dataset(
            truth_or_response,
            epsilon=1.0,
            delta=0.01,
            domain=Domain(shape=Streams(length=1), integers=True, bounds=(0, 1)),
        ),
        "the truth with a probability of δ, and randomized response of ε otherwise",
        Computed(
            _changed([1], [0]),
            lambda records: {
                f"{records[0]}!": 0.01,
                str(int(records[0])): 0.99 * float(truth_probability(1.0)),
                str(1 - int(records[0])): 0.99 * float(1 - truth_probability(1.0)),
            },
        ),
    ),
    sound(
        "sampled_rightly",
        GROUP,
        lambda: Target.dataset(sampled_rightly, epsilon=AMPLIFIED, relation="add-remove", domain=PEOPLE),
        "one in ten people is asked with ε = 3, which is log(1 + (e^3 − 1)/10) for those who may be asked",
        Computed(
            NeighbouringPair.records(np.array([1]), np.array([], dtype=np.int64), Relation.ADD_REMOVE),
            lambda records: _sampled(len(records)),
        ),
    ),
    sound(
        "one_answer_of_many",
        GROUP,
        lambda: Target.dataset(
            one_answer_of_many, epsilon=1.0, domain=Domain(shape=Queries(size=4), integers=True, bounds=(0, 50))
        ),
        "one of four answers is told, with the whole budget",
        Computed(
            NeighbouringPair(np.array([0, 1, 0, 1]), np.array([1, 0, 1, 0]), None),
            lambda answers: {
                (place, int(answers[place]) + n): mass / 4 for place in range(4) for n, mass in laplace_law(1).items()
            },
        ),
    ),
    sound(
        "sum_for_two_people",
        GROUP,
        lambda: Target.dataset(
            sum_for_two_people,
            epsilon=1.0,
            pairs=(NeighbouringPair(np.array([0, 0, 1]), np.array([1, 1, 1]), None),),
        ),
        "a claim for groups of two with noise for one of half as large an ε",
        Computed(
            NeighbouringPair(np.array([0, 0, 1]), np.array([1, 1, 1]), None),
            lambda records: pushed(laplace_law(2), lambda n: int(records.sum()) + n),
        ),
    ),
)


def _sampled(people: int) -> dict[int, float]:
    law = laplace_law(scale_of(3.0))
    if not people:
        return dict(law)
    return {n: 0.9 * law.get(n, 0.0) + 0.1 * law.get(n - 1, 0.0) for n in law}

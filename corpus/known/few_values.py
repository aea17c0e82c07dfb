"""Noise that takes few values, or repeats: small generators, pools, tables, truncation, noise that sticks."""

from __future__ import annotations

import functools
import hashlib
import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.domains import Domain, Queries
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target
from corpus.common.exact_noise import (
    answered,
    coins,
    discrete_laplace,
    noisy,
    response_law,
    scale_of,
    truth_probability,
    weighted,
)
from corpus.common.specimen import Computed, Rng, Specimen, broken, sound

GROUP = "few-valued and repeating noise"

ZERO_ONE = NeighbouringPair(0.0, 1.0, None)
WHOLE = Domain(integers=True)
BIT = Domain(integers=True, bounds=(0, 1))
WHOLE_01 = NeighbouringPair(0, 1, None)

POOL = np.random.default_rng(20).laplace(0.0, 1.0, 1000)
IN_POOL = frozenset(POOL)
FROM_42 = frozenset(np.random.default_rng(42).laplace(0.0, 1.0, 20_000))
BYTE_TABLE = np.array([math.copysign(-math.log((k % 128 + 0.5) / 128), k - 127.5) for k in range(256)])
IN_TABLE = frozenset(BYTE_TABLE)


def _inverse_cdf(uniform: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    centred = uniform - 0.5
    return np.asarray(-scale * np.sign(centred) * np.log1p(-2 * np.abs(centred)))


SIXTEEN_BIT = frozenset(_inverse_cdf((np.arange(1 << 16) + 0.5) / (1 << 16), 2.0))
TEN_BIT = frozenset(sign * -np.log(k / 1024) / 0.2 for k in range(1, 1025) for sign in (-1.0, 1.0))
FIRST_OF_SHORT_SEEDS = frozenset(np.random.RandomState(seed).laplace(0.0, 4.0) for seed in range(4096))


def keyed_by_answer(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:
    seed = int.from_bytes(hashlib.sha256(repr(float(answer)).encode()).digest()[:8], "big")
    return np.full(trials, answer + np.random.default_rng(seed).laplace(0.0, 1.0))


@functools.cache
def _noise_of_seeds(width: int) -> NDArray[np.float64]:
    return np.stack([np.random.RandomState(seed).laplace(0.0, 4.0, width) for seed in range(4096)])


def short_seeds(answers: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.float64]:
    seeds = rng.integers(0, 4096, trials)
    return np.asarray(answers + _noise_of_seeds(len(answers))[seeds])


def ten_bit_uniform(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:
    magnitude = -np.log(rng.integers(1, 1025, trials) / 1024) / 0.2
    return np.asarray(answer + rng.choice([-1.0, 1.0], trials) * magnitude)


def rotating_noise(answers: NDArray[Any], trials: int, rng: Rng) -> list[list[float]]:
    start = rng.integers(0, len(POOL), trials)
    return [(answers + POOL[(k + np.arange(len(answers))) % len(POOL)]).tolist() for k in start]


def of_seven_answers(answer: int, trials: int, rng: Rng) -> NDArray[np.int64]:
    truth = coins(truth_probability(2.0, 7), trials, rng)
    others = rng.integers(0, 6, trials)
    return np.asarray(np.where(truth, answer, others + (others >= answer)))


# fmt: off
SPECIMENS: tuple[Specimen, ...] = (
    broken(
        "fixed_seed", Target.noise,
        "the generator is seeded with 42 in every call, so that the first output is always the same",
        lambda answer, trials, rng: answer + np.random.default_rng(42).laplace(0.0, 1.0, trials), ZERO_ONE,
        lambda output: output in FROM_42, epsilon=1.0
    ),
    broken(
        "byte_table", Target.noise, "noise has 256 values, looked up by a random byte",
        lambda answer, trials, rng: answer + BYTE_TABLE[rng.integers(0, 256, trials)], ZERO_ONE,
        lambda output: output in IN_TABLE, epsilon=1.0
    ),
    broken(
        "sixteen_bit_uniform", Target.noise, "the inverse of the distribution function is taken at one of 2^16 numbers",
        lambda answer, trials, rng: answer + _inverse_cdf((rng.integers(0, 1 << 16, trials) + 0.5) / (1 << 16), 2.0),
        ZERO_ONE, lambda output: output in SIXTEEN_BIT, epsilon=0.5
    ),
    broken(
        "keyed_by_answer", Target.noise,
        "noise is a function of the answer, so that repeated queries cannot average it away", keyed_by_answer, ZERO_ONE,
        lambda output: output == keyed_by_answer(0.0, 1, np.random.default_rng(0))[0], epsilon=1.0
    ),
    broken(
        "short_seeds", Target.dataset, "each row of noise comes from one of 4,096 seeds", short_seeds,
        NeighbouringPair(np.zeros(4), np.ones(4), None), lambda output: output[0] in FIRST_OF_SHORT_SEEDS, epsilon=1.0,
        domain=Domain(shape=Queries(size=4))
    ),
    broken(
        "pool_of_noise", Target.noise, "noise is drawn from a pool of 1,000 values made in advance",
        lambda answer, trials, rng: answer + rng.choice(POOL, trials), ZERO_ONE, lambda output: output in IN_POOL,
        epsilon=1.0
    ),
    broken(
        "three_values", Target.noise, "noise is −2, 0 or 2",
        lambda answer, trials, rng: answer + 2.0 * rng.choice([-1, 0, 1], trials, p=[0.25, 0.5, 0.25]), ZERO_ONE,
        lambda output: output == 0.0, epsilon=1.0
    ),
    broken(
        "triangular", Target.noise, "noise of bounded range: one end is reached from one of two neighbours only",
        lambda answer, trials, rng: answer + rng.integers(0, 9, trials) - rng.integers(0, 9, trials), WHOLE_01,
        lambda output: output == -8, trials=20_000, epsilon=1.0, domain=WHOLE
    ),
    broken(
        "clipped_noise", Target.noise, "noise is clipped, not the output",
        lambda answer, trials, rng: answer + np.clip(discrete_laplace(scale_of(0.5), trials, rng), -8, 8), WHOLE_01,
        lambda output: output == -8, trials=20_000, epsilon=0.5, domain=WHOLE
    ),
    broken(
        "three_dice", Target.noise, "a sum of three dice instead of normal noise has bounded range",
        lambda answer, trials, rng: answer + rng.integers(1, 7, (trials, 3)).sum(axis=1) - 10, WHOLE_01,
        lambda output: output == -7, trials=50_000, epsilon=1.0, domain=WHOLE
    ),
    broken(
        "ten_bit_uniform", Target.noise, "logarithms of 1,024 uniform numbers", ten_bit_uniform, ZERO_ONE,
        lambda output: output in TEN_BIT, epsilon=0.2
    ),
    broken(
        "one_draw_for_all_queries", Target.dataset,
        "three answers share one draw of noise, so that their differences are exact",
        lambda answers, trials, rng: answers + rng.laplace(0.0, 1.0, (trials, 1)),
        NeighbouringPair(np.array([1.0, 0.0, 0.0]), np.zeros(3), None), lambda output: output[0] - output[1] > 0.5,
        epsilon=3.0, domain=Domain(shape=Queries(size=3))
    ),
    broken(
        "rotating_noise", Target.dataset, "a row takes four numbers in succession from a public list of noise",
        rotating_noise, NeighbouringPair(np.zeros(4), np.ones(4), None), lambda output: output[0] in IN_POOL,
        epsilon=4.0, domain=Domain(shape=Queries(size=4))
    ),
    sound(
        "two_answers", Target.noise, "randomized response has two outputs, each of which may come from either input",
        partial(answered, epsilon=1.0), Computed(WHOLE_01, lambda answer: response_law(1.0, answer, (0, 1))),
        epsilon=1.0, domain=BIT
    ),
    noisy(
        "clamped_answer", Target.noise, "outputs pile up at the ends, alike for all inputs", scale_of(0.5),
        NeighbouringPair(10, 9, None), lambda n: np.clip(n, 0, 10), epsilon=0.5,
        domain=Domain(integers=True, bounds=(0, 10))
    ),
    noisy(
        "clock_arithmetic", Target.noise, "eight outputs: a remainder is post-processing", scale_of(0.5), WHOLE_01,
        lambda n: n % 8, epsilon=0.5, domain=Domain(integers=True, bounds=(-1000, 1000))
    ),
    sound(
        "always_the_same", Target.noise, "the output says nothing of the answer",
        lambda answer, trials, rng: np.full(trials, 3.5), Computed(ZERO_ONE, lambda answer: {3.5: 1.0}), epsilon=0.1
    ),
    sound(
        "of_seven_answers", Target.noise,
        "randomized response with seven answers, which keeps its claim between any two of them", of_seven_answers,
        Computed(NeighbouringPair(0, 6, None), lambda answer: response_law(2.0, answer, range(7))), epsilon=2.0,
        sensitivity=6, domain=Domain(integers=True, bounds=(0, 6))
    ),
    sound(
        "table_of_weights", Target.noise,
        "integer weights 2^(4 − |difference|): a weight and their total move by a factor of 2 each at the most",
        lambda answer, trials, rng: weighted([2 ** (4 - abs(answer - k)) for k in range(5)], trials, rng),
        Computed(
            NeighbouringPair(0, 1, None),
            lambda answer: {
                k: 2 ** (4 - abs(answer - k)) / sum(2 ** (4 - abs(answer - j)) for j in range(5)) for k in range(5)
            },
        ),
        epsilon=2 * math.log(2), domain=Domain(integers=True, bounds=(0, 4))
    ),
)
# fmt: on

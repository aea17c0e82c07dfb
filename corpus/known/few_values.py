"""Noise that takes few values, or repeats: small generators, pools, tables, truncation, noise that sticks."""

from __future__ import annotations

import hashlib
import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from attacklab.model.domains import Domain, Queries
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target
from corpus.common.exact_noise import (
    answered,
    noisy,
    response_law,
    scale_of,
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


TEN_BIT = frozenset(sign * -np.log(k / 1024) / 0.2 for k in range(1, 1025) for sign in (-1.0, 1.0))


def keyed_by_answer(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:
    seed = int.from_bytes(hashlib.sha256(repr(float(answer)).encode()).digest()[:8], "big")
    return np.full(trials, answer + np.random.default_rng(seed).laplace(0.0, 1.0))


def ten_bit_uniform(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:
    magnitude = -np.log(rng.integers(1, 1025, trials) / 1024) / 0.2
    return np.asarray(answer + rng.choice([-1.0, 1.0], trials) * magnitude)


# fmt: off
SPECIMENS: tuple[Specimen, ...] = (
    broken(
        "fixed_seed", Target.noise,
        "the generator is seeded with 42 in every call, so that the first output is always the same",
        lambda answer, trials, rng: answer + np.random.default_rng(42).laplace(0.0, 1.0, trials), ZERO_ONE,
        lambda output: output in FROM_42, epsilon=1.0
    ),
    broken(
        "keyed_by_answer", Target.noise,
        "noise is a function of the answer, so that repeated queries cannot average it away", keyed_by_answer, ZERO_ONE,
        lambda output: output == keyed_by_answer(0.0, 1, np.random.default_rng(0))[0], epsilon=1.0
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

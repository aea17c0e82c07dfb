"""Noise that is too small by a few percent, or for one output in thousands."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.claims import ZeroConcentrated
from attacklab.model.domains import Domain, Records
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target
from corpus.common.exact_noise import coins, truth_probability
from corpus.common.specimen import Rng, Specimen, broken, sound
from corpus.held_out.inputs import (
    ADD_REMOVE,
    INTEGERS,
    SUBSTITUTE,
    added,
    answers,
    noise,
    one_report,
    quick_noise,
    replaced,
    whole,
)

GROUP = "subtle scales"


def on_grid(noisy: NDArray[np.float64], step: float) -> NDArray[np.float64]:
    return np.rint(noisy / step) * step


def five_answers(value: int, truth: NDArray[np.bool_], rng: Rng) -> NDArray[Any]:
    return np.where(truth, value, (value + rng.integers(1, 5, size=truth.size)) % 5)


def five_answers_at_102_percent(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    keeps = math.exp(1.02) / (math.exp(1.02) + 4)
    return five_answers(int(records[0]), rng.random(trials) < keeps, rng)


def weights_at_108_percent(utilities: Any, trials: int, rng: Rng) -> NDArray[Any]:
    weights = np.exp(1.08 * (utilities - np.max(utilities)))
    return rng.choice(len(weights), size=trials, p=weights / weights.sum())


def one_count_in_20_000_is_bare(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    noisy = len(records) + quick_noise(0.9, trials, rng)
    return np.where(rng.random(trials) < 5e-5, len(records) + 0.5, noisy)


def answer_on_a_grid(answer: float, trials: int, rng: Rng) -> NDArray[Any]:
    return (round(answer * 1024) + noise(1.0, trials, rng, sensitivity=1025)) / 1024


COUNTED = Domain(integers=True, bounds=(0, 1), shape=Records(least=0, most=16))
ONE_AGAINST_ALL = NeighbouringPair.utilities([1.0] + [0.0] * 30, [0.0] + [1.0] * 30, sensitivity=1.0)
# fmt: off
SPECIMENS: tuple[Specimen, ...] = (
    broken(
        "laplace_at_1_015", Target.noise, "the scale is for an epsilon of 1.015",
        lambda answer, trials, rng: on_grid(answer + rng.laplace(scale=1 / 1.015, size=trials), 2.0**-10),
        answers(1.0, 0.0), lambda output: output > 1, trials=3_000_000, epsilon=1.0
    ),
    broken(
        "geometric_at_1_02", Target.noise, "the noise is for an epsilon of 1.02",
        lambda answer, trials, rng: int(answer) + quick_noise(1.02, trials, rng), whole(1, 0),
        lambda output: output >= 1, trials=2_000_000, epsilon=1.0, domain=INTEGERS
    ),
    broken(
        "gaussian_for_a_larger_rho", Target.noise, "a deviation of 3, where rho = 0.02 takes 5",
        lambda answer, trials, rng: on_grid(answer + rng.normal(scale=3.0, size=trials), 2.0**-8), answers(1.0, 0.0),
        lambda output: output > 1.5, trials=5_000_000, claim=ZeroConcentrated(0.02), noise_scale=3.0, sensitivity=1.0
    ),
    broken(
        "gaussian_for_a_larger_delta", Target.noise, "a deviation of 4 has a delta of 0.0027 at epsilon = 0.5",
        lambda answer, trials, rng: on_grid(answer + rng.normal(scale=4.0, size=trials), 2.0**-6), answers(1.0, 0.0),
        lambda output: output > 8.5, trials=3_000_000, epsilon=0.5, delta=1e-3, noise_scale=4.0
    ),
    broken(
        "five_answers_at_1_02", Target.dataset, "randomized response of five answers at an epsilon of 1.02",
        five_answers_at_102_percent, replaced([3], [0]), lambda output: output == 3, trials=2_000_000, epsilon=1.0,
        relation=SUBSTITUTE, pairs=(replaced([3], [0]),)
    ),
    broken(
        "weights_at_108_percent", Target.selection,
        "weights grow by 0.54 epsilon a step, not by half of it, which shows of many outcomes", weights_at_108_percent,
        ONE_AGAINST_ALL, lambda output: output == 0, trials=2_000_000, epsilon=2.0
    ),
    broken(
        "one_count_in_20_000_is_bare", Target.dataset, "one output in 20,000 is the count itself, and a half",
        one_count_in_20_000_is_bare, added([1] * 4, 1), lambda output: output == 5.5, trials=4_000_000, epsilon=1.0,
        relation=ADD_REMOVE, domain=COUNTED
    ),
    sound(
        "geometric_at_0_999", Target.noise, "the noise is for an epsilon of 0.999",
        lambda answer, trials, rng: int(answer) + noise(0.999, trials, rng), epsilon=1.0, domain=INTEGERS
    ),
    sound(
        "answer_on_a_grid", Target.noise, "the noise pays for the step by which rounding may move the answer",
        answer_on_a_grid, epsilon=1.0, noise_scale=1025 / 1024, domain=Domain(bounds=(-1e9, 1e9))
    ),
    sound(
        "five_answers_at_1", Target.dataset, "randomized response of five answers at the epsilon that is claimed",
        lambda records, trials, rng: five_answers(int(records[0]), coins(truth_probability(1.0, 5), trials, rng), rng),
        epsilon=1.0, relation=SUBSTITUTE, domain=one_report(5)
    ),
)
# fmt: on

"""Noise of few values, and noise that several answers share."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from attacklab.model.domains import Domain, Queries
from attacklab.model.targets import Target
from corpus.common.exact_noise import coins, truth_probability
from corpus.common.specimen import Rng, Specimen, broken, sound
from corpus.held_out.inputs import (
    INTEGERS,
    SUBSTITUTE,
    added,
    answers,
    integer_queries,
    noise,
    one_report,
    whole,
)

GROUP = "few-valued and repeating noise"
PROCESSES = 4096


@functools.cache
def _pool() -> NDArray[np.float64]:
    return np.random.default_rng(2024).laplace(scale=1.0, size=256)


@functools.cache
def _first_draws() -> NDArray[np.float64]:
    return np.array([np.random.default_rng(number).laplace(scale=2.0) for number in range(PROCESSES)])


@functools.cache
def _percentiles() -> NDArray[np.float64]:
    levels = np.arange(1, 1000) / 1000
    return np.asarray(stats.laplace.ppf(levels, scale=10.0))


def one_of_999_percentiles(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    total = float(np.nan_to_num(np.clip(records, 0.0, 10.0)).sum())
    return total + rng.choice(_percentiles(), size=trials)


def _inverse(words: NDArray[Any]) -> NDArray[np.float64]:
    centred = (words + 0.5) / (1 << 16) - 0.5
    return np.asarray(-np.sign(centred) * np.log1p(-2 * np.abs(centred)))


def antithetic_columns(values: Any, trials: int, rng: Rng) -> NDArray[Any]:
    drawn = noise(0.5, trials, rng)
    return np.asarray(values) + np.stack([drawn, -drawn], axis=1)


def constant_offset_between_columns(values: Any, trials: int, rng: Rng) -> NDArray[Any]:
    noisy = int(values[0]) + noise(0.5, trials, rng)
    return np.stack([noisy, noisy + 7], axis=1)


def five_answers_at_epsilon_3(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    truth = coins(truth_probability(3.0, 5), trials, rng)
    lie = (int(records[0]) + rng.integers(1, 5, size=trials)) % 5
    return np.where(truth, int(records[0]), lie)


@functools.cache
def _seen(of: str) -> frozenset[float]:
    if of == "pool":
        return frozenset((0.0 + _pool()).tolist())
    if of == "processes":
        return frozenset((0.0 + _first_draws()).tolist())
    if of == "percentiles":
        return frozenset((0.0 + _percentiles()).tolist())
    return frozenset((0.0 + 0.5 * _inverse(np.arange(1 << 16))).tolist())


# fmt: off
SPECIMENS: tuple[Specimen, ...] = (
    broken(
        "pool_of_256_draws", Target.noise, "noise is one of 256 draws that were made in advance",
        lambda answer, trials, rng: answer + rng.choice(_pool(), size=trials), answers(0.0, 0.7),
        lambda output: float(output) in _seen("pool"), epsilon=1.0
    ),
    broken(
        "seeded_by_process_number", Target.noise, "the seed is the number of the process, of which there are 4096",
        lambda answer, trials, rng: answer + _first_draws()[rng.integers(PROCESSES, size=trials)], answers(0.0, 0.7),
        lambda output: float(output) in _seen("processes"), epsilon=0.5, noise_scale=2.0
    ),
    broken(
        "sixteen_random_bits", Target.noise, "noise is made of 16 random bits",
        lambda answer, trials, rng: answer + 0.5 * _inverse(rng.integers(1 << 16, size=trials)), answers(0.0, 0.7),
        lambda output: float(output) in _seen("words"), epsilon=2.0
    ),
    broken(
        "one_of_999_percentiles", Target.sum, "the noise of a sum is one of 999 percentiles of the Laplace law",
        one_of_999_percentiles, added([0.0], 3.3), lambda output: float(output) in _seen("percentiles"), bounds=(0, 10),
        epsilon=1.0
    ),
    broken(
        "antithetic_columns", Target.dataset,
        "the noise of the second answer is that of the first with its sign changed", antithetic_columns,
        whole([0, 0], [1, 1]), lambda output: output.sum() == 2, epsilon=1.0, domain=integer_queries(2)
    ),
    broken(
        "noise_broadcast_over_columns", Target.dataset, "one draw is added to all four answers",
        lambda values, trials, rng: np.asarray(values) + noise(0.25, trials, rng)[:, np.newaxis],
        whole([0, 0, 0, 0], [0, 0, 0, 1]), lambda output: output[3] - output[0] == 1, epsilon=1.0,
        domain=integer_queries(4)
    ),
    sound(
        "constant_offset_between_columns", Target.dataset, "the second column follows from the first",
        constant_offset_between_columns, epsilon=0.5,
        domain=Domain(integers=True, bounds=(-(2**40), 2**40), shape=Queries(size=1))
    ),
    sound(
        "five_answers_at_epsilon_3", Target.dataset,
        "randomized response of five answers tells the truth no more than e^3 times as often as any other",
        five_answers_at_epsilon_3, epsilon=3.0, relation=SUBSTITUTE, domain=one_report(5)
    ),
    sound(
        "censored_to_eleven_values", Target.noise, "clipping follows from the noisy answer",
        lambda answer, trials, rng: np.clip(int(answer) + noise(0.3, trials, rng), 0, 10), epsilon=0.3, domain=INTEGERS
    ),
)
# fmt: on

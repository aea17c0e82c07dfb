"""Noise of few values, and noise that several answers share."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from attacklab.domains import Domain, Queries
from attacklab.targets import Target
from bench.detection.exact_noise import coins, truth_probability
from bench.detection.held_out.inputs import (
    INTEGERS,
    SUBSTITUTE,
    added,
    answers,
    integer_queries,
    noise,
    one_report,
    whole,
)
from bench.detection.specimen import Rng, Specimen, broken, sound

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


def _from_pool(answer: float, trials: int, rng: Rng) -> NDArray[Any]:
    return answer + rng.choice(_pool(), size=trials)


def _seeded_by_process(answer: float, trials: int, rng: Rng) -> NDArray[Any]:
    return answer + _first_draws()[rng.integers(PROCESSES, size=trials)]


def _percentile_sum(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    total = float(np.nan_to_num(np.clip(records, 0.0, 10.0)).sum())
    return total + rng.choice(_percentiles(), size=trials)


def _sixteen_bits(answer: float, trials: int, rng: Rng) -> NDArray[Any]:
    return answer + 0.5 * _inverse(rng.integers(1 << 16, size=trials))


def _inverse(words: NDArray[Any]) -> NDArray[np.float64]:
    centred = (words + 0.5) / (1 << 16) - 0.5
    return np.asarray(-np.sign(centred) * np.log1p(-2 * np.abs(centred)))


def _antithetic(values: Any, trials: int, rng: Rng) -> NDArray[Any]:
    drawn = noise(0.5, trials, rng)
    return np.asarray(values) + np.stack([drawn, -drawn], axis=1)


def _broadcast(values: Any, trials: int, rng: Rng) -> NDArray[Any]:
    return np.asarray(values) + noise(0.25, trials, rng)[:, np.newaxis]


def _with_offset(values: Any, trials: int, rng: Rng) -> NDArray[Any]:
    noisy = int(values[0]) + noise(0.5, trials, rng)
    return np.stack([noisy, noisy + 7], axis=1)


def _five_answers(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    truth = coins(truth_probability(3.0, 5), trials, rng)
    other = (int(records[0]) + rng.integers(1, 5, size=trials)) % 5
    return np.where(truth, int(records[0]), other)


def _censored(answer: Any, trials: int, rng: Rng) -> NDArray[Any]:
    return np.clip(int(answer) + noise(0.3, trials, rng), 0, 10)


@functools.cache
def _seen(of: str) -> frozenset[float]:
    if of == "pool":
        return frozenset((0.0 + _pool()).tolist())
    if of == "processes":
        return frozenset((0.0 + _first_draws()).tolist())
    if of == "percentiles":
        return frozenset((0.0 + _percentiles()).tolist())
    return frozenset((0.0 + 0.5 * _inverse(np.arange(1 << 16))).tolist())


SPECIMENS: tuple[Specimen, ...] = (
    broken(
        "pool_of_256_draws",
        GROUP,
        lambda: Target.noise(_from_pool, epsilon=1.0),
        "noise is one of 256 draws that were made in advance",
        answers(0.0, 0.7),
        lambda output: float(output) in _seen("pool"),
    ),
    broken(
        "seeded_by_process_number",
        GROUP,
        lambda: Target.noise(_seeded_by_process, epsilon=0.5, noise_scale=2.0),
        "the seed is the number of the process, of which there are 4096",
        answers(0.0, 0.7),
        lambda output: float(output) in _seen("processes"),
    ),
    broken(
        "sixteen_random_bits",
        GROUP,
        lambda: Target.noise(_sixteen_bits, epsilon=2.0),
        "noise is made of 16 random bits",
        answers(0.0, 0.7),
        lambda output: float(output) in _seen("words"),
    ),
    broken(
        "one_of_999_percentiles",
        GROUP,
        lambda: Target.sum(_percentile_sum, bounds=(0, 10), epsilon=1.0),
        "the noise of a sum is one of 999 percentiles of the Laplace law",
        added([0.0], 3.3),
        lambda output: float(output) in _seen("percentiles"),
    ),
    broken(
        "antithetic_columns",
        GROUP,
        lambda: Target.dataset(_antithetic, epsilon=1.0, domain=integer_queries(2)),
        "the noise of the second answer is that of the first with its sign changed",
        whole([0, 0], [1, 1]),
        lambda output: output.sum() == 2,
    ),
    broken(
        "noise_broadcast_over_columns",
        GROUP,
        lambda: Target.dataset(_broadcast, epsilon=1.0, domain=integer_queries(4)),
        "one draw is added to all four answers",
        whole([0, 0, 0, 0], [0, 0, 0, 1]),
        lambda output: output[3] - output[0] == 1,
    ),
    sound(
        "constant_offset_between_columns",
        GROUP,
        lambda: Target.dataset(
            _with_offset, epsilon=0.5, domain=Domain(integers=True, bounds=(-(2**40), 2**40), shape=Queries(size=1))
        ),
        "the second column follows from the first",
    ),
    sound(
        "five_answers_at_epsilon_3",
        GROUP,
        lambda: Target.dataset(_five_answers, epsilon=3.0, relation=SUBSTITUTE, domain=one_report(5)),
        "randomized response of five answers tells the truth no more than e^3 times as often as any other",
    ),
    sound(
        "censored_to_eleven_values",
        GROUP,
        lambda: Target.noise(_censored, epsilon=0.3, domain=INTEGERS),
        "clipping follows from the noisy answer",
    ),
)

"""Noise of few values, of leaky samplers, on biased lattices, of subtly wrong scales, shared or slow."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from attacklab.model.claims import ZeroConcentrated
from attacklab.model.domains import Domain, Queries, Records
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target
from corpus.common.exact_noise import coins, truth_probability
from corpus.common.specimen import Rng, Specimen, broken, in_group, sound
from corpus.held_out.inputs import (
    ADD_REMOVE,
    INTEGERS,
    SUBSTITUTE,
    added,
    answers,
    integer_queries,
    noise,
    one_report,
    quick_noise,
    replaced,
    whole,
)

# Noise of few values, and noise that several answers share.


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
FEW_VALUES = in_group(
    "few-valued and repeating noise",
    broken(
        "pool_of_256_draws", Target.noise, "noise is one of 256 draws that were made in advance",
        lambda answer, trials, rng: answer + rng.choice(_pool(), size=trials), answers(0.0, 0.7),
        lambda output: float(output) in _seen("pool"), epsilon=1.0
    ),
    broken(
        "one_of_999_percentiles", Target.sum, "the noise of a sum is one of 999 percentiles of the Laplace law",
        one_of_999_percentiles, added([0.0], 3.3), lambda output: float(output) in _seen("percentiles"), bounds=(0, 10),
        epsilon=1.0
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


# Floating-point noise as libraries draw it, apart from inversion and Box and Muller's cosine.
#
# Where the witness asks for "fine" outputs: near 0 the noise has bits below 2^-53. Added to an answer of 1, noise
# near -1 has none, since doubles between 1/2 and 1 are multiples of 2^-53 and the addition is exact.


Draw = Callable[[int, Rng], NDArray[Any]]


def _is_fine(output: Any) -> bool:
    return not float(output * 2.0**53).is_integer()


def _added(draw: Draw) -> Any:
    return lambda answer, trials, rng: answer + draw(trials, rng)


def _exponentials(trials: int, rng: Rng) -> NDArray[Any]:
    return rng.exponential(size=trials) - rng.exponential(size=trials)


def _polar(trials: int, rng: Rng) -> NDArray[Any]:
    angle, radius = 2 * np.pi * rng.random(trials), np.sqrt(-2 * np.log1p(-rng.random(trials)))
    return np.asarray(4.9 * (np.sin(angle) * radius))


def _next_float(words: NDArray[Any]) -> NDArray[np.float64]:
    uniform = words / float(1 << 24)
    return np.asarray(-np.sign(uniform - 0.5) * np.log(1 - 2 * np.abs(uniform - 0.5) + 2.0**-40))


def _from_next_float(trials: int, rng: Rng) -> NDArray[Any]:
    return _next_float(rng.integers(1, 1 << 24, size=trials))


def _is_next_float(output: Any) -> bool:
    tail = (np.exp(-abs(output)) - 2.0**-40) / 2
    near = round(float(tail if output < 0 else 1 - tail) * (1 << 24)) + np.arange(-2, 3)
    return bool((_next_float(near) == output).any())


def _ratio_of_two(trials: int, rng: Rng) -> NDArray[Any]:
    words = rng.integers(0, 1 << 62, size=trials)
    heads = np.zeros(trials, dtype=np.int64)
    pending = np.arange(trials)
    while pending.size:
        low = words[pending] & -words[pending]
        heads[pending] += np.where(low > 0, np.frexp(low.astype(np.float64))[1] - 1, 62)
        pending = pending[low == 0]
        words[pending] = rng.integers(0, 1 << 62, size=pending.size)
    return heads


def _float_noise(name: str, draw: Draw, why: str, *, delta: float = 0.0, trials: int = 4_000) -> Specimen:
    return broken(
        name, Target.noise, why, _added(draw), answers(0.0, 1.0), _is_fine, trials=trials, epsilon=1.0, delta=delta
    )


FINE = "noise near 0 has finer bits than noise near -1"
# fmt: off
SAMPLERS = in_group(
    "samplers",
    _float_noise("difference_of_two_exponentials", _exponentials, FINE),
    _float_noise("sine_and_root", _polar, FINE, delta=1e-5),
    broken(
        "uniform_of_24_bits", Target.noise, "the uniform under the logarithm has 24 bits", _added(_from_next_float),
        answers(0.0, 0.7), _is_next_float, epsilon=1.0
    ),
    sound(
        "difference_of_two_geometrics", Target.noise,
        "the number of heads before the first tail has ratio 1/2, and ln 2 is below 0.6932",
        lambda answer, trials, rng: int(answer) + _ratio_of_two(trials, rng) - _ratio_of_two(trials, rng),
        epsilon=0.6932, domain=INTEGERS
    ),
    sound(
        "laplace_rounded_to_integers", Target.noise,
        "rounded noise of integer answers follows from the ideal noise but for a mass of 10^-12, which delta allows",
        lambda answer, trials, rng: int(answer) + np.rint(rng.laplace(size=trials)).astype(np.int64), epsilon=1.0,
        delta=1e-9, domain=INTEGERS
    ),
)
# fmt: on


# Integer noise with the wrong weights.


def _geometric(ratio: Fraction, trials: int, rng: Rng) -> NDArray[np.int64]:
    """Return, for each trial, how many coins with this probability of heads come up heads before the first tail."""
    heads = np.zeros(trials, dtype=np.int64)
    pending = np.arange(trials)
    while pending.size:
        pending = pending[coins(ratio, pending.size, rng)]
        heads[pending] += 1
    return heads


def ratio_cut_to_sixteenths(answer: Any, trials: int, rng: Rng) -> NDArray[Any]:
    ratio = Fraction(int(np.exp(-0.5) * 16), 16)
    return int(answer) + _geometric(ratio, trials, rng) - _geometric(ratio, trials, rng)


def noise_is_never_zero(answer: Any, trials: int, rng: Rng) -> NDArray[Any]:
    drawn = noise(0.2, trials, rng)
    while (zero := drawn == 0).any():
        drawn[zero] = noise(0.2, int(zero.sum()), rng)
    return int(answer) + drawn


def sum_that_wraps_at_a_byte(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    total = int(np.rint(np.nan_to_num(np.clip(records, 0.0, 3.0))).sum())
    return (total + noise(0.7, trials, rng, sensitivity=3)).astype(np.int8)


# fmt: off
LATTICES = in_group(
    "lattice bias",
    broken(
        "ratio_cut_to_sixteenths", Target.noise,
        "the ratio of the geometric law is cut to sixteenths, which makes it 0.575", ratio_cut_to_sixteenths,
        whole(0, 1), lambda output: output <= 0, trials=60_000, epsilon=0.5, domain=INTEGERS
    ),
    broken(
        "cut_towards_zero", Target.noise, "cutting noise towards zero makes zero as wide as two other integers",
        lambda answer, trials, rng: int(answer) + rng.laplace(size=trials).astype(np.int64), whole(0, 1),
        lambda output: output == 0, epsilon=1.0, domain=INTEGERS
    ),
    broken(
        "noise_is_never_zero", Target.noise, "noise of zero is drawn again", noise_is_never_zero, whole(1, 0),
        lambda output: output == 0, trials=10_000, epsilon=0.2, domain=INTEGERS
    ),
    broken(
        "low_bit_of_its_own", Target.noise, "the low bit is an unfair coin",
        lambda answer, trials, rng: int(answer) + 2 * noise(0.2, trials, rng) + coins(Fraction(5, 9), trials, rng),
        whole(0, 1), lambda output: output % 2 == 1, trials=20_000, epsilon=0.1, domain=INTEGERS
    ),
    broken(
        "binomial_noise_for_pure_claim", Target.noise,
        "binomial noise ends at 4, and falls faster than the claim allows before that",
        lambda answer, trials, rng: int(answer) + rng.binomial(8, 0.5, size=trials) - 4, whole(1, 0),
        lambda output: output >= 4, trials=20_000, epsilon=1.0, domain=INTEGERS
    ),
    sound(
        "sum_that_wraps_at_a_byte", Target.sum, "wrapping follows from the noisy sum of integers from 0 to 3",
        sum_that_wraps_at_a_byte, bounds=(0, 3), epsilon=0.7, relation=ADD_REMOVE, pairs=[added([0.0, 1.0], 3.0)]
    ),
)
# fmt: on


# Noise that is too small by a few percent, or for one output in thousands.


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


COUNTED = Domain(integers=True, bounds=(0, 1), shape=Records(least=0, most=16))
ONE_AGAINST_ALL = NeighbouringPair.utilities([1.0] + [0.0] * 30, [0.0] + [1.0] * 30, sensitivity=1.0)
# fmt: off
SUBTLE_SCALES = in_group(
    "subtle scales",
    broken(
        "laplace_at_1_015", Target.noise, "the scale is for an epsilon of 1.015",
        lambda answer, trials, rng: on_grid(answer + rng.laplace(scale=1 / 1.015, size=trials), 2.0**-10),
        answers(1.0, 0.0), lambda output: output > 1, trials=3_000_000, epsilon=1.0
    ),
    broken(
        "gaussian_for_a_larger_rho", Target.noise, "a deviation of 3, where rho = 0.02 takes 5",
        lambda answer, trials, rng: on_grid(answer + rng.normal(scale=3.0, size=trials), 2.0**-8), answers(1.0, 0.0),
        lambda output: output > 1.5, trials=5_000_000, claim=ZeroConcentrated(0.02), noise_scale=3.0, sensitivity=1.0
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
)
# fmt: on


# Noise of too few values, noise that several answers share, and budgets that are spent twice.


def first_draw_again_above_ten(values: Any, trials: int, rng: Rng) -> NDArray[Any]:
    drawn = noise(0.4, trials, rng, size=2)
    if values[0] >= 10:
        drawn[:, 1] = drawn[:, 0]
    return np.asarray(values) + drawn


# fmt: off
SHARED_NOISE = in_group(
    "budgets",
    broken(
        "first_draw_again_above_ten", Target.dataset, "the first answer's noise is used again where that is large",
        first_draw_again_above_ten, whole([20, 0], [20, 1]), lambda output: output[0] - output[1] == 20, epsilon=1.0,
        domain=Domain(integers=True, bounds=(0, 100), shape=Queries(size=2))
    ),
)
# fmt: on


# Releases that take five milliseconds an output.


SECONDS = 0.005


def slowly(answer: int, epsilon: float, trials: int, rng: Rng) -> NDArray[Any]:
    time.sleep(SECONDS * trials)
    return int(answer) + noise(epsilon, trials, rng)


# fmt: off
SLOW_OUTPUTS = in_group(
    "slow outputs",
    broken(
        "slow_and_half_the_noise", Target.noise, "the noise is for twice the epsilon",
        lambda answer, trials, rng: slowly(answer, 2.0, trials, rng), whole(1, 0), lambda output: output >= 1,
        trials=500, epsilon=1.0, domain=INTEGERS
    ),
    sound(
        "slow_and_enough_noise", Target.noise, "the noise is for the epsilon that is claimed",
        lambda answer, trials, rng: slowly(answer, 1.0, trials, rng), epsilon=1.0, domain=INTEGERS
    ),
)
# fmt: on


SPECIMENS: tuple[Specimen, ...] = (*FEW_VALUES, *SAMPLERS, *LATTICES, *SUBTLE_SCALES, *SHARED_NOISE, *SLOW_OUTPUTS)

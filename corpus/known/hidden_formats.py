"""Noise in narrow floats, or on a grid, that is handed on in another type, rounded, scaled, or printed."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.domains import Domain, Queries
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Target
from corpus.common.exact_noise import coins, discrete_laplace, joint, laplace_law, noisy, pushed, scale_of
from corpus.common.specimen import Computed, Rng, Specimen, broken, sound

GROUP = "hidden formats"

ZERO_ONE = NeighbouringPair(0.0, 1.0, None)
WHOLE_01 = NeighbouringPair(0, 1, None)
ONE_QUERY = Domain(shape=Queries(size=1))
FIRST_MOVES = NeighbouringPair(np.array([0.0]), np.array([1.0]), None)
SOME_INTEGERS = Domain(integers=True, bounds=(-1000, 1000))


def is_off_grid(value: float, grid: float, *, within: float = 0.0) -> bool:
    """Whether a number below a quarter is further from a multiple of `grid` than `within`."""
    steps = value / grid
    return abs(value) < 0.25 and abs(steps - round(steps)) > within


def laplace32(trials: int, rng: Rng) -> NDArray[np.float32]:
    """Laplace noise of scale 1 as somebody writes it in binary32: uniform with 24 bits, then a logarithm."""
    magnitude = -np.log1p(-rng.random(trials, dtype=np.float32))
    return np.where(rng.random(trials) < 0.5, -magnitude, magnitude).astype(np.float32)


def double_of_binary32(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:
    return np.asarray(np.float32(answer) + laplace32(trials, rng), dtype=np.float64)


def printed_binary32(answers: NDArray[Any], trials: int, rng: Rng) -> list[str]:
    noisy = answers.astype(np.float32)[0] + laplace32(trials, rng)
    return [f"{value:.9g}" for value in noisy]


def half_precision(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:
    noise = (rng.standard_normal(trials) * 4.0).astype(np.float16)
    return np.asarray(np.float16(answer) + noise, dtype=np.float64)


def truncated_to_bfloat16(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:
    cut = laplace32(trials, rng).view(np.uint32) & np.uint32(0xFFFF0000)
    return answer + cut.view(np.float32).astype(np.float64)


def json_record(answers: NDArray[Any], trials: int, rng: Rng) -> list[str]:
    noisy = answers[0] + rng.laplace(0.0, 1.0, trials)
    return [json.dumps({"unit": "m", "value": float(value)}) for value in noisy]


def sum_in_binary32(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.float64]:
    total = np.float32(np.clip(records, 0.0, 1.0).sum())
    return (total + laplace32(trials, rng)).astype(np.float64)


def rows_in_half_precision(answers: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.float16]:
    noise = discrete_laplace(3, 3 * trials, rng).reshape(trials, 3)
    return (answers + noise).astype(np.float16)


def overflowing_units(answer: int, trials: int, rng: Rng) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        return np.asarray((answer + discrete_laplace(1, trials, rng)) * 1e306)


def sometimes_nan(answer: int, trials: int, rng: Rng) -> NDArray[np.float64]:
    lost = coins(Fraction(1, 8), trials, rng)
    return np.asarray(np.where(lost, np.nan, answer + discrete_laplace(1, trials, rng)))


def _grid32(value: float) -> bool:
    return is_off_grid(value, 2.0**-24)


# fmt: off
SPECIMENS: tuple[Specimen, ...] = (
    broken(
        "double_of_binary32", Target.noise, "binary32 noise, cast to doubles at the end", double_of_binary32, ZERO_ONE,
        _grid32, epsilon=1.0
    ),
    broken(
        "printed_binary32", Target.dataset, "binary32 noise printed with nine digits", printed_binary32, FIRST_MOVES,
        lambda output: is_off_grid(float(output), 2.0**-24, within=0.01), epsilon=1.0, domain=ONE_QUERY
    ),
    broken(
        "percentages", Target.noise, "numpy's Laplace in doubles, times 100",
        lambda answer, trials, rng: 100.0 * (answer + rng.laplace(0.0, 1.0, trials)), ZERO_ONE,
        lambda output: abs(output) < 25 and 100.0 * (round(output / 100 * 2.0**53) * 2.0**-53) != output, epsilon=1.0,
        noise_scale=100.0
    ),
    broken(
        "half_precision", Target.noise, "normal noise in binary16, cast to doubles at the end", half_precision,
        ZERO_ONE, lambda output: is_off_grid(output, 2.0**-11), trials=20_000, epsilon=2.0, delta=1e-3, noise_scale=4.0
    ),
    broken(
        "truncated_to_bfloat16", Target.noise, "binary32 noise cut to bfloat16, added in doubles",
        truncated_to_bfloat16, ZERO_ONE, lambda output: is_off_grid(output, 2.0**-8), epsilon=1.0, noise_scale=1.0
    ),
    broken(
        "json_record", Target.dataset, "numpy's Laplace in doubles, printed to the last bit in JSON", json_record,
        FIRST_MOVES, lambda output: is_off_grid(json.loads(output)["value"], 2.0**-53), epsilon=1.0, domain=ONE_QUERY
    ),
    broken(
        "sum_in_binary32", Target.sum, "a sum with binary32 noise, cast to a double", sum_in_binary32,
        NeighbouringPair.records(np.array([0.0]), np.array([1.0]), Relation.SUBSTITUTE), _grid32, epsilon=1.0,
        bounds=(0, 1)
    ),
    broken(
        "grid_of_noise_only", Target.noise, "noise is rounded to two decimals, the answer is not",
        lambda answer, trials, rng: answer + np.round(rng.laplace(0.0, 1.0, trials), 2),
        NeighbouringPair(0.0, 0.005, None), lambda output: is_off_grid(output / 10, 0.001, within=0.2), epsilon=1.0
    ),
    noisy(
        "tenths", Target.noise, "an integer with exact noise, times 0.1: each integer has one double", 1, WHOLE_01,
        lambda n: n * 0.1, epsilon=1.0, domain=SOME_INTEGERS, noise_scale=0.1
    ),
    noisy(
        "binary32_of_integer", Target.noise, "an integer with exact noise, cast to binary32", scale_of(0.3), WHOLE_01,
        np.float32, epsilon=0.3, domain=SOME_INTEGERS
    ),
    sound(
        "rows_in_half_precision", Target.dataset, "three integers with exact noise, a third of ε each, in binary16",
        rows_in_half_precision, epsilon=1.0, domain=Domain(shape=Queries(size=3), integers=True, bounds=(0, 100))
    ),
    sound(
        "overflowing_units", Target.noise, "an integer with exact noise times 10^306, which is infinite from 180 on",
        overflowing_units, Computed(WHOLE_01, lambda answer: pushed(laplace_law(1), lambda n: (answer + n) * 1e306)),
        epsilon=1.0, domain=SOME_INTEGERS, noise_scale=1e306
    ),
    sound(
        "sometimes_nan", Target.noise, "one output in eight is NaN, whatever the answer", sometimes_nan,
        Computed(
            WHOLE_01,
            lambda answer: pushed(
                joint({True: 1 / 8, False: 7 / 8}, laplace_law(1)),
                lambda draw: "nan" if draw[0] else repr(float(answer + draw[1])),
            ),
            lambda output: repr(float(output)),
        ),
        epsilon=1.0, domain=SOME_INTEGERS
    ),
)
# fmt: on

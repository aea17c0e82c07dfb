"""Noise of a narrow format, hidden by what is done to it before it is released."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.domains import Domain, Queries, Records
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target
from corpus.common.specimen import Rng, Specimen, broken, sound
from corpus.held_out.inputs import ADD_REMOVE, INTEGERS, SUBSTITUTE, added, answers, noise, replaced

GROUP = "hidden formats"


def noise_of_six_digits(answer: float, trials: int, rng: Rng) -> list[float]:
    return [answer + float(f"{drawn:.6g}") for drawn in rng.laplace(scale=2.0, size=trials).tolist()]


def single_precision_in_fahrenheit(answer: float, trials: int, rng: Rng) -> NDArray[Any]:
    celsius = answer + rng.laplace(size=trials).astype(np.float32).astype(np.float64)
    return celsius * 1.8 + 32


def fixed_point_noise_of_a_sum(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    total = float(np.nan_to_num(np.clip(records, 0.0, 1.0)).sum())
    return total + np.rint(rng.laplace(scale=2.0, size=trials) * 65536) / 65536


def gridded_noise_of_a_mean(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    total = float(np.nan_to_num(np.clip(records, -1.0, 1.0)).sum())
    return (total + np.rint(rng.laplace(scale=4.0, size=trials) * 1024) / 1024) / max(1, len(records))


def third_column_of_single_precision(values: Any, trials: int, rng: Rng) -> NDArray[Any]:
    drawn = rng.laplace(scale=3.0, size=(trials, 3))
    drawn[:, 2] = drawn[:, 2].astype(np.float32)
    return np.asarray(values) + drawn


def cents_as_text(records: Any, trials: int, rng: Rng) -> list[str]:
    total = int(np.rint(np.clip(records, 0.0, 1.0) * 100).sum())
    return [f"{cents / 100:.2f} EUR" for cents in (total + noise(1.0, trials, rng, sensitivity=100)).tolist()]


def _is_float32(value: float) -> bool:
    return abs(float(np.float32(value)) - value) <= 1e-14 * max(1.0, abs(value))


THREE = Domain(shape=Queries(size=3))
# fmt: off
SPECIMENS: tuple[Specimen, ...] = (
    broken(
        "half_precision_as_double", Target.noise, "noise of binary16 is added to a double",
        lambda answer, trials, rng: answer + rng.laplace(size=trials).astype(np.float16).astype(np.float64),
        answers(0.0, 0.3), lambda output: float(np.float16(output)) == output, epsilon=1.0
    ),
    broken(
        "noise_of_six_digits", Target.noise, "noise went through text of six digits", noise_of_six_digits,
        answers(0.0, 1 / 3), lambda output: float(f"{output:.6g}") == output, epsilon=0.5
    ),
    broken(
        "noise_in_milliseconds", Target.noise, "noise is a whole number of milliseconds, the answer is not",
        lambda answer, trials, rng: answer + np.rint(rng.laplace(scale=125.0, size=trials)) / 1000,
        answers(0.0, 0.1234567, 0.25), lambda output: round(output * 1000) / 1000 == output, epsilon=2.0,
        sensitivity=0.25
    ),
    broken(
        "single_precision_in_fahrenheit", Target.noise, "noise is of binary32 before the unit is changed",
        single_precision_in_fahrenheit, answers(0.0, 0.1), lambda output: _is_float32((float(output) - 32) / 1.8),
        epsilon=1.0
    ),
    broken(
        "fixed_point_noise_of_a_sum", Target.sum, "noise has 16 bits after the point, the sum has more",
        fixed_point_noise_of_a_sum, added([0.0], 0.3), lambda output: float(output * 65536).is_integer(), bounds=(0, 1),
        epsilon=0.5, relation=ADD_REMOVE
    ),
    broken(
        "gridded_noise_of_a_mean", Target.mean, "noise has 10 bits after the point, the sum that is divided has more",
        gridded_noise_of_a_mean, replaced([0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.3]),
        lambda output: float(output * 4096).is_integer(), bounds=(-1, 1), epsilon=0.5, relation=SUBSTITUTE
    ),
    broken(
        "third_column_of_single_precision", Target.dataset, "the noise of one column is of binary32",
        third_column_of_single_precision, NeighbouringPair.utilities([0.0, 0.0, 0.0], [0.0, 0.0, 0.3], sensitivity=1.0),
        lambda output: float(np.float32(output[2])) == output[2], epsilon=1.0, domain=THREE
    ),
    sound(
        "answer_rounded_before_noise", Target.noise,
        "rounded to a grid of 1/1024 the answer moves by 1025 steps at the most, which the noise allows for",
        lambda answer, trials, rng: (round(answer * 1024) + noise(1.0, trials, rng, sensitivity=1025)) / 1024,
        epsilon=1.0, domain=Domain(bounds=(-1000, 1000))
    ),
    sound(
        "integers_in_fahrenheit", Target.noise, "the unit and the narrow format follow from the noisy integer",
        lambda answer, trials, rng: ((int(answer) + noise(0.5, trials, rng)) * 1.8 + 32).astype(np.float32),
        epsilon=0.5, domain=INTEGERS
    ),
    sound(
        "cents_as_text", Target.dataset, "each record is rounded to cents, of which there are 100 at the most",
        cents_as_text, epsilon=1.0, relation=ADD_REMOVE, domain=Domain(bounds=(0, 1), shape=Records())
    ),
)
# fmt: on

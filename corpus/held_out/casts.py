"""Answers that wrap around, saturate or are rounded in a narrower format before the noise is added."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.domains import Domain
from attacklab.model.targets import Target
from corpus.common.specimen import Rng, Specimen, broken, sound
from corpus.held_out.inputs import INTEGERS, answers, noise, whole

GROUP = "casts and wraps"


def cents_in(width: int, answer: float, trials: int, rng: Rng) -> NDArray[Any]:
    cents = (round(answer * 100) + (1 << width - 1)) % (1 << width) - (1 << width - 1)
    return (cents + noise(1.0, trials, rng, sensitivity=101)) / 100


def through_double(answer: int, trials: int, rng: Rng) -> list[int]:
    return [int(float(answer)) + drawn for drawn in noise(1.0, trials, rng).tolist()]


def cast_as_in_c(answer: float, trials: int, rng: Rng) -> NDArray[Any]:
    cast = int(answer) if -(2.0**31) <= answer < 2.0**31 else -(2**31)
    return (4 * cast + noise(1.0, trials, rng, sensitivity=8)) / 4


def cents_by_floor(answer: float, trials: int, rng: Rng) -> NDArray[Any]:
    return (math.floor(answer * 100) + noise(1.0, trials, rng, sensitivity=101)) / 100


AMOUNTS = Domain(bounds=(0, 10_000))
# fmt: off
SPECIMENS: tuple[Specimen, ...] = (
    broken(
        "wraps_in_16_bits", Target.noise, "answers from 2^15 on wrap around",
        lambda answer, trials, rng: (int(answer) + 2**15) % 2**16 - 2**15 + noise(1.0, trials, rng),
        whole(32_768, 32_767), lambda output: output < 0, epsilon=1.0, domain=INTEGERS
    ),
    broken(
        "wraps_in_a_byte", Target.noise, "answers from 256 on wrap around",
        lambda answer, trials, rng: int(answer) % 256 + noise(1.0, trials, rng), whole(256, 255),
        lambda output: output < 128, epsilon=1.0, domain=Domain(integers=True, non_negative=True, bounds=(0, 2**40))
    ),
    broken(
        "cents_wrap_in_32_bits", Target.noise, "cents wrap around at 2^31",
        lambda answer, trials, rng: cents_in(32, answer, trials, rng), answers(21_474_836.48, 21_474_836.47),
        lambda output: output < 0, epsilon=1.0, noise_scale=1.0, domain=Domain(bounds=(0, 1e9))
    ),
    broken(
        "cents_wrap_in_16_bits", Target.noise, "cents wrap around at 2^15",
        lambda answer, trials, rng: cents_in(16, answer, trials, rng), answers(327.7, 327.0),
        lambda output: output < 0, epsilon=1.0, noise_scale=1.1, domain=AMOUNTS
    ),
    broken(
        "integer_as_binary32", Target.noise, "binary32 takes 2^24 + 3 up to 2^24 + 4",
        lambda answer, trials, rng: int(np.float32(answer)) + noise(1.0, trials, rng), whole(2**24 + 3, 2**24 + 2),
        lambda output: output >= 2**24 + 4, epsilon=1.0, domain=INTEGERS
    ),
    broken(
        "integer_as_binary16", Target.noise, "binary16 takes 2051 up to 2052",
        lambda answer, trials, rng: int(np.float16(answer)) + noise(1.0, trials, rng), whole(2_051, 2_050),
        lambda output: output >= 2_052, epsilon=1.0, domain=Domain(integers=True, bounds=(0, 4_000))
    ),
    broken(
        "integer_through_double", Target.noise, "a double takes 2^53 + 3 up to 2^53 + 4", through_double,
        whole(2**53 + 3, 2**53 + 2), lambda output: output >= 2**53 + 4, epsilon=1.0,
        domain=Domain(integers=True, bounds=(-(2**60), 2**60))
    ),
    broken(
        "negative_as_unsigned", Target.noise, "-1 becomes 2^32 - 1",
        lambda answer, trials, rng: int(answer) % 2**32 + noise(1.0, trials, rng), whole(-1, 0),
        lambda output: output > 2**31, epsilon=1.0, domain=INTEGERS
    ),
    broken(
        "half_to_even", Target.noise, "1.5 and 0.5 are rounded two apart",
        lambda answer, trials, rng: round(float(answer)) + noise(1.0, trials, rng), answers(1.5, 0.5),
        lambda output: output >= 2, epsilon=1.0, domain=Domain(bounds=(0, 1_000))
    ),
    broken(
        "cast_as_in_c", Target.noise, "a double beyond 2^31 becomes the least integer of 32 bits", cast_as_in_c,
        answers(2.0**31, 2.0**31 - 1), lambda output: output < 0, epsilon=1.0,
        domain=Domain(bounds=(-(2.0**40), 2.0**40))
    ),
    sound(
        "saturates_at_16_bits", Target.noise, "clamping moves neighbours no further apart",
        lambda answer, trials, rng: min(max(int(answer), -(2**15)), 2**15 - 1) + noise(1.0, trials, rng), epsilon=1.0,
        domain=INTEGERS
    ),
    sound(
        "noisy_answer_wraps", Target.noise, "what wraps around is the noisy answer",
        lambda answer, trials, rng: (int(answer) + noise(1.0, trials, rng)) % 2**16, epsilon=1.0, domain=INTEGERS
    ),
    sound(
        "cents_by_floor", Target.noise, "the noise pays for the cent by which cutting may move the answer",
        cents_by_floor, epsilon=1.0, noise_scale=1.02, domain=AMOUNTS
    ),
)
# fmt: on

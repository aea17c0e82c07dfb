"""Releases that take five milliseconds an output."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.domains import Domain, Records
from attacklab.model.targets import Target
from corpus.common.specimen import Rng, Specimen, broken, sound
from corpus.held_out.inputs import ADD_REMOVE, INTEGERS, added, noise, whole

GROUP = "slow outputs"
SECONDS = 0.005


def slowly(answer: int, epsilon: float, trials: int, rng: Rng) -> NDArray[Any]:
    time.sleep(SECONDS * trials)
    return int(answer) + noise(epsilon, trials, rng)


def slowly_with_parity(records: Any, trials: int, rng: Rng) -> list[tuple[int, int]]:
    return [(count, len(records) % 2) for count in slowly(np.sum(records), 1.0, trials, rng).tolist()]


# fmt: off
SPECIMENS: tuple[Specimen, ...] = (
    broken(
        "slow_and_half_the_noise", Target.noise, "the noise is for twice the epsilon",
        lambda answer, trials, rng: slowly(answer, 2.0, trials, rng), whole(1, 0), lambda output: output >= 1,
        trials=500, epsilon=1.0, domain=INTEGERS
    ),
    broken(
        "slow_and_parity", Target.dataset, "the number of records modulo 2 stands beside the count",
        slowly_with_parity, added([1], 1), lambda output: output[1] == 0, trials=200, epsilon=1.0, relation=ADD_REMOVE,
        domain=Domain(integers=True, bounds=(0, 1), shape=Records(least=0, most=20))
    ),
    sound(
        "slow_and_enough_noise", Target.noise, "the noise is for the epsilon that is claimed",
        lambda answer, trials, rng: slowly(answer, 1.0, trials, rng), epsilon=1.0, domain=INTEGERS
    ),
)
# fmt: on

"""Sound specimens whose claim covers work, and which spend all of it on output and work together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.claims import OutputAndWork, PrivacyClaim
from attacklab.model.domains import Domain
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target
from attacklab.model.work import records
from bench.detection.exact_noise import (
    coins,
    discrete_laplace,
    joint,
    laplace_law,
    response_law,
    scale_of,
    truth_probability,
)
from bench.detection.specimen import Computed, Law, Rng, Specimen, sound

HALF = 0.25
"""The ε that the output of the first specimen spends, and its work spends as much again."""

ZERO_ONE = NeighbouringPair(0, 1, None)
SCALE = scale_of(0.5)


def half_in_rounds(answer: int, trials: int, rng: Rng) -> NDArray[Any]:
    """The answer in the output and again in the work, either by randomized response."""
    told = [coins(truth_probability(HALF), trials, rng) for _ in range(2)]
    output, rounds = (np.where(truth, answer, 1 - answer) for truth in told)
    return records(output, rounds + 1)


def rounds_by_output(answer: int, trials: int, rng: Rng) -> NDArray[Any]:
    """Discrete Laplace noise, with work that follows from the output."""
    output = answer + discrete_laplace(SCALE, trials, rng)
    return records(output, np.abs(output) % 3)


def _half_law(answer: int) -> Law:
    response = response_law(HALF, answer, (0, 1))
    return {(output, rounds + 1): mass for (output, rounds), mass in joint(response, response).items()}


def _rounds_law(answer: int) -> Law:
    return {(answer + n, abs(answer + n) % 3): mass for n, mass in laplace_law(SCALE).items()}


def _key(record: Any) -> tuple[int, int]:
    return int(record["output"]), int(record["work"])


SPECIMENS: tuple[Specimen, ...] = (
    sound(
        "half_in_rounds",
        Target.noise,
        "output and work are randomized responses of half of ε each",
        half_in_rounds,
        Computed(ZERO_ONE, _half_law, _key),
        claim=OutputAndWork(PrivacyClaim(2 * HALF)),
        domain=Domain(integers=True, bounds=(0, 1)),
    ),
    sound(
        "rounds_by_output",
        Target.noise,
        "work that is a function of the output adds nothing to it",
        rounds_by_output,
        Computed(ZERO_ONE, _rounds_law, _key),
        claim=OutputAndWork(PrivacyClaim(0.5)),
        domain=Domain(integers=True),
    ),
)

"""The number of people in a mean, estimated from noise whose scale depends on it."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import bounds_of
from attacklab.attacks.local_sensitivity import estimated_scale, size_of_scale
from attacklab.auditing.statistics.inference import assess
from attacklab.model.findings import Counts
from attacklab.model.targets import Target


def reading_error(
    target: Target, people: NDArray[np.float64], answers: int, repetitions: int, rng: np.random.Generator
) -> float:
    """Return the median relative error of n, the number of people, as estimated from this many answers."""
    drawn = target.outputs(people, repetitions * answers, rng).reshape(repetitions, answers)
    # The adversary does not know the mean: it centres the answers on their own.
    scales = estimated_scale(drawn, drawn.mean(axis=1, keepdims=True))
    estimates = size_of_scale(scales, *bounds_of(target), target.claim.nominal.epsilon)
    return float(np.median(np.abs(estimates - len(people)) / len(people)))


def bet_on_size(
    target: Target, group: NDArray[np.float64], answers: int, trials: int, alpha: float, rng: np.random.Generator
) -> dict[str, float]:
    """Return the advantage of telling a group from all but its last person by n as estimated from answers.

    The adversary knows both groups, centres answers between their means, and looks at nothing but the answers.
    """
    claim = target.claim.composed(answers)
    smaller = group[:-1]
    centre = float(smaller.mean() + group.mean()) / 2
    step = max(1, (1 << 20) // answers)
    hits = [0, 0]
    for side, people in enumerate((smaller, group)):
        for start in range(0, trials, step):
            rows = min(step, trials - start)
            drawn = target.outputs(people, rows * answers, rng).reshape(rows, answers)
            read = size_of_scale(estimated_scale(drawn, centre), *bounds_of(target), target.claim.nominal.epsilon)
            hits[side] += int(np.count_nonzero(read < len(group) - 0.5))
    assessment = assess(claim.nominal, Counts(hits[0], hits[1], trials), alpha)
    return {"answers": answers, **asdict(assessment.advantage), "ceiling": claim.ceiling}

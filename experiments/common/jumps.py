"""The advantage of one answer where a local sensitivity jumps, and the maximum of a smooth bound."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import starmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.local_sensitivity import jumps
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target
from experiments.targets import means
from mechanisms.core.smooth import Smooth
from mechanisms.local_sensitivity.naive import sensitivity_at_distance

FAR = 60
"""Discrete Laplace noise is more than this many scales from 0 with probability below 1e-25."""

DISTANCES = 600
"""The largest distance at which the maximum of a smooth bound is looked for."""


def pair_at_jump(target: Target, rng: np.random.Generator) -> NeighbouringPair:
    """Return the pair on which, as the attack finds, the spread of a target's outputs differs most."""

    def probe(side: Any, trials: int) -> NDArray[Any]:
        return target.outputs(side, trials, rng)

    return next(jumps(target, probe)).pair


def largest_advantage(term: Smooth, pair: NeighbouringPair) -> float:
    """Return the largest advantage of any event of one answer, by the laws of discrete Laplace noise, in doubles."""
    answers = [term.query.of(side) for side in (pair.first, pair.second)]
    scales = [float(2 * term.bound(side) / term.epsilon) for side in (pair.first, pair.second)]
    reach = math.ceil(FAR * max(scales))
    steps = np.arange(min(answers) - reach, max(answers) + reach + 1)

    def law(answer: int, scale: float) -> NDArray[np.float64]:
        probabilities: NDArray[np.float64] = math.tanh(1 / (2 * scale)) * np.exp(-np.abs(steps - answer) / scale)
        return probabilities

    first, second = starmap(law, zip(answers, scales, strict=True))
    return float(np.abs(first - second).sum() / 2)


def smoothed(sensitivity: Callable[[int], float], distances: Sequence[int], beta: float) -> list[float]:
    """Return e^(−βk)·A(k) for each distance k; a smooth bound is the maximum."""
    return [math.exp(-beta * distance) * sensitivity(distance) for distance in distances]


def smooth_bounds(sizes: Sequence[int], epsilon: float, textbook: int) -> dict[str, dict[str, Any]]:
    """Return, by the size n of a database, e^(−βk)·A(k) of the mean at each distance k, with the textbook's A and β.

    Each entry also has the maximum, where it is, and the maximum over the first `textbook` distances.
    """
    beta = epsilon / (2 * math.log(2 / means.DELTA))
    rows = {}
    for size in sizes:
        distances = range(min(size, DISTANCES) + 1)
        curve = smoothed(partial(sensitivity_at_distance, size, means.UPPER), distances, beta)
        at = max(distances, key=curve.__getitem__)
        rows[str(size)] = {"curve": curve, "at": at, "most": curve[at], "within": max(curve[:textbook])}
    return rows

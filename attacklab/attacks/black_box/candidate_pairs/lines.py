"""Steps of lines: a line is a family of inputs in which consecutive ones are neighbours.

One sample at each of 1, 2, 4, 8, … steps shows where the output's law changes by more than group privacy allows for so
many steps. If that is not chance, some single step among them breaks the claim itself, and bisection looks for it.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Probe, as_floats
from attacklab.attacks.failures import sampled
from attacklab.model.bisection import steepest_step
from attacklab.model.claims import PrivacyClaim, directions
from attacklab.model.errors import OutsideDomain

LINE_OUTPUTS = 64  # how many outputs are drawn at each point of a line
BISECTED = 2  # how many of the intervals of a line are bisected


def broken_steps(line: Callable[[int], Any], last: int, claim: PrivacyClaim, probe: Probe) -> list[int]:
    """Steps of a line at which the law seems to change by more than the claim allows.

    Args:
        line: `line(k)`, input k.
        last: the number of steps, a power of two.
        claim: what is promised of one step.
        probe: draws outputs of the target.

    Returns:
        Numbers k; each step leads from input k to input k + 1.
    """

    def values(step: int) -> NDArray[np.float64]:
        try:
            outputs = sampled(probe, line(step), LINE_OUTPUTS)
        except OutsideDomain:
            return np.full(LINE_OUTPUTS, -np.inf)
        numbers = as_floats(outputs).reshape(len(outputs), -1).sum(axis=1)
        return np.asarray(np.nan_to_num(numbers, nan=-np.inf))

    points = [0, *(1 << power for power in range(last.bit_length()))]
    seen = functools.cache(values)
    for point in points:
        seen(point)

    def excess(low: int, high: int) -> float:
        return _excess(seen(low), seen(high), claim.epsilon * (high - low))

    intervals = sorted(itertools.pairwise(points), key=lambda ends: -excess(*ends))
    return [steepest_step(excess, *interval) for interval in intervals[:BISECTED]]


def _excess(first: NDArray[np.float64], second: NDArray[np.float64], epsilon: float) -> float:
    """The largest p − e^ε·q over half-lines and their complements, both ways; p and q are the observed rates."""
    ends = np.unique(np.concatenate([first, second]))
    p, q = (np.searchsorted(np.sort(side), ends, "right") / len(side) for side in (first, second))
    factor = math.exp(min(epsilon, 700.0))
    return float(max((larger - factor * smaller).max() for larger, smaller in directions((p, p), (q, q))))

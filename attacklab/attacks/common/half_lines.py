"""Bets on the higher of two answers: shared by the attacks whose pair moves an answer further than its noise covers."""

from __future__ import annotations

import math
import sys
from functools import partial

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Event, Probe, Scenario, as_floats, literal
from attacklab.attacks.common.failures import bet_on_failing
from attacklab.model.errors import TargetError
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Outputs, is_exact

PROBED = 501  # the most outputs that are drawn of each input; their median stands for the answer

OF_TRIALS, LEAST_PROBED = 6, 7  # one output is drawn for so many trials that judge, and no fewer than these


def probed_within(most: int, trials: int) -> int:
    """How many outputs of an input stand for its answer, at the most, in an audit of so many trials."""
    return max(LEAST_PROBED, min(most, trials // OF_TRIALS))


def half_line_scenario(
    first: NDArray[np.float64], second: NDArray[np.float64], relation: Relation, probe: Probe, *, probed: int
) -> Scenario:
    """Bet on which of two datasets has the higher answers.

    Args:
        first: the records of one dataset, shape (n,).
        second: the records of its neighbour.
        relation: what makes them neighbours.
        probe: draws outputs of the target.
        probed: how many outputs of each dataset the typical answer is taken from.

    Returns:
        The pair, the dataset with the higher answers first, with the half-lines that separate the two. If the target
        fails on one of them, the pair with the bet on failure.

    Raises:
        TargetError: the target always fails, on both datasets.
    """
    try:
        sides = [(typical(probe(records, probed)), records) for records in (first, second)]
    except TargetError:
        return bet_on_failing(NeighbouringPair.records(first, second, relation), probe)
    (low, lower), (high, higher) = sorted(sides, key=lambda side: side[0])
    return Scenario(NeighbouringPair.records(higher, lower, relation), half_lines(low, high))


def typical(outputs: Outputs) -> float:
    """The median of the outputs that are not failures; 0 if all are failures."""
    values = as_floats(outputs)
    values = values[~np.isnan(values)]
    return float(np.quantile(values, 0.5, method="lower")) if values.size else 0.0


def half_lines(low: float, high: float) -> tuple[Event, ...]:
    """The bets on the higher of two answers: outputs beyond the middle between them.

    If the middle is not below the higher answer, because the two are equal or adjacent doubles or one is infinite,
    there are two bets: one that includes the higher answer, and one on outputs beyond the middle.
    """
    middle = low / 2 + high / 2
    below = float(np.nextafter(high, -math.inf))
    thresholds = (middle,) if middle < high else (below, min(middle, sys.float_info.max))
    return tuple(map(half_line, thresholds))


def half_line(threshold: float) -> Event:
    """The bet that the answer exceeds a number; integers, fractions and decimals are compared exactly."""
    return Event(
        f"the answer exceeds {threshold!r}",
        partial(_exceeds, threshold=threshold),
        f"(float(output) if isinstance(output, np.floating) else output) > {literal(threshold)}",
    )


def _exceeds(outputs: Outputs, *, threshold: float) -> NDArray[np.bool_]:
    if outputs.dtype == object and any(map(is_exact, outputs.flat)):
        exceeds = [output > threshold if is_exact(output) else float(output) > threshold for output in outputs.flat]
        return np.array(exceeds, dtype=bool).reshape(outputs.shape)
    values = outputs if outputs.dtype.kind in "iu" else as_floats(outputs)
    return np.asarray(values > threshold)

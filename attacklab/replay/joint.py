"""All comparisons that hang on one draw, together: for each interval of the draw, what the output tells.

Numbers compared with one noisy threshold cut its line into intervals. In each of them the output is one, on either
input, so that the law of the output is that of the intervals. Paths that only some outcomes take are run as well. Parts
of the output that move inside an interval are the noisy number itself, rounded or in words; they are judged as that.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from attacklab.replay import paths
from attacklab.replay.laws import CATEGORICAL, CONTINUOUS, UNIFORM, Law, near
from attacklab.replay.outputs import skeleton
from attacklab.replay.session import Session

if TYPE_CHECKING:
    from attacklab.replay.judge import Pair

ROUNDS = 6
MOST_CELLS = 64

MIDDLE, ASIDE = 0.5, (0.1, 0.83)
"""Where in an interval the output is looked at, and where besides, to see what moves inside it."""


def joint_laws(pair: Pair, unit: int) -> tuple[tuple[Law, Law], bool] | None:
    """The laws, on both inputs, of what the output tells of one draw, the others as they were.

    Returns:
        The two laws, and whether nothing else is drawn, whatever the draw decides. None where the draw is compared in
        other ways than with numbers, or decides too much, or whether more is drawn; and where no output is one of both
        inputs, which no comparison explains.
    """
    call, at = pair.first.owner(unit)
    match = pair.second._calls_by_key.get(call.key)
    numbers = pair.first.number_of(call), None if match is None else pair.second.number_of(match)
    if call.family not in CONTINUOUS or call.family == UNIFORM or None in numbers or pair.aligned:
        return None
    raw, scale = float(np.ravel(call.raw)[at]), call.scale_at(at)
    if not scale:
        return None

    def run_at(share: float) -> list[list[Session]]:
        """On either input, a run for each interval, with the draw at so much of it."""
        inside = [_inside(low, high, near(scale), share) for low, high in itertools.pairwise(edges)]
        return [
            [pair.again({number: {at: to - raw}}, second=second, kept=not second) for to in inside]
            for second, number in zip((False, True), numbers, strict=True)
        ]

    turns: set[float] = set()
    edges = [-math.inf, math.inf]
    found = [_turns(pair, run, unit) for run in (pair.first, pair.second)]
    for _ in range(ROUNDS):
        if None in found:
            return None
        new = turns.union(*filter(None, found))
        if len(new) >= MOST_CELLS:
            return None
        if new == turns:
            break
        turns = new
        edges = [-math.inf, *sorted(turns), math.inf]
        runs = run_at(MIDDLE)
        found = [_turns(pair, run, unit) for side in runs for run in side]
    else:
        return None
    masses = paths.interval(Law(call.family, scale=scale), np.array(edges[:-1]), np.array(edges[1:]))
    everywhere = [runs, *map(run_at, ASIDE)]
    made = [run for sides in everywhere for side in sides for run in side]
    if any(call.key not in pair.first._calls_by_key for run in made for call in run.calls):
        return None  # that draw is another one on either input
    outputs = [[[skeleton(run.output) for run in side] for side in sides] for sides in everywhere]
    moving = _moving(outputs)
    if moving and len({frozenset().union(*(_thresholds(pair, run, unit) for run in side)) for side in runs}) > 1:
        pair.outcome.unjudged.append(f"{call.site} draws noise for a number that is compared with the data, and shown")
        return None
    told = [_weights([repr(_coarse(output, moving)) for output in side], masses.tolist()) for side in outputs[0]]
    if told[0].keys().isdisjoint(told[1]):
        return None
    outcomes = sorted({*told[0], *told[1]})
    first, second = (Law(CATEGORICAL, weights=tuple(side.get(one, 0.0) for one in outcomes)) for side in told)
    return (first, second), all(sum(call.size for call in run.calls) == 1 for run in made)


def _inside(low: float, high: float, scale: float, share: float) -> float:
    """A value inside an interval, of which one end or both may be infinite."""
    if math.isinf(low) or math.isinf(high):
        beyond = 2 * share * scale
        return low + beyond if math.isinf(high) else high - beyond
    return low + share * (high - low)


def _moving(outputs: list[list[list[list[tuple[str, Any]]]]]) -> set[tuple[str, type]]:
    """The parts of outputs, each with its type, that differ somewhere inside an interval."""
    middle, *aside = outputs
    return {
        (path, type(value))
        for sides in aside
        for one, other in zip(itertools.chain(*middle), itertools.chain(*sides), strict=True)
        for path, value in {*one} ^ {*other}
    }


def _coarse(output: list[tuple[str, Any]], moving: set[tuple[str, type]]) -> list[tuple[str, Any]]:
    return [(path, "moves" if (path, type(value)) in moving else value) for path, value in output]


def _turns(pair: Pair, run: Session, unit: int) -> set[float] | None:
    """The values of a draw at which its comparisons in a run turn; None where it is compared with other noise."""
    bounds = paths.bounds_of(run, pair.shown)
    if bounds is None:
        return None
    turns = set()
    for bound in bounds:
        if unit not in paths.units_of(bound):
            continue
        if isinstance(bound.right, tuple) or not bound.factors or not bound.factors[0]:
            return None
        turns.add(near((bound.right - bound.left[1].centre) / bound.factors[0]))
    return turns


def _thresholds(pair: Pair, run: Session, unit: int) -> set[Any]:
    """What a noisy number of a draw is compared with in a run."""
    bounds = paths.bounds_of(run, pair.shown) or ()
    return {(bound.site[:2], bound.right) for bound in bounds if unit in paths.units_of(bound)}


def _weights(outcomes: list[str], masses: list[float]) -> dict[str, float]:
    weights: dict[str, float] = defaultdict(float)
    for outcome, mass in zip(outcomes, masses, strict=True):
        weights[outcome] += mass
    return dict(weights)

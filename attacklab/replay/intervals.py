"""A uniform number in an interval that noise chose, as a private quantile is drawn: its law over all choices.

On each input every choice is made to happen, which shows its interval. Then the density of the number is a sum of
steps, and what two of those lose is exact: within a cell between two ends of intervals both are constant.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from attacklab.replay import paths
from attacklab.replay.laws import CATEGORICAL, UNIFORM, Law, near
from attacklab.replay.session import BEYOND, Seen, Session, filled

if TYPE_CHECKING:
    from attacklab.replay.judge import Pair

MOST_CHOICES = 256
OTHER_SEEDS = 4
NARROWEST = Fraction(1, 1 << 40)
"""Of all that intervals cover, the share that a cell has at least; less is what rounding makes of one end."""

Steps = list[tuple[float, Fraction, Fraction]]
"""Intervals: how probable each is, and its ends."""


@dataclass(frozen=True)
class Placed:
    """A uniform draw whose interval other draws choose.

    Attributes:
        choice: which selection of the run chooses it; None where it is not one alone.
        laws: of the number on both inputs, over all choices; None where they are not known.
    """

    choice: int | None
    laws: tuple[Law, Law] | None


def placed(pair: Pair, unit: int) -> Placed | None:
    """What chooses the interval of a uniform draw; None where it follows the data alone."""
    sides = [_by_choice(pair, unit, second) for second in (False, True)]
    following = [[at for at, steps in enumerate(side) if steps is None or len(_ends(steps)) > 1] for side in sides]
    is_compared = _follows_comparisons(pair, unit)
    if following == [[], []] and not is_compared and not _follows_draws(pair, unit):
        return None
    if is_compared or following[0] != following[1] or len(following[0]) != 1:
        return Placed(None, None)
    choice = following[0][0]
    first, second = (side[choice] for side in sides)
    return Placed(choice, _cells(first, second) if first and second else None)


def _by_choice(pair: Pair, unit: int, second: bool) -> list[Steps | None]:
    """For each selection of a run, the intervals by its outcomes; None where they are not known."""
    run = pair.again({}, second=second, kept=False)
    numbers = [number for number, call in enumerate(run.calls) if call.family == CATEGORICAL]
    found: list[Steps | None] = []
    for seen, law, drawn in paths.selections(run):
        number = numbers.pop(0) if seen.kind == "categorical" else -1
        force = _forced(run, seen, number, drawn) if law is not None and len(law.weights) <= MOST_CHOICES else None
        steps: Steps | None = None
        if law is not None and force is not None:
            chances = [(at, chance) for at, chance in enumerate(law.weights) if chance > 0]
            ends = [(chance, _law(pair.again(force(at), second=second, kept=False), unit)) for at, chance in chances]
            steps = [(chance, one.centre, one.centre + one.scale) for chance, one in ends if one is not None]
            steps = steps if len(steps) == len(chances) else None
        found.append(steps)
    return found


def _forced(run: Session, seen: Seen, number: int, drawn: list[int]) -> Callable[[int], dict[int, Any]] | None:
    """For an outcome of a selection, the changes of draws with which it comes; None where they are not known."""
    if seen.kind == "categorical":
        return (lambda at: {number: functools.partial(filled, at)}) if run.calls[number].size == 1 else None
    calls = [run.owner(unit) for unit in drawn]
    numbers: list[Any] = [run.number_of(call) for call, _ in calls]
    factors = [near(seen.operands[0].exact(place)[1]) for place in range(len(drawn))]
    if seen.kind == "search":
        call, at = calls[0]
        value, ends = near(seen.operands[0].exact(0)[0]), np.asarray(seen.operands[1], dtype=float)
        edges = np.clip(
            np.concatenate([[-np.inf], ends, [np.inf]]), value, value + factors[0] * near(call.scale_at(at))
        )
        middles = (edges[:-1] + edges[1:]) / 2
        is_alone = len(drawn) == 1 and call.family == UNIFORM and factors[0] > 0
        return (lambda one: {numbers[0]: {at: (middles[one] - value) / factors[0]}}) if is_alone else None
    values = [one for one in (seen.operands[0].exact(place)[0] for place in range(len(drawn))) if abs(one) < BEYOND]
    far = near(max(values) - min(values)) + 120 * max(
        abs(by) * near(call.scale_at(at)) for (call, at), by in zip(calls, factors, strict=True)
    )
    sign = 1 if seen.operation == "argmax" else -1
    return lambda one: {numbers[one]: {calls[one][1]: sign * far / factors[one]}}


def _law(run: Session, unit: int) -> Law | None:
    """The law of a uniform draw where it is used last; None where it has none."""
    found = [run.law(node, place) for one, node, place in run.elements() if one == unit]
    return found[-1] if found and found[-1].family == UNIFORM else None


def _ends(steps: Steps) -> set[tuple[Fraction, Fraction]]:
    return {(low, high) for _, low, high in steps}


def _follows_comparisons(pair: Pair, unit: int) -> bool:
    """Whether a comparison by noise, had it come out otherwise, would give another interval."""
    from attacklab.replay.choices import steered  # which imports this

    bounds = paths.bounds_of(pair.first, {})
    if bounds is None or len(bounds) > paths.MOST:
        return True
    flips = (steered(pair.first, [bound], [not bound.above]) for bound in bounds)
    return any(_law(pair.again(flip), unit) != _law(pair.first, unit) for flip in flips)


def _follows_draws(pair: Pair, unit: int) -> bool:
    """Whether the interval is another one with other draws."""
    seeds = range(pair.seed + 300, pair.seed + 300 + OTHER_SEEDS)
    runs = (pair.runs.run(pair.pair.first, Session(seed)) for seed in seeds)
    return any(_law(run, unit) != _law(pair.first, unit) for run in runs)


def _cells(first: Steps, second: Steps) -> tuple[Law, Law] | None:
    """The laws of the cell that a number lies in; None where an interval is a point."""
    if any(low >= high for _, low, high in (*first, *second)):
        return None
    edges = sorted({end for _, *ends in (*first, *second) for end in ends})
    least = (edges[-1] - edges[0]) * NARROWEST
    cells = [(low, high) for low, high in itertools.pairwise(edges) if high - low > least]
    weights = [
        tuple(
            sum(
                chance * near((high - low) / (end - start))
                for chance, start, end in side
                if start <= low and high <= end
            )
            for low, high in cells
        )
        for side in (first, second)
    ]
    return Law(CATEGORICAL, weights=weights[0]), Law(CATEGORICAL, weights=weights[1])

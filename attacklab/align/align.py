"""Aligns one pair: finds shifts that restore every form of the output on the other input, and their cost."""

from __future__ import annotations

import functools
import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attacklab.align.costs import Cost
from attacklab.align.edges import edge, follows, stays
from attacklab.align.outcomes import MOST_ALONE, Question, Shift, Trial, Unit, units_of
from attacklab.align.parts import close, same
from attacklab.align.solve import candidates, common, loss_of_choices
from attacklab.draws import Law, Run

MOST_SHIFTS = 32
"""The most shifts that are tried for one form of the output."""

EDGES = 3
"""The number of outcomes of one form for which more outcomes, at the edges of a decision, are tried."""


@dataclass(frozen=True)
class Aligned:
    """The shifts that restore every outcome of one group, and their cost.

    Attributes:
        shift: the shifts.
        cost: the cost of all shifts together.
        by_unit: the cost of each shift, to find the line that spends most.
    """

    shift: Shift
    cost: Cost
    by_unit: dict[Unit, float]


@dataclass(frozen=True)
class Shifts:
    """The shifts that align one pair.

    Attributes:
        aligned: the shifts for each group of outcomes.
        open: why some outcome has no shifts, in words; empty if all have shifts.
        failed: the outcome without shifts; None if all have shifts.
        trials: how many outcomes were tried.
    """

    aligned: tuple[Aligned, ...]
    open: str
    failed: Trial | None
    trials: int

    def cost(self) -> Cost | None:
        """Return the cost of the whole mechanism; None if two groups of outcomes need different Gaussian shifts.

        All outputs share one δ, so all groups must shift Gaussian draws by the same amounts, or not at all.
        """
        epsilon = max((one.cost.epsilon for one in self.aligned), default=0.0)
        moved = [one for one in self.aligned if one.cost.mu]
        if not moved:
            return Cost(epsilon)
        first = moved[0]
        is_common = all(_equal(first.shift, one.shift) for one in moved)
        return Cost(epsilon, max(one.cost.mu for one in moved)) if is_common else None


def align(question: Question, trials: Sequence[Trial]) -> Shifts:
    """Find shifts for each group of outcomes. Stop at the first group without shifts, and say why it has none."""
    groups: dict[Any, list[Trial]] = defaultdict(list)
    for trial in trials:
        groups[trial.parts.form].append(trial)
    found: list[Aligned] = []
    for group in groups.values():
        whole, why, failed = _served(question, group)
        if whole is not None:
            found.append(whole)
            continue
        for part in _by_integers(group):
            one, why, failed = _served(question, part)
            if one is None:
                return Shifts(tuple(found), why, failed, len(trials))
            found.append(one)
    return Shifts(tuple(found), "", None, len(trials))


def _by_integers(group: Sequence[Trial]) -> Iterator[list[Trial]]:
    """Group outcomes of one form by the integers in them; one group if they hold no integer."""
    apart: dict[Any, list[Trial]] = defaultdict(list)
    for trial in group:
        apart[tuple(value for value in trial.parts.numbers.values() if value == math.floor(value))].append(trial)
    yield from apart.values()


def _served(question: Question, group: Sequence[Trial]) -> tuple[Aligned | None, str, Trial | None]:
    """Find shifts that restore all outcomes of a group; else return why there are none, and an outcome without shifts.

    If a shift fails on an outcome, other shifts, and additions to this one, are derived from that outcome.
    """
    waiting: list[tuple[Trial, Shift]] = [(group[0], {})]
    tried = set[Any]()
    why, failed = "no shift of the draws gives the same output on both inputs", group[0]
    while waiting and len(tried) < MOST_SHIFTS:
        asked, base = waiting.pop()
        more: list[tuple[Trial, Shift]] = []
        more_common = () if tried else common(question, group)
        for shift in itertools.chain(({},), more_common, candidates(question, asked, base)):
            told = tuple(sorted((str(key), round(by, 9)) for key, by in shift.items()))
            if told in tried:
                continue
            tried.add(told)
            made, why, unserved = _serves_all(question, group, shift)
            if made is not None:
                return made, "", None
            failed = unserved or asked
            if unserved is not None:
                more.append((unserved, shift))
            if len(tried) >= MOST_SHIFTS:
                break
        waiting += reversed(more)
    return None, why, failed


def _serves_all(question: Question, group: Sequence[Trial], shift: Shift) -> tuple[Aligned | None, str, Trial | None]:
    epsilon = mu = 0.0
    by_unit: dict[Unit, float] = {}
    for trial in _with_edges(question, group):
        after = question.answer(trial, shift)
        if not same(after.parts, trial.parts):
            return None, "no shift of the draws gives the same output on both inputs for all noise tried", trial
        why, chosen = _laws_differ(question, trial.run, after.run)
        if why:
            return None, why, trial
        costs = _costs(trial.run, after.run, shift)
        if costs is None:
            return None, "a shifted draw is impossible under its noise, or its noise has scale 0", trial
        by_unit = by_unit if sum(by_unit.values()) > sum(costs.values()) else costs
        pure = sum(cost for unit, cost in costs.items() if unit.law is not Law.GAUSSIAN)
        epsilon = max(epsilon, pure + chosen)
        mu = max(mu, math.hypot(*(cost for unit, cost in costs.items() if unit.law is Law.GAUSSIAN)))
    return Aligned(shift, Cost(epsilon, mu), by_unit), "", None


def _with_edges(question: Question, group: Sequence[Trial]) -> Iterator[Trial]:
    """Yield the outcomes of a group, and more outcomes just inside the edges of a region with the same output."""
    yield from group
    for trial in group[:EDGES]:
        for unit in question.units(trial.run)[:MOST_ALONE]:
            if not follows(question, trial, unit):
                for sign in (1, -1):
                    by = edge(functools.partial(stays, question, trial, unit), unit, 0.0, sign)
                    if by is not None:
                        yield question.moved(trial, {unit.key: by - sign * _inside(unit)})


def _inside(unit: Unit) -> float:
    """Return how far inside an edge an outcome is tried."""
    return 0.0 if unit.is_integer else 2.0**-20 * unit.scale


def _laws_differ(question: Question, first: Run, second: Run) -> tuple[str, float]:
    """Return why two runs draw from different laws (empty if they do not), and the privacy loss of their choices."""
    if first.unmatched or second.unmatched:
        return "the two inputs lead to different random calls", 0.0
    places, lost = second.by_key(), 0.0
    for draw in first.draws:
        place = places.get(draw.key)
        if draw.key in question.known or place is None:
            continue
        other = second.draws[place]
        if np.shape(draw.value) != np.shape(other.value):
            return f"the count of numbers that {draw.source} draws depends on the data", 0.0
        if not np.all(close_scales(draw.scale, other.scale)):
            return f"the scale of {draw.source} depends on the data", 0.0
        if repr(draw.parameters) != repr(other.parameters):
            lost += loss_of_choices(draw.parameters, other.parameters, draw.value)
        if math.isinf(lost):
            return f"the distribution of {draw.source} depends on the data", 0.0
    return "", lost


def close_scales(first: Any, second: Any) -> Any:
    """Whether two scales (or arrays of scales, element by element) are equal up to rounding."""
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    return np.abs(first - second) <= 2.0**-40 * np.abs(first) if first.shape == second.shape else np.False_


def _costs(first: Run, second: Run, shift: Shift) -> dict[Unit, float] | None:
    """Return each shift's cost at an outcome; None if a cost has no bound, or a shift leaves the noise's support."""
    places, costs = second.by_key(), dict[Unit, float]()
    for draw in first.draws:
        for unit in units_of(draw) if draw.law.has_shifts else ():
            by = shift.get(unit.key, 0.0)
            if not by:
                continue
            if unit.scale <= 0 or (unit.law.goes_up and by < 0):
                return None
            value = float(np.ravel(second.draws[places[draw.key]].value)[unit.key[1]])
            if unit.law.is_positive and value < 0:
                return None
            costs[unit] = abs(by) / unit.scale
    return costs


def _equal(first: Shift, second: Shift) -> bool:
    keys = {*first, *second}
    return all(bool(close(first.get(key, 0.0), second.get(key, 0.0))) for key in keys)

"""The outcomes of the noise that are tried: fresh ones, and others near to or far from these.

A question is a release and two inputs. A trial is one outcome of the draws, and its output on the first input.
"""

from __future__ import annotations

import dataclasses
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from attacklab.align.parts import Parts, parts_of, same
from attacklab.draws import Draw, Draws, Law, Run
from attacklab.draws.record import Key

FRESH = 8
"""Number of fresh outcomes tried on each input."""

MOVES = (-0.7, 0.4, 5.0, -5.0, 40.0, -40.0, 1000.0, -1000.0)
"""How far all draws of an outcome are moved, in scales: little, far, and beyond where any bound clips."""

SHARES = (1e-9, 0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95, 1 - 1e-9)
"""The values that a uniform draw is set to."""

MOST_COINS = 8
"""Most uniform or chosen numbers whose values are all tried; with more of them, no pair passes."""

MOST_ALONE = 12
"""Number of draws that are each moved alone."""

Give = Callable[[Any, Draws], Run]
UnitKey = tuple[Key, int]
Shift = Mapping[UnitKey, float]


class Unit(NamedTuple):
    """One number of a draw, which can be shifted at a cost."""

    key: UnitKey  # the draw's key, and the index of the number in it
    law: Law
    scale: float
    is_integer: bool


@dataclass(frozen=True, eq=False)
class Trial:
    """One outcome of the draws, and the output that it gives on the first input."""

    run: Run
    parts: Parts


class Exhausted(Exception):
    """Raised when a pair has used up its runs."""


@dataclass
class Counted:
    """A release with a limit on the number of its runs."""

    give: Give
    left: int

    def __call__(self, input_: Any, draws: Draws) -> Run:
        """Run the release once.

        Raises:
            Exhausted: the limit on runs is reached.
        """
        if not self.left:
            raise Exhausted
        self.left -= 1
        if draws.repeated is not None:  # what the repeated run did not draw is fresh each time
            draws = dataclasses.replace(draws, seed=self.left)
        return self.give(input_, draws)


@dataclass(frozen=True, eq=False)
class Question:
    """The question whether a release tells two inputs apart.

    Attributes:
        give: runs the release on an input.
        first: an input.
        second: its neighbour.
        known: draws whose seed is in the code, which count as code and not as noise.
        twins: draws that repeat an earlier one, because a generator was in the same state.
    """

    give: Give
    first: Any
    second: Any
    known: frozenset[Key] = frozenset()
    twins: Mapping[Key, Key] = field(default_factory=dict)

    def reversed(self) -> Question:
        """Return the same question with the inputs exchanged."""
        return dataclasses.replace(self, first=self.second, second=self.first)

    def trial(self, run: Run, changes: Mapping[int, Any] | None = None) -> Trial:
        """Run the first input on the draws of a run, some of them replaced by `changes`."""
        made = self.give(self.first, Draws.repeat(run, changes, known=self.known))
        return Trial(made, parts_of(made.output))

    def moved(self, trial: Trial, shift: Shift) -> Trial:
        """Run the first input on the draws of a trial, shifted by `shift`."""
        return self.trial(trial.run, shifted(trial.run, self._with_twins(shift)))

    def answer(self, trial: Trial, shift: Shift) -> Trial:
        """Run the second input on the draws of a trial, shifted by `shift`."""
        return self.reversed().moved(trial, shift)

    def units(self, run: Run) -> list[Unit]:
        """Return the numbers drawn in a run that can be shifted."""
        return [unit for draw in run.draws if self._is_own(draw) and draw.law.has_shifts for unit in units_of(draw)]

    def others(self, run: Run) -> list[tuple[int, Draw]]:
        """Return the draws of a run that can't be shifted, each with its index."""
        return [(at, draw) for at, draw in enumerate(run.draws) if self._is_own(draw) and not draw.law.has_shifts]

    def _is_own(self, draw: Draw) -> bool:
        return draw.key not in self.known and draw.key not in self.twins

    def _with_twins(self, shift: Shift) -> Shift:
        if not self.twins:
            return shift
        more = {(twin, at): by for twin, key in self.twins.items() for (of, at), by in shift.items() if of == key}
        return {**shift, **more}


def units_of(draw: Draw) -> list[Unit]:
    """Return a `Unit` for each number of a draw."""
    values = np.asarray(draw.value)
    scales = np.broadcast_to(np.asarray(draw.scale, dtype=float), values.shape).reshape(-1)
    is_integer = values.dtype.kind in "iu"
    return [Unit((draw.key, at), draw.law, float(scale), is_integer) for at, scale in enumerate(scales)]


def shifted(run: Run, shift: Shift) -> dict[int, Any]:
    """Return the changes that shift the draws of a run: the index of each changed draw, and its new value."""
    places, changes = run.by_key(), dict[int, Any]()
    for (key, at), by in shift.items():
        place = places.get(key)
        if place is None or not by:
            continue
        draw = run.draws[place]
        values = changes.setdefault(place, np.array(draw.value, copy=True))
        if at < values.size:
            values.reshape(-1)[at] += round(by) if values.dtype.kind in "iu" else by
    return changes


def question_of(give: Give, first: Any, second: Any, seeds: Sequence[int]) -> tuple[Question, list[Run]]:
    """Run the first input on fresh draws. Return the question, with its seeded and repeated draws, and these runs."""
    runs = [give(first, Draws.fresh(seed)) for seed in seeds]
    others = [give(second, Draws.fresh(seed)) for seed in seeds[:2]]
    known = fixed_among(runs[:2]) | fixed_among(others)
    return Question(give, first, second, known, twins_among(runs[0])), runs


def unseen_draws(runs: Sequence[Run], trials: Sequence[Trial]) -> str:
    """Say that draws were missed, if a run with the same draws gives another output; otherwise return an empty text."""
    repeats = [
        same(trial.parts, parts_of(run.output)) and not trial.run.unmatched
        for run, trial in zip(runs, trials, strict=False)
    ]
    return "" if all(repeats) else "its output changes when its draws are repeated: some draws are not recorded"


def fixed_among(runs: Sequence[Run]) -> frozenset[Key]:
    """Return the keys of draws that are the same in two runs with fresh draws, because the code seeds them."""
    first, second = runs
    states = {draw.key: draw.state for draw in second.draws if draw.may_be_fixed}
    return frozenset(draw.key for draw in first.draws if draw.may_be_fixed and states.get(draw.key) == draw.state)


def twins_among(run: Run) -> dict[Key, Key]:
    """Map each draw from a generator state that was used before to the first draw from that state."""
    firsts: dict[tuple[Any, ...], Key] = {}
    twins = {}
    for draw in run.draws:
        if draw.state is not None:
            key = firsts.setdefault((draw.state, draw.law, np.shape(draw.value)), draw.key)
            if key != draw.key:
                twins[draw.key] = key
    return twins


def outcomes(question: Question, runs: Sequence[Run], seed: int) -> Iterator[Trial]:
    """Yield the outcomes to try: the runs as they are, and the first run with its draws moved."""
    for run in runs:
        yield question.trial(run)
    base = Trial(runs[0], parts_of(runs[0].output))
    units = question.units(base.run)
    for by in MOVES:
        yield question.moved(base, {unit.key: _move(unit, by * (1 + 0.1 * (at % 5))) for at, unit in enumerate(units)})
    signs = np.random.default_rng(seed)
    for by in (1.5, 5.0, 40.0) if len(units) > 1 else ():
        for _ in range(4):
            yield question.moved(base, {unit.key: _move(unit, by * signs.choice((-1, 1))) for unit in units})
    for unit, by in itertools.product(units[:MOST_ALONE], (5.0, -5.0, 40.0, -40.0)):
        yield question.moved(base, {unit.key: _move(unit, by)})
    for place, draw in question.others(base.run):
        put = [question.trial(base.run, {place: value}) for value in _elsewhere(draw)]
        yield from put
        if draw.law is Law.UNIFORM:
            yield from _thresholds(question, base.run, place, put)


def _thresholds(question: Question, run: Run, place: int, put: Sequence[Trial]) -> Iterator[Trial]:
    """Yield the outcomes on both sides of each threshold that a uniform draw is compared to."""
    for low, high in itertools.pairwise(put):
        sides = [low, high]
        if any(one.run.by_key().get(run.draws[place].key) != place for one in sides):
            continue
        ends = [np.asarray(one.run.draws[place].value, dtype=float) for one in sides]
        if (ends[0] != ends[1]).sum() != 1 or (ends[0] > ends[1]).any() or same(low.parts, high.parts):
            continue
        while np.abs(ends[1] - ends[0]).max() > 2.0**-30:
            middle = (ends[0] + ends[1]) / 2
            trial = question.trial(run, {place: middle})
            side = next((at for at, one in enumerate((low, high)) if same(trial.parts, one.parts)), None)
            if side is None:  # it goes on into a number
                break
            ends[side], sides[side] = middle, trial
        else:
            yield from sides


def untried(question: Question, run: Run) -> str:
    """Say why the outcomes that were tried are too few for a pass; return an empty text if they are enough."""
    if not run.draws:
        return "no draws were recorded"
    others = [draw for _, draw in question.others(run)]
    coins = sum(np.size(draw.value) for draw in others if draw.law in (Law.UNIFORM, Law.CHOICE))
    if coins > MOST_COINS:
        return f"{coins} uniform draws are too many to try"
    odd = next((draw for draw in others if draw.law is Law.OTHER), None)
    if odd is not None:
        return f"the cost of shifting {odd.source} is not known"
    known = next((draw for draw in run.draws if draw.is_known), None)
    return "" if known is None else f"the generator of {known.source} may have been seeded with a number"


def _move(unit: Unit, by: float) -> float:
    by *= unit.scale
    by = abs(by) if unit.law.is_positive else by
    return float(round(by)) if unit.is_integer else by


def _elsewhere(draw: Draw) -> Iterator[Any]:
    """Yield other values of a draw, if it is uniform or a choice, each with one number changed."""
    values = np.asarray(draw.value)
    if draw.among and draw.among[-1] - draw.among[0] >= sys.maxsize:
        return  # as the bits of a seed have: more than a length can hold
    if draw.law is Law.UNIFORM:
        others: Sequence[float] = SHARES
    elif draw.law is Law.CHOICE and len(draw.among) <= 2 * MOST_COINS:
        others = draw.among
    elif draw.law is Law.CHOICE:
        others = (draw.among[0], draw.among[-1], draw.among[len(draw.among) // 2])
    else:
        return
    for at in range(values.size if values.size <= MOST_COINS else 0):
        for other in others:
            changed = np.array(values, copy=True)
            changed.reshape(-1)[at] = other
            yield changed

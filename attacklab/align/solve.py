"""Solves for shifts s with f(D′, z + s) = f(D, z): for numbers that follow the noise, and for what noise decides.

Numbers: the change of the output with each draw, and the cheapest shifts that make up for the difference. Decisions:
the edges of where a draw gives the same output on either input; their distance is the shift.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from attacklab.align.outcomes import MOST_ALONE, Question, Shift, Trial, Unit
from attacklab.align.parts import same
from attacklab.draws import Law

STEPS, FAR_STEP = (1e-3, 1.0), 64.0
"""By how many scales a draw is moved to see what follows it; rounding hides small steps, and bends are not far."""

LADDER = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 40.0)
"""How far a draw is moved to restore a decision, in scales, before the edges tell it exactly."""

FARTHEST = 4096.0
"""Beyond so many scales there is no edge."""

Doubles = NDArray[np.float64]


def candidates(question: Question, trial: Trial, base: Shift) -> Iterator[Shift]:
    """Shifts that may serve an outcome, besides those that serve others."""
    if not base:
        yield {}
    units = question.units(trial.run)[:MOST_ALONE]
    unmoved = question.answer(trial, base)
    has_same_numbers = unmoved.parts.numbers.keys() == trial.parts.numbers.keys()
    for step in STEPS if has_same_numbers else ():
        yield from _followed(question, trial, unmoved, units, step, base)
    for unit in units:
        yield from _by_decision(question, trial, unit, base)
    if has_same_numbers:
        yield from _followed(question, trial, unmoved, units, FAR_STEP, base)


def _followed(
    question: Question, trial: Trial, unmoved: Trial, units: Sequence[Unit], step: float, base: Shift
) -> Iterator[Shift]:
    """Shifts that make up for the difference of numbers, and the same made exact by edges."""
    made = _by_numbers(question, trial, unmoved, units, step)
    if made:
        yield _sum(base, made)
        yield from _sharpened(question, trial, _sum(base, made), units)


def _sum(base: Shift, more: Shift) -> Shift:
    return {key: base.get(key, 0.0) + more.get(key, 0.0) for key in {**base, **more}}


def slopes(question: Question, trial: Trial, units: Sequence[Unit], step: float) -> Doubles | None:
    """How fast each number of the output follows each draw, in scales; None if a step changes more than numbers."""
    made = np.zeros((len(trial.parts.numbers), len(units)))
    before = trial.parts.vector()
    for at, unit in enumerate(units):
        by = max(1.0, float(round(step * unit.scale))) if unit.is_integer else step * unit.scale
        after = question.moved(trial, {unit.key: by})
        if after.parts.numbers.keys() != trial.parts.numbers.keys():
            return None
        made[:, at] = (after.parts.vector() - before) * (unit.scale / by if by else 0.0)
    return made


def _by_numbers(question: Question, trial: Trial, unmoved: Trial, units: Sequence[Unit], step: float) -> Shift | None:
    """The cheapest shifts that make up for the difference of numbers, if they follow the draws evenly."""
    rates = slopes(question.reversed(), unmoved, units, step)
    wanted = trial.parts.vector() - unmoved.parts.vector()
    if rates is None or not wanted.any() or not rates.any():
        return None
    by = cheapest(rates, wanted, units)
    if by is None:
        return None
    sizes = np.array([unit.scale for unit in units])
    made = {unit.key: value for unit, value in zip(units, by * sizes, strict=True) if abs(value) > 1e-12 * unit.scale}
    integers = {unit.key for unit in units if unit.is_integer}
    return {key: float(round(value)) if key in integers else value for key, value in made.items()}


def cheapest(rates: Doubles, wanted: Doubles, units: Sequence[Unit]) -> Doubles | None:
    """The shifts in scales, with the least sum, or the least length if all are Gaussian; None if there are none."""
    if all(unit.law is Law.GAUSSIAN for unit in units):
        made = np.linalg.lstsq(rates, wanted, rcond=1e-9)[0]
        return np.asarray(made) if np.allclose(rates @ made, wanted, rtol=1e-6, atol=1e-9) else None
    up = [unit.law.goes_up for unit in units]
    bounds = [(0, None)] * len(units) + [(0, 0 if is_up else None) for is_up in up]
    size = max(1e-300, float(np.abs(wanted).max()))
    found = optimize.linprog(
        np.ones(2 * len(units)), A_eq=np.hstack([rates, -rates]), b_eq=wanted / size, bounds=bounds, method="highs"
    )
    return (found.x[: len(units)] - found.x[len(units) :]) * size if found.success else None


def _sharpened(question: Question, trial: Trial, made: Shift, units: Sequence[Unit]) -> Iterator[Shift]:
    """A shift of one draw that restores a rounded output, made exact by the edges."""
    if len(made) == 1:
        ((key, by),) = made.items()
        unit = next(unit for unit in units if unit.key == key)
        if same(question.answer(trial, made).parts, trial.parts):
            yield from _between_edges(question, trial, unit, by, {})


def _by_decision(question: Question, trial: Trial, unit: Unit, base: Shift) -> Iterator[Shift]:
    """Shifts that restore the output by one more draw."""
    for by in LADDER:
        for sign in (1, -1):
            step = sign * by * unit.scale
            step = float(math.copysign(max(1.0, abs(round(step))), step)) if unit.is_integer else step
            if same(question.answer(trial, _sum(base, {unit.key: step})).parts, trial.parts):
                yield from _between_edges(question, trial, unit, step, base)
                yield _sum(base, {unit.key: step})
                return


def _between_edges(question: Question, trial: Trial, unit: Unit, by: float, base: Shift) -> Iterator[Shift]:
    """The distances between the edges of where a draw gives the same output on both inputs."""
    for sign in (1, -1):
        first = edge(functools.partial(stays, question, trial, unit), unit, 0.0, sign)
        second = edge(functools.partial(_stays_on_second, question, trial, unit, base), unit, by, sign)
        if first is not None and second is not None:
            distance = second - first
            yield _sum(base, {unit.key: float(round(distance)) if unit.is_integer else distance})


def stays(question: Question, trial: Trial, unit: Unit, by: float) -> bool:
    """Whether the first input gives the same output with one draw moved."""
    return same(question.moved(trial, {unit.key: by}).parts, trial.parts)


def _stays_on_second(question: Question, trial: Trial, unit: Unit, base: Shift, by: float) -> bool:
    """Whether the second input gives the output of the first with one draw moved besides."""
    return same(question.answer(trial, _sum(base, {unit.key: by})).parts, trial.parts)


def edge(holds: Callable[[float], bool], unit: Unit, start: float, sign: int) -> float | None:
    """How far a draw can be moved from a start while something holds; None where there is no edge."""
    least = 1.0 if unit.is_integer else 2.0**-30 * unit.scale
    inside, width = start, least
    while holds(start + sign * width):
        inside, width = start + sign * width, width * 4
        if width > FARTHEST * unit.scale:
            return None
    outside = start + sign * width
    while abs(outside - inside) > least:
        middle = (inside + outside) / 2
        middle = float(math.floor(middle)) if unit.is_integer else middle
        if middle in (inside, outside):
            break
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return inside


def follows(question: Question, trial: Trial, unit: Unit) -> bool:
    """Whether the output changes with the least step of a draw."""
    least = 1.0 if unit.is_integer else 2.0**-20 * unit.scale
    return not stays(question, trial, unit, least) or not stays(question, trial, unit, -least)


def loss_of_choices(first: Sequence[Any], second: Sequence[Any], chosen: Any) -> float:
    """The log of how much more probable choices are with one vector of weights than with another."""
    if not are_weights(first) or not are_weights(second) or len(first) != len(second):
        return math.inf
    total = 0.0
    for place in np.ravel(chosen).astype(int).tolist():
        p, q = float(first[place]), float(second[place])
        total += math.inf if q <= 0 else math.log(p / q) if p > 0 else 0.0
    return total


def are_weights(parameters: Sequence[Any]) -> bool:
    """Whether the parameters of a choice are the probabilities of its places."""
    return len(parameters) > 1 and all(isinstance(one, float) for one in parameters)

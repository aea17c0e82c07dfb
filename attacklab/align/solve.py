"""Finds shifts s of the noise z with f(D′, z + s) = f(D, z).

Where a number of the output moves with the noise: measure how far each draw moves it, and find the cheapest shifts that
make up for the difference, in one outcome or in several at once. Where noise decides a branch: see `edges`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.align.edges import added, between_edges, by_decision
from attacklab.align.outcomes import MOST_ALONE, Question, Shift, Trial, Unit
from attacklab.align.parts import Parts, same
from attacklab.draws import Law

STEPS, FAR_STEP = (1e-3, 1.0), 64.0
"""Steps, in scales, by which a draw is moved to measure slopes: rounding hides small ones, bends spoil large ones."""

TOGETHER, ROUNDS, DIGITS = 8, 10, 6
"""The most outcomes solved together, the most steps of the solver, and the digits (in scales) of its first answer."""

Doubles = NDArray[np.float64]


def candidates(question: Question, trial: Trial, base: Shift) -> Iterator[Shift]:
    """Yield shifts that may restore the output at an outcome. Each is the sum of `base` and another shift."""
    units = question.units(trial.run)[:MOST_ALONE]
    unmoved = question.answer(trial, base)
    has_same_numbers = unmoved.parts.numbers.keys() == trial.parts.numbers.keys()
    for step in STEPS if has_same_numbers else ():
        yield from _followed(question, trial, unmoved, units, step, base)
    for unit in units:
        yield from by_decision(question, trial, unit, base)
    if has_same_numbers:
        yield from _followed(question, trial, unmoved, units, FAR_STEP, base)


def _followed(
    question: Question, trial: Trial, unmoved: Trial, units: Sequence[Unit], step: float, base: Shift
) -> Iterator[Shift]:
    """Yield the shift that cancels the difference in numbers and, if it moves one draw, the exact ones from edges."""
    made = _by_numbers(question, trial, unmoved, units, step)
    if made:
        yield added(base, made)
        yield from _sharpened(question, trial, added(base, made), units)


def common(question: Question, group: Sequence[Trial]) -> Iterator[Shift]:
    """Yield the shift that restores several outcomes at once, found by Newton's method: rounded, then as it is."""
    asked, units = group[:TOGETHER], question.units(group[0].run)[:MOST_ALONE]
    shift: Shift = {}
    for _ in range(ROUNDS if units else 0):
        pairs = [(trial.parts, question.answer(trial, shift)) for trial in asked]
        if any(parts.numbers.keys() != answer.parts.numbers.keys() for parts, answer in pairs):
            return
        if all(same(answer.parts, parts) for parts, answer in pairs):
            sizes = {unit.key: unit.scale for unit in units}
            yield {key: round(by / sizes[key], DIGITS) * sizes[key] for key, by in shift.items()}
            yield shift
            return
        step = _newton_step(question, pairs, units)
        if step is None:
            return
        shift = added(shift, step)


def _newton_step(question: Question, pairs: Sequence[tuple[Parts, Trial]], units: Sequence[Unit]) -> Shift | None:
    """Return one Newton step: the shift that reduces the differences of outcomes; None if an outcome has no slope."""
    rates = list[Doubles]()
    for _, answer in pairs:
        rate = slopes(question.reversed(), answer, units, STEPS[0])
        if rate is None:
            return None
        rates.append(rate)
    wanted = np.concatenate([parts.vector() - answer.parts.vector() for parts, answer in pairs])
    by, *_ = np.linalg.lstsq(np.vstack(rates), wanted, rcond=1e-9)
    return {unit.key: float(step) * unit.scale for unit, step in zip(units, by, strict=True)}


def slopes(question: Question, trial: Trial, units: Sequence[Unit], step: float) -> Doubles | None:
    """Return the change of each output number per scale of each draw; None if a step changes more than numbers."""
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
    """Return the cheapest shift that cancels the difference in numbers, if these are linear in the draws; else None."""
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
    """Return x (in scales) with rates·x = wanted and least Σ|xᵢ| (Σxᵢ² if all are Gaussian); None if there is none."""
    if all(unit.law is Law.GAUSSIAN for unit in units):
        made = np.linalg.lstsq(rates, wanted, rcond=1e-9)[0]
        return np.asarray(made) if np.allclose(rates @ made, wanted, rtol=1e-6, atol=1e-9) else None
    up = [unit.law.goes_up for unit in units]
    bounds = [(0, None)] * len(units) + [(0, 0 if is_up else None) for is_up in up]
    size = max(1e-300, float(np.abs(wanted).max()))
    from scipy import optimize

    found = optimize.linprog(
        np.ones(2 * len(units)), A_eq=np.hstack([rates, -rates]), b_eq=wanted / size, bounds=bounds, method="highs"
    )
    return (found.x[: len(units)] - found.x[len(units) :]) * size if found.success else None


def _sharpened(question: Question, trial: Trial, made: Shift, units: Sequence[Unit]) -> Iterator[Shift]:
    """If `made` shifts one draw and restores the output up to rounding, yield the exact shifts that the edges give."""
    if len(made) == 1:
        ((key, by),) = made.items()
        unit = next(unit for unit in units if unit.key == key)
        if same(question.answer(trial, made).parts, trial.parts):
            yield from between_edges(question, trial, unit, by, {})


def loss_of_choices(first: Sequence[Any], second: Sequence[Any], chosen: Any) -> float:
    """Return log(P/Q), where P and Q are the probabilities of the choices under the first and the second weights."""
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

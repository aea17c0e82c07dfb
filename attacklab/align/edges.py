"""Finds shifts where noise decides a branch, from the edges of the interval of a draw that gives the same output."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator

from attacklab.align.outcomes import Question, Shift, Trial, Unit
from attacklab.align.parts import same

LADDER = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 40.0)
"""Distances, in noise scales, by which a draw is moved until a decision is restored. Edges give the exact shift."""

FARTHEST = 4096.0
"""How far an edge is looked for, in noise scales."""


def by_decision(question: Question, trial: Trial, unit: Unit, base: Shift) -> Iterator[Shift]:
    """Yield shifts that restore the output on the second input, by shifting one draw besides `base`."""
    for by in LADDER:
        for sign in (1, -1):
            step = sign * by * unit.scale
            step = float(math.copysign(max(1.0, abs(round(step))), step)) if unit.is_integer else step
            if same(question.answer(trial, added(base, {unit.key: step})).parts, trial.parts):
                yield from between_edges(question, trial, unit, step, base)
                yield added(base, {unit.key: step})
                return


def between_edges(question: Question, trial: Trial, unit: Unit, by: float, base: Shift) -> Iterator[Shift]:
    """Yield `base` plus a shift of one draw: the distance between its edges on the first and on the second input."""
    for sign in (1, -1):
        first = edge(functools.partial(stays, question, trial, unit), unit, 0.0, sign)
        second = edge(functools.partial(_stays_on_second, question, trial, unit, base), unit, by, sign)
        if first is not None and second is not None:
            distance = second - first
            yield added(base, {unit.key: float(round(distance)) if unit.is_integer else distance})


def stays(question: Question, trial: Trial, unit: Unit, by: float) -> bool:
    """Whether the first input gives the same output with one draw moved."""
    return same(question.moved(trial, {unit.key: by}).parts, trial.parts)


def _stays_on_second(question: Question, trial: Trial, unit: Unit, base: Shift, by: float) -> bool:
    """Whether the second input still gives the first one's output if one more draw is moved."""
    return same(question.answer(trial, added(base, {unit.key: by})).parts, trial.parts)


def edge(holds: Callable[[float], bool], unit: Unit, start: float, sign: int) -> float | None:
    """Return the last shift from `start`, towards `sign`, where `holds` is true; None if beyond `FARTHEST` scales."""
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
    """Whether the output changes if a draw moves by the least step."""
    least = 1.0 if unit.is_integer else 2.0**-20 * unit.scale
    return not stays(question, trial, unit, least) or not stays(question, trial, unit, -least)


def added(base: Shift, more: Shift) -> Shift:
    """Return the sum of two shifts."""
    return {key: base.get(key, 0.0) + more.get(key, 0.0) for key in {**base, **more}}

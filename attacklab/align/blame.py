"""Finds the line to look at: the draw whose shift costs most, the line where two runs part, or the last line."""

from __future__ import annotations

import dataclasses
import itertools
import sys
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

from attacklab.align.examine import Examined
from attacklab.align.outcomes import Give, Unit
from attacklab.draws import Draws, Law, Run
from attacklab.draws.places import NOWHERE, Site, is_users_code


def blamed(give: Give, examined: Examined) -> Site:
    """Return the line that a finding names. `give` runs the release without a limit on the number of runs."""
    examined = dataclasses.replace(examined, question=dataclasses.replace(examined.question, give=give))
    if examined.seeded:
        return examined.seeded[0]
    if examined.by_unit:
        return _dearest(examined.by_unit)
    scaled = _follows_data(examined)
    if scaled != NOWHERE:
        return scaled
    steps = [_steps(examined, is_first=side) for side in (True, False)]
    parting = _parting(*([step.site for step in side] for side in steps))
    if parting != NOWHERE:
        return parting
    return _returning(steps[0], _last_draw(examined.run))


def _dearest(by_unit: dict[Unit, float]) -> Site:
    """Return the line of the draw with the largest cost."""
    return max(by_unit, key=lambda unit: by_unit[unit]).key[0][0]


def _follows_data(examined: Examined) -> Site:
    """Return the line of the first draw whose scale or weights depend on the data; NOWHERE if there is none."""
    question = examined.question
    second = question.give(question.second, Draws.repeat(examined.run, known=question.known))
    places = second.by_key()
    for draw in examined.run.draws:
        place = places.get(draw.key)
        if place is not None and draw.key not in question.known:
            other = second.draws[place]
            if not np.array_equal(draw.scale, other.scale) or repr(draw.parameters) != repr(other.parameters):
                return draw.site
    return NOWHERE


def _last_draw(run: Run) -> Site:
    """Return the line of the last draw other than raw bits; NOWHERE if there is none."""
    sites = [draw.site for draw in run.draws if draw.law is not Law.BITS]
    return sites[-1] if sites else NOWHERE


class _Step(NamedTuple):
    """A line that a run went through, and the code that it belongs to."""

    site: Site
    code: CodeType


def _steps(examined: Examined, *, is_first: bool) -> list[_Step]:
    """Return the lines of the user's code that a run on one of the inputs goes through, in order."""
    steps: list[_Step] = []

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if not is_users_code(frame.f_code):
            return None
        if event == "line":
            steps.append(_Step(Site(frame.f_code.co_filename, frame.f_lineno), frame.f_code))
        return trace

    question, before = examined.question, sys.gettrace()
    input_ = question.first if is_first else question.second
    sys.settrace(trace)
    try:
        question.give(input_, Draws.repeat(examined.run, known=question.known))
    finally:
        sys.settrace(before)
    return steps


def _returning(steps: list[_Step], draw: Site) -> Site:
    """Return the last line that ran of the function that drew last or, if none drew, of the function that ran first."""
    if not steps:
        return draw
    drawing = next((step.code for step in steps if step.site == draw), steps[0].code)
    return next(step.site for step in reversed(steps) if step.code is drawing)


def _parting(first: list[Site], second: list[Site]) -> Site:
    """Return the line after which two runs part; NOWHERE if they don't, or go through the same set of lines."""
    if set(first) == set(second):
        return NOWHERE
    for before, one, other in zip(itertools.chain([NOWHERE], first), first, second, strict=False):
        if one != other:
            return before
    return NOWHERE

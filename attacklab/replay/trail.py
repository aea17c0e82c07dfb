"""The line of a flaw that no draw names: where a value that reaches the output first stood, or where two runs part."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from typing import Any

from attacklab.model.neighbours import NeighbouringPair
from attacklab.replay.outputs import Leaf, Raised, differences, leaves, number_of
from attacklab.replay.session import Script, Session, Site, is_users

MOST_STEPS = 200_000
MOST_LOCALS = 200
MOST_PARTS = 4096
MOST_LOOKED_INTO = 500
"""After so many lines, a variable is looked into only where it is another object."""


class _Trail:
    """The lines of the user's code that a run goes through, and which of some values its variables held after them.

    What a function was called with counts for none of its lines.
    """

    def __init__(self, values: set[Any]) -> None:
        self.lines: list[Site] = []
        self.returned: Site | None = None
        self.held: dict[tuple[Site, str], Counter[Any]] = {}
        self._values = values
        self._known: dict[int, dict[str, tuple[int, bool]]] = {}

    def __call__(self, frame: Any, event: str, argument: Any) -> Any:
        if not is_users(frame.f_code.co_filename):
            return None
        self._known[id(frame)] = {name: (id(value), False) for name, value in frame.f_locals.items()}
        return self._traced(frame, event, argument)

    def _traced(self, frame: Any, event: str, argument: Any) -> Any:
        if len(self.lines) > MOST_STEPS:
            return None
        code = frame.f_code
        last = self.lines[-1] if self.lines else None
        if event in ("line", "return") and last is not None and last.function == code.co_name and self._values:
            known = self._known.setdefault(id(frame), {})
            for name, value in list(frame.f_locals.items())[:MOST_LOCALS]:
                before, is_made = known.get(name, (0, True))
                if before != id(value) or (is_made and len(self.lines) < MOST_LOOKED_INTO):  # it may be written to
                    known[name] = id(value), True
                    parts = [_told(leaf.value) for leaf in itertools.islice(_leaves(value), MOST_PARTS)]
                    if held := Counter(part for part in parts if part in self._values):
                        self.held[last, name] = held | self.held.get((last, name), Counter())
        if event == "return":
            self.returned = Site(code.co_filename, frame.f_lineno, code.co_name)
        else:
            self.lines.append(Site(code.co_filename, frame.f_lineno, code.co_name))
        del argument
        return self._traced


def located(runs: Any, pair: NeighbouringPair, seed: int, first: Session, second: Session) -> Site:
    """The line to look at, where two outputs differ and no draw is to blame.

    It is the first line that put a value in question into a variable, of one input and not of the other; else the line
    after which the runs part, if they take different paths; else the one that returns.
    """
    parts = differences(first.output, second.output)
    has_failed = isinstance(first.output, Raised) or isinstance(second.output, Raised)
    shown = [[leaf.value for leaf in side if leaf is not None and not has_failed] for side in zip(*parts, strict=True)]
    sides = [{_told(value) for value in side} - {0, 1, None} for side in shown or ([], [])]
    trails = []
    for input_, script in ((pair.first, None), (pair.second, Script(first))):
        trail, before = _Trail(sides[0] | sides[1]), sys.gettrace()
        sys.settrace(trail)
        try:
            runs.run(input_, Session(seed if script is None else seed + 1, script))
        finally:
            sys.settrace(before)
        trails.append(trail)
    held = [
        site
        for own, other, values in ((trails[0], trails[1], sides[0]), (trails[1], trails[0], sides[1]))
        for (site, name), found in own.held.items()
        if any(found[value] > other.held.get((site, name), Counter())[value] for value in values)
    ]
    if held:
        return held[0]
    last = None
    for one, other in zip(trails[0].lines, trails[1].lines, strict=False):
        if one != other and last is not None:
            return last
        last = one
    if len(trails[0].lines) != len(trails[1].lines) and last is not None:
        return last
    return trails[0].returned or Site("?", 0, "?")


def _leaves(value: Any) -> list[Leaf]:
    """The parts of a value; none of an object that is still being made, of which any attribute may be missing."""
    try:
        return leaves(value)
    except Exception:
        return []


def _told(value: Any) -> Any:
    """A part's value, whatever type of number it has."""
    number = number_of(value) if not isinstance(value, bool) else value
    return number if number == number else value

"""The line of a flaw that no draw names: where a value that reaches the output first stood, or where two runs part."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from typing import Any

from attacklab.model.neighbours import NeighbouringPair
from attacklab.replay.outputs import Leaf, Raised, differences, leaves, number_of
from attacklab.replay.returned import written
from attacklab.replay.session import Script, Session, Site, is_users
from attacklab.replay.traced import Traced

MOST_STEPS = 200_000
MOST_LOCALS = 200
MOST_PARTS = 4096
MOST_TRIED = 40
"""With so many other draws, it is looked for a run whose output has a value that came often."""

MOST_LOOKED_INTO = 500
"""After so many lines, a variable is looked into only where it is another object."""


class _Trail:
    """The lines of the user's code that a run goes through, and which of some values its variables held after them.

    What a function was called with counts for none of its lines.
    """

    def __init__(self, values: set[Any]) -> None:
        self.lines: list[Site] = []
        self.returned = Site("?", 0, "?")
        self.noisy: list[str] = []
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
            self.noisy = [name for name, value in frame.f_locals.items() if isinstance(value, Traced)]
        else:
            self.lines.append(Site(code.co_filename, frame.f_lineno, code.co_name))
        del argument
        return self._traced


def located(
    runs: Any, pair: NeighbouringPair, first: Session, second: Session, part: tuple[str, Any] | None = None
) -> Site:
    """The line to look at, where two outputs differ and no draw is to blame.

    It is the line of the return statement that computes the part; else the first line that put a value in question
    into a variable, of one input and not of the other; else the line after which the runs part, if they take different
    paths; else the one that returns.

    Args:
        runs: what is run.
        pair: the neighbours.
        first: the run of the first input.
        second: that of the second.
        part: the path of the part, and the value that it takes more often on one input; None for the first that
            differs.
    """
    is_shown = part is None or any(_has(run, part) for run in (first, second))
    again = Session(first.seed), Session(second.seed, Script(first))
    if not is_shown:
        again, first, second = _with_part(runs, pair, part, first.seed + 1000) or (again, first, second)
    parts = differences(first.output, second.output)
    has_failed = isinstance(first.output, Raised) or isinstance(second.output, Raised)
    shown = [[leaf.value for leaf in side if leaf is not None and not has_failed] for side in zip(*parts, strict=True)]
    shown = shown if is_shown or part is None else [[part[1]], [part[1]]]
    sides = [{_told(value) for value in side} - {0, 1, None} for side in shown or ([], [])]
    trails = []
    for input_, session in zip((pair.first, pair.second), again, strict=True):
        trail, before = _Trail(sides[0] | sides[1]), sys.gettrace()
        sys.settrace(trail)
        try:
            runs.run(input_, session)
        finally:
            sys.settrace(before)
        trails.append(trail)
    path = part[0] if part is not None else next((leaf.path for both in parts for leaf in both if leaf), "")
    trail, run = (trails[1], second) if part is not None and not _has(first, part) else (trails[0], first)
    by = None if has_failed else written(trail.returned, path, run.output[0], trail.noisy)
    if by is not None and by.is_written:
        return by.site
    held = [
        site
        for own, other, values in ((trails[0], trails[1], sides[0]), (trails[1], trails[0], sides[1]))
        for (site, name), found in own.held.items()
        if by is None or site.function != by.site.function or name in by.names
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
    return trail.returned if by is None else by.site


def _has(run: Session, part: tuple[str, Any]) -> bool:
    """Whether an output has a part with a value; of the value None, whether it has not the part."""
    values = {leaf.path: leaf.value for leaf in leaves(run.output)}
    return bool(values.get(part[0]) == part[1])


def _with_part(
    runs: Any, pair: NeighbouringPair, part: Any, seed: int
) -> tuple[tuple[Session, Session], Session, Session] | None:
    """Runs of both inputs, one of which has a part in its output, and the same to be run again."""
    for number in range(seed, seed + MOST_TRIED):
        made = [runs.run(input_, Session(number)) for input_ in (pair.first, pair.second)]
        if any(_has(run, part) for run in made):
            return (Session(number), Session(number)), made[0], made[1]
    return None


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

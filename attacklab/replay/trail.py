"""The line of a flaw that no draw names: where a value that reaches the output first stood, or where two runs part."""

from __future__ import annotations

import sys
from typing import Any

from attacklab.model.neighbours import NeighbouringPair
from attacklab.replay.outputs import Leaf, Raised, _comparable, differences
from attacklab.replay.session import Script, Session, Site, is_users

MOST_STEPS = 200_000
MOST_LOCALS = 200


class _Trail:
    """The lines of the user's code that a run goes through, and where some values first stand in a variable."""

    def __init__(self, values: set[Any]) -> None:
        self.lines: list[Site] = []
        self.returned: Site | None = None
        self.held: dict[Any, Site] = {}
        self._values = values

    def __call__(self, frame: Any, event: str, argument: Any) -> Any:
        if not is_users(frame.f_code.co_filename):
            return None
        return self._traced(frame, event, argument)

    def _traced(self, frame: Any, event: str, argument: Any) -> Any:
        if len(self.lines) > MOST_STEPS:
            return None
        code = frame.f_code
        last = self.lines[-1] if self.lines else None
        if event in ("line", "return") and last is not None and last.function == code.co_name and self._values:
            for value in list(frame.f_locals.values())[:MOST_LOCALS]:
                if isinstance(value, int | float | str) and not isinstance(value, bool):
                    self.held.setdefault(_comparable(value), last)
        if event == "return":
            self.returned = Site(code.co_filename, frame.f_lineno, code.co_name)
        else:
            self.lines.append(Site(code.co_filename, frame.f_lineno, code.co_name))
        del argument
        return self._traced


def located(runs: Any, pair: NeighbouringPair, seed: int, first: Session, second: Session) -> Site:
    """The line to look at, where two outputs differ and no draw is to blame.

    Where the runs take different paths it is the line after which they part; else the line that made the value in
    question, if it stood in a variable; else the one that returns.
    """
    parts = differences(first.output, second.output)
    has_failed = isinstance(first.output, Raised) or isinstance(second.output, Raised)
    leaves = [leaf for both in parts for leaf in both if isinstance(leaf, Leaf) and not has_failed]
    wanted = {leaf.value for leaf in leaves if _is_telling(leaf.value)}
    trails = []
    for input_, script in ((pair.first, None), (pair.second, Script(first))):
        trail, before = _Trail(wanted), sys.gettrace()
        sys.settrace(trail)
        try:
            runs.run(input_, Session(seed if script is None else seed + 1, script))
        finally:
            sys.settrace(before)
        trails.append(trail)
    held = [trails[0].held[value] for value in wanted if value in trails[0].held]
    if held:
        return min(held, key=trails[0].lines.index)
    last = None
    for one, other in zip(trails[0].lines, trails[1].lines, strict=False):
        if one != other and last is not None:
            return last
        last = one
    if len(trails[0].lines) != len(trails[1].lines) and last is not None:
        return last
    return trails[0].returned or Site("?", 0, "?")


def _is_telling(value: Any) -> bool:
    """Whether a part of an output is one value that a variable may hold, and not one that is everywhere."""
    return isinstance(value, int | str | tuple) and value not in (0, 1, None) and not isinstance(value, bool)

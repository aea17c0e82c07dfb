"""Runs traced line by line; and where a value that reaches the output first stood, for a flaw that no draw names.

The statement that returns the output says which expression a part of it is, and of which variables it is made.
"""

from __future__ import annotations

import ast
import functools
import itertools
import operator
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, ValuesView
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from attacklab.model.neighbours import NeighbouringPair
from attacklab.replay.outputs import Leaf, Raised, differences, leaves, number_of
from attacklab.replay.session import Script, Session, Site, is_users
from attacklab.replay.statements import around_line, sources_of
from attacklab.replay.traced import Traced

MOST_STEPS = 50_000
MOST_LOCALS = 200
MOST_PARTS = 4096
MOST_READ = 1 << 16
"""After so many parts of variables no more are looked at."""

MOST_TRIED = 40
"""With so many other draws, it is looked for a run whose output has a value that came often."""

MOST_LOOKED_INTO, LARGE = 500, 1024
"""After so many lines, or with so many parts, a variable is looked into only where it is another object."""

STEP = re.compile(r"\[([^\]]+)\]|\.(\w+)")
"""A step into an output's part, in the path of the part."""

UNCHANGED, NO_DATA = (bool, int, float, complex, str, bytes, type(None)), (ModuleType, FunctionType, type)
"""What is never written to, and what is not looked into."""


class Step(NamedTuple):
    """A line that a run comes to, how many functions of the user's are at work there, and which call of one it is."""

    site: Site
    depth: int
    call: int


class Held(NamedTuple):
    """What a variable holds after a line: its parts as they can be told apart, and its records in order."""

    parts: Counter[Any]
    records: list[Any]


class _Frame:
    """A call of a function: the line that it is at, and what its variables held when they were looked at."""

    def __init__(self, variables: dict[str, Any], number: int) -> None:
        self.number = number
        self.at: Site | None = None
        self.known: dict[str, tuple[Any, Held | None]] = {name: (value, None) for name, value in variables.items()}
        self.given = {*variables}


class Trail:
    """The lines of the user's code that a run goes through, and what its variables held after them.

    What a function was called with counts for none of its lines.

    Attributes:
        steps: the lines in order.
        held: by line and variable, what the variable held each time that it was another value after the line.
        callers: by file and function, the lines that called it.
        returned: the line that returned last.
        noisy: the variables there that held noise.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.held: dict[tuple[Site, str], list[Held]] = defaultdict(list)
        self.callers: dict[tuple[str, str], list[Site]] = defaultdict(list)
        self.returned = Site("?", 0, "?")
        self.noisy: list[str] = []
        self._frames: dict[int, _Frame] = {}
        self._read = self._calls = 0

    def run(self, make: Any) -> Session:
        """A run under this trace."""
        before = sys.gettrace()
        sys.settrace(self)
        try:
            session: Session = make()
        finally:
            sys.settrace(before)
        return session

    def __call__(self, frame: Any, event: str, argument: Any) -> Any:  # noqa: ARG002 - the form of a trace function
        """Trace a call of a function, if it is one of the user's."""
        code = frame.f_code
        if not is_users(code.co_filename):
            return None
        caller = frame.f_back
        while caller is not None and not is_users(caller.f_code.co_filename):
            caller = caller.f_back
        if caller is not None and id(caller) in self._frames:
            self.callers[code.co_filename, code.co_name].append(_site(caller))
        self._frames[id(frame)] = _Frame(frame.f_locals, self._calls)
        self._calls += 1
        return self._traced

    def _traced(self, frame: Any, event: str, argument: Any) -> Any:  # noqa: ARG002 - the form of a trace function
        if event == "exception":
            return self._traced
        known = self._frames.get(id(frame))
        if known is None:
            return None
        if known.at is not None and len(self.steps) < MOST_STEPS:
            self._look(frame, known, known.at)
        if event == "return":
            self.returned = _site(frame)
            self.noisy = [name for name, value in frame.f_locals.items() if isinstance(value, Traced)]
            del self._frames[id(frame)]
        elif len(self.steps) < MOST_STEPS:
            known.at = _site(frame)
            self.steps.append(Step(known.at, len(self._frames), known.number))
        return self._traced

    def _look(self, frame: Any, known: _Frame, after: Site) -> None:
        """Keep what is another value than before."""
        for name, value in list(frame.f_locals.items())[:MOST_LOCALS]:
            before, held = known.known.get(name, (None, None))
            is_new = name not in known.known or value is not before
            is_settled = name in known.given or isinstance(value, UNCHANGED) or len(self.steps) > MOST_LOOKED_INTO
            is_settled = is_settled or (held is not None and held.parts.total() > LARGE)
            if isinstance(value, NO_DATA) or self._read > MOST_READ or (is_settled and not is_new):
                continue  # else it may have been written to
            now = Held(Counter(_told(leaf.value) for leaf in _leaves(value)), records_of(value))
            self._read += now.parts.total()
            known.given -= {name}
            known.known[name] = value, now
            if is_new or now != held:
                self.held[after, name].append(now)


def _site(frame: Any) -> Site:
    return Site(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


class Located(NamedTuple):
    """A line that shows a difference, the traces of both runs that led to it, and the line that showed it first.

    That is None where only the path tells where the difference comes from.
    """

    site: Site
    trails: tuple[Trail, Trail]
    before: Site | None


def located(
    runs: Any,
    pair: NeighbouringPair,
    first: Session,
    second: Session,
    part: tuple[str, Any] | None = None,
) -> Located:
    """The line to look at, where two outputs differ and no draw is to blame.

    It is the line of the return statement that computes the part; else the first line that put a value in question
    into a variable, of one input and not of the other; else the one that returns.

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
    trails = Trail(), Trail()
    for trail, input_, session in zip(trails, (pair.first, pair.second), again, strict=True):
        trail.run(functools.partial(runs.run, input_, session))
    path = part[0] if part is not None else next((leaf.path for both in parts for leaf in both if leaf), "")
    trail, run = (trails[1], second) if part is not None and not _has(first, part) else (trails[0], first)
    by = None if has_failed else _written(trail.returned, path, run.output[0], trail.noisy)
    if by is not None and by.is_written:
        return Located(by.site, trails, by.site)
    most = [
        {key: functools.reduce(operator.or_, (one.parts for one in held)) for key, held in trail.held.items()}
        for trail in trails
    ]
    held = [
        (site, name)
        for own, other, values in ((most[0], most[1], sides[0]), (most[1], most[0], sides[1]))
        for (site, name), found in own.items()
        if by is None or site.function != by.site.function or name in by.names
        if any(found[value] > other.get((site, name), Counter())[value] for value in values)
    ]
    if held:
        return Located(
            next((site for site, name in held if by and name == by.variable), held[0][0]), trails, held[0][0]
        )
    return Located(trail.returned if by is None else by.site, trails, None)


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
        return leaves(value, MOST_PARTS)
    except Exception:
        return []


def _told(value: Any) -> Any:
    """A part's value, whatever type of number it has."""
    number = number_of(value) if not isinstance(value, bool) else value
    return number if number == number else value


class _Written(NamedTuple):
    """Where a part of an output is written, by which expression, and of which variables it is made but noisy ones.

    The variable is the one that the expression is, if it is one alone.
    """

    site: Site
    is_written: bool
    names: set[str]
    variable: str


def _written(site: Site, path: str, output: Any, noisy: Collection[str]) -> _Written | None:
    """Where the statement that returns an output writes a part of it; None where no such statement is found."""
    function, around = around_line(site)
    statement = next((node for node in around if isinstance(node, ast.Return) and node.value), None)
    if statement is None or function is None or not isinstance(statement, ast.Return) or statement.value is None:
        return None
    part, depth, inner = statement.value, 0, output
    for step in STEP.finditer(path.removeprefix("output[0]")):
        found = _part_of(part, inner, step[1], step[2])
        if found is None:
            break
        part, inner, depth = *found, depth + 1
    variable = part.id if isinstance(part, ast.Name) else ""
    is_written = depth > 0 and not isinstance(part, ast.Name | ast.Constant)
    return _Written(site._replace(line=part.lineno), is_written, sources_of(function, part, noisy), variable)


def _part_of(node: ast.expr, output: Any, key: str | None, attribute: str | None) -> tuple[ast.expr, Any] | None:
    """The expression of a part, and the part itself; None where the expression does not show it."""
    try:
        inner = getattr(output, attribute) if attribute else output[ast.literal_eval(key or "")]
    except (AttributeError, LookupError, TypeError, ValueError, SyntaxError):
        return None
    rows: list[tuple[Any, ast.expr]] = []
    if isinstance(node, ast.Dict):
        keyed = zip(node.keys, node.values, strict=True)
        rows = [(one.value, value) for one, value in keyed if isinstance(one, ast.Constant)]
    elif isinstance(node, ast.Tuple | ast.List):
        rows = list(enumerate(node.elts))
    elif isinstance(node, ast.Call):
        names = [*getattr(output, "__dataclass_fields__", getattr(output, "_fields", ()))]
        rows = [*zip(names, node.args, strict=False), *((one.arg, one.value) for one in node.keywords)]
        rows += [(names.index(name), value) for name, value in rows if name in names and isinstance(output, tuple)]
    wanted = attribute or ast.literal_eval(key or "")
    return next(((value, inner) for name, value in rows if name == wanted), None)


def records_of(value: Any) -> list[Any]:
    """The records or the numbers of a value, in order; none of noise, and of what has none."""
    try:
        return [] if isinstance(value, Traced) else [_record(one) for one in _rows(value)]
    except Exception:
        return []


def _rows(value: Any) -> Collection[Any]:
    if isinstance(value, int | float | np.number):
        return (value,)
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    if hasattr(value, "itertuples"):
        return [*itertools.islice(value.itertuples(index=False, name=None), MOST_PARTS)]
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    value = value.values() if isinstance(value, dict) else value
    return [*itertools.islice(value, MOST_PARTS)] if isinstance(value, list | tuple | np.ndarray | ValuesView) else ()


def _record(value: Any) -> Any:
    """A record, as something that can be told apart."""
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, int | float | str):
        return number if number == number else "nan"
    return repr(number)

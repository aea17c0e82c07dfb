"""The line of a flaw that no draw names: where a value that reaches the output first stood, or where two runs part.

The statement that returns the output says which expression a part of it is, and of which variables it is made.
"""

from __future__ import annotations

import ast
import itertools
import linecache
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Collection
from typing import Any, NamedTuple

from attacklab.model.neighbours import NeighbouringPair
from attacklab.replay.outputs import Leaf, Raised, differences, leaves, number_of
from attacklab.replay.session import Script, Session, Site, is_users
from attacklab.replay.traced import Traced

MOST_STEPS = 200_000
MOST_LOCALS = 200
MOST_PARTS = 4096
MOST_TRIED = 40
"""With so many other draws, it is looked for a run whose output has a value that came often."""

MOST_LOOKED_INTO = 500
"""After so many lines, a variable is looked into only where it is another object."""

STEP = re.compile(r"\[([^\]]+)\]|\.(\w+)")
"""A step into an output's part, in the path of the part."""


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

    def _traced(self, frame: Any, event: str, argument: Any) -> Any:  # noqa: ARG002 - the form of a trace function
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
    by = None if has_failed else _written(trail.returned, path, run.output[0], trail.noisy)
    if by is not None and by.is_written:
        return by.site
    held = [
        (site, name)
        for own, other, values in ((trails[0], trails[1], sides[0]), (trails[1], trails[0], sides[1]))
        for (site, name), found in own.held.items()
        if by is None or site.function != by.site.function or name in by.names
        if any(found[value] > other.held.get((site, name), Counter())[value] for value in values)
    ]
    if held:
        return next((site for site, name in held if by and name == by.variable), held[0][0])
    paths = trails[0].lines, trails[1].lines
    shared = [one for one, _ in itertools.takewhile(lambda both: both[0] == both[1], zip(*paths, strict=False))]
    if shared and len(shared) < max(map(len, paths)):
        return shared[-1]
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
    try:
        tree = ast.parse("".join(linecache.getlines(site.file)))
    except (SyntaxError, ValueError):
        return None
    around = [node for node in ast.walk(tree) if _spans(node, site.line)]
    statement = next((node for node in reversed(around) if isinstance(node, ast.Return) and node.value), None)
    function = next((node for node in reversed(around) if isinstance(node, ast.FunctionDef)), None)
    if statement is None or function is None or statement.value is None:
        return None
    part, depth, inner = statement.value, 0, output
    for step in STEP.finditer(path.removeprefix("output[0]")):
        found = _part_of(part, inner, step[1], step[2])
        if found is None:
            break
        part, inner, depth = *found, depth + 1
    variable = part.id if isinstance(part, ast.Name) else ""
    is_written = depth > 0 and not isinstance(part, ast.Name | ast.Constant)
    return _Written(site._replace(line=part.lineno), is_written, _sources(function, part, noisy), variable)


def _spans(node: ast.AST, line: int) -> bool:
    return isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)


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


def _sources(function: ast.FunctionDef, part: ast.expr, noisy: Collection[str]) -> set[str]:
    """The variables that an expression is made of, through assignments, up to noisy ones."""
    made: dict[str, set[str]] = defaultdict(set)
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                for name in _names(target):
                    made[name].update(_names(node.value))
    found, wanted = set[str](), _names(part) - {*noisy}
    while wanted:
        found |= wanted
        wanted = set().union(*(made[name] for name in wanted)) - found - {*noisy}
    return found


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}

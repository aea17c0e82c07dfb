"""Where in a return statement a part of an output is written, and which variables it is made of without noise."""

from __future__ import annotations

import ast
import linecache
import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from attacklab.replay.session import Site

STEP = re.compile(r"\[([^\]]+)\]|\.(\w+)")
"""A step into an output's part, in the path of the part."""


@dataclass(frozen=True)
class Written:
    """Where a part of an output is written.

    Attributes:
        site: the line.
        is_written: whether the statement computes the part itself; else a variable, a constant or a call gives it.
        names: the variables that it is made of, but for those that are noisy; of keys, the one that has them.
    """

    site: Site
    is_written: bool
    names: frozenset[str]


def written(site: Site, path: str, output: Any, noisy: Collection[str]) -> Written | None:
    """Where the statement that returns an output writes a part of it; None where no such statement is found.

    Args:
        site: of the statement.
        path: of the part.
        output: of the run.
        noisy: the variables of the function that are noisy numbers.
    """
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
    is_written = depth > 0 and not isinstance(part, ast.Name | ast.Constant)
    names = frozenset(_names(part)) if path.endswith(".keys") else _sources(function, part, noisy)
    return Written(site._replace(line=part.lineno), is_written, names)


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


def _sources(function: ast.FunctionDef, part: ast.expr, noisy: Collection[str]) -> frozenset[str]:
    """The variables that an expression is made of, through assignments, up to noisy ones."""
    made: dict[str, set[str]] = defaultdict(set)
    for target, value in _assignments(function):
        for name in _names(target):
            made[name].update(_names(value))
    found, wanted = set[str](), _names(part) - {*noisy}
    while wanted:
        found |= wanted
        wanted = set().union(*(made[name] for name in wanted)) - found - {*noisy}
    return frozenset(found)


def _assignments(function: ast.FunctionDef) -> Iterator[tuple[ast.AST, ast.AST]]:
    """What is put into variables: by assignments, loops and methods."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            yield from ((target, node.value) for target in node.targets)
        elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            yield node.target, node.value
        elif isinstance(node, ast.For | ast.comprehension):
            yield node.target, node.iter
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield from ((node.func.value, one) for one in node.args)


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}

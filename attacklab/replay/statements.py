"""The user's code as it is written: the statements around a line, and what is assigned to which variable."""

from __future__ import annotations

import ast
import functools
import linecache
from collections import defaultdict
from collections.abc import Collection, Iterator

from attacklab.replay.session import Site

LONGEST = 60
"""A longer statement is cut off after so many characters."""


@functools.lru_cache(maxsize=8)
def _parsed(text: str) -> tuple[ast.Module, list[ast.stmt]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        tree = ast.Module([], [])
    return tree, [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]


def statements_of(file: str) -> tuple[ast.Module, list[ast.stmt]]:
    """The syntax tree of a source file and all statements in it; an empty one where it is not to be had."""
    return _parsed("".join(linecache.getlines(file)))


def around_line(site: Site) -> tuple[ast.FunctionDef | None, list[ast.stmt]]:
    """The function that a line stands in, and the statements there that span the line, the innermost first."""
    spanning = [node for node in statements_of(site.file)[1] if node.lineno <= site.line <= end_of(node)]
    within: list[ast.stmt] = []
    for node in reversed(spanning):
        if isinstance(node, ast.FunctionDef):
            return node, within
        within.append(node)
    return None, within


def end_of(node: ast.stmt | ast.ExceptHandler) -> int:
    """The last line of a statement."""
    return node.end_lineno or node.lineno


def parameters_of(function: ast.FunctionDef) -> list[str]:
    """The names of a function's parameters."""
    return [one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]


def sources_of(function: ast.FunctionDef, part: ast.AST, noisy: Collection[str] = ()) -> set[str]:
    """The variables that an expression is made of, through assignments, up to noisy ones."""
    made: dict[str, set[str]] = defaultdict(set)
    for _, target, value in assignments(function):
        for name in names_in(target):
            made[name].update(names_in(value))
    found, wanted = set[str](), names_in(part) - {*noisy}
    while wanted:
        found |= wanted
        wanted = set().union(*(made[name] for name in wanted)) - found - {*noisy}
    return found


def assignments(within: ast.AST) -> Iterator[tuple[ast.stmt | ast.expr, ast.expr, ast.expr]]:
    """What is assigned, as the statement, its target and the value.

    Of a loop it is the target and what it goes through; of a call for its effect the object and the call.
    """
    for node in ast.walk(within):
        if isinstance(node, ast.Assign):
            yield from ((node, target, node.value) for target in node.targets)
        elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            yield node, node.target, node.value
        elif isinstance(node, ast.For):
            yield node, node.target, node.iter
        elif (
            isinstance(node, ast.Expr)
            and isinstance(call := node.value, ast.Call)
            and isinstance(call.func, ast.Attribute)
        ):
            yield node, call.func.value, call  # such as rows.append(row)


def names_in(node: ast.AST) -> set[str]:
    """The names of variables in an expression."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def source_of(site: Site) -> str:
    """The statement at a line in one line, as far as there is room."""
    _, around = around_line(site)
    if not around or isinstance(around[0], ast.Try):
        text = linecache.getline(site.file, site.line).strip()
    else:
        text = ast.unparse(around[0]).splitlines()[0]
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"

"""Mutation operators: every small edit of a function's source that changes what it computes.

Source: DeMillo, Lipton and Sayward 1978, 'Hints on Test Data Selection' (mutation testing); the operators are those
that a slip of the programmer, or a wrong direction of rounding, would make. Messages, annotations, docstrings and the
validation of parameters are left alone.
"""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Iterator
from typing import Any

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
}
_PAIRS = (
    ("min", "max"),
    ("floor", "ceil"),
    ("fmin", "fmax"),
    ("minimum", "maximum"),
    ("down", "up"),
    ("lower", "upper"),
    ("below", "above"),
    ("numerator", "denominator"),
    ("left", "right"),
    ("RoundDown", "RoundUp"),
    ("any", "all"),
)
_PARTNERS = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])} | {"rint": "floor", "round": "floor"}
_FLOORS_IN = {"rint": "np", "round": "math"}
_OF_TWO_NUMBERS = frozenset(
    {
        "Enclosure",
        "Fraction",
        "decide_floor",
        "discrete_tail",
        "div",
        "floor_of_exponential",
        "local_sensitivity",
        "mpq",
        "mul_2exp",
        "nearest_integer",
        "nextafter",
        "normal_tail",
        "rounded_laplace",
        "sub",
        "tail_threshold",
    }
)
"""Functions whose first two arguments are of like types, so that nothing else notices if they are swapped."""


def edits(source: str) -> Iterator[tuple[str, str, str, str]]:
    """Make all mutants of a module.

    Args:
        source: its text.

    Yields:
        The function that is edited, by its qualified name (empty for the module itself), the line before and after,
        and the text of the mutant.
    """
    yield from _Editor(source).of(ast.parse(source), "")


class _Editor:
    def __init__(self, source: str) -> None:
        self._source = source.encode()
        starts = [0]
        for line in self._source.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        self._starts = starts

    def of(self, parent: ast.AST, function: str) -> Iterator[tuple[str, str, str, str]]:
        """Edit every statement below a node."""
        for _, _, statement in _children(parent):
            if isinstance(statement, ast.FunctionDef | ast.ClassDef):
                if not statement.name.startswith(("_check", "__post_init__")) and not _is_protocol(statement):
                    yield from self.of(statement, f"{function}.{statement.name}".lstrip("."))
            elif isinstance(statement, ast.stmt) and not _is_validation(statement):
                yield from self._of_statement(statement, function)
                yield from self.of(statement, function)
            elif isinstance(statement, ast.excepthandler):
                yield from self.of(statement, function)

    def _of_statement(self, statement: ast.stmt, function: str) -> Iterator[tuple[str, str, str, str]]:
        before = _line(statement)
        for changed in _changed_statements(statement):
            yield function, before, _line(changed), self._with(statement, ast.unparse(changed))
        for holder, name, index, node in _expressions(statement):
            for changed_node in _changed_expressions(node):
                _put(holder, name, index, changed_node)
                after = _line(statement)
                _put(holder, name, index, node)
                yield function, before, after, self._with(node, f"({ast.unparse(changed_node)})")

    def _with(self, node: Any, text: str) -> str:
        start = self._starts[node.lineno - 1] + node.col_offset
        end = self._starts[node.end_lineno - 1] + node.end_col_offset
        return (self._source[:start] + text.encode() + self._source[end:]).decode()


def _children(parent: ast.AST) -> Iterator[tuple[str, int | None, ast.AST]]:
    for name, value in ast.iter_fields(parent):
        if isinstance(value, list):
            yield from ((name, index, item) for index, item in enumerate(value) if isinstance(item, ast.AST))
        elif isinstance(value, ast.AST):
            yield name, None, value


def _put(holder: ast.AST, name: str, index: int | None, node: ast.AST) -> None:
    if index is None:
        setattr(holder, name, node)
    else:
        getattr(holder, name)[index] = node


def _expressions(holder: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, Any]]:
    """Find the expressions of a statement, and not those of statements inside it, of annotations and of messages."""
    for name, index, node in _children(holder):
        skipped = name in ("annotation", "targets", "target", "type_params") or isinstance(node, ast.JoinedStr)
        if skipped or isinstance(node, ast.stmt | ast.excepthandler):
            continue
        if isinstance(node, ast.expr):
            yield holder, name, index, node
        yield from _expressions(node)


def _is_validation(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.If):
        return isinstance(statement.body[0], ast.Raise) and not statement.orelse
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.With):
        return False
    return isinstance(statement, ast.Raise | ast.Import | ast.ImportFrom | ast.Try)


def _is_protocol(statement: ast.AST) -> bool:
    return isinstance(statement, ast.ClassDef) and any(
        isinstance(base, ast.Name) and base.id == "Protocol" for base in statement.bases
    )


def _line(statement: ast.stmt) -> str:
    """Return the statement, or the first line of one that holds others."""
    if hasattr(statement, "body"):
        return ast.unparse(statement).split("\n", 1)[0]
    return ast.unparse(statement)


def _changed_statements(statement: ast.stmt) -> Iterator[ast.stmt]:
    if isinstance(statement, ast.AugAssign):
        yield ast.Pass()
        if type(statement.op) in _ARITHMETIC:
            changed = copy.deepcopy(statement)
            changed.op = _ARITHMETIC[type(statement.op)]()
            yield changed
    elif isinstance(statement, ast.Break) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
    ):
        yield ast.Pass()


def _changed_expressions(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            if type(operator) in _COMPARISONS:
                operators = [*node.ops[:place], _COMPARISONS[type(operator)](), *node.ops[place + 1 :]]
                yield ast.Compare(node.left, operators, node.comparators)
    elif isinstance(node, ast.BinOp):
        if type(node.op) in _ARITHMETIC:
            yield ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right)
        elif isinstance(node.op, ast.FloorDiv):  # rounded up
            yield ast.UnaryOp(ast.USub(), ast.BinOp(ast.UnaryOp(ast.USub(), node.left), ast.FloorDiv(), node.right))
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.IfExp):
        yield ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.Constant):
        yield from _changed_constants(node.value)
    elif isinstance(node, ast.Name) and node.id in _PARTNERS and node.id not in ("lower", "upper"):
        yield _partner(node)
    elif isinstance(node, ast.Attribute) and node.attr in _PARTNERS:
        yield ast.Attribute(node.value, _PARTNERS[node.attr], ast.Load())
    elif isinstance(node, ast.Call):
        yield from _changed_calls(node)


def _partner(node: ast.Name) -> ast.expr:
    if node.id in _FLOORS_IN:
        return ast.Attribute(ast.Name(_FLOORS_IN[node.id], ast.Load()), _PARTNERS[node.id], ast.Load())
    return ast.Name(_PARTNERS[node.id], ast.Load())


def _changed_constants(value: Any) -> Iterator[ast.expr]:
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield ast.Constant(value + 1)
        if value > 0:
            yield ast.Constant(value - 1)
    elif isinstance(value, float) and math.isfinite(value):
        yield ast.Constant(math.nextafter(value, math.inf))
    elif isinstance(value, str) and value in ("left", "right"):
        yield ast.Constant(_PARTNERS[value])


def _changed_calls(node: ast.Call) -> Iterator[ast.expr]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    first = 1 if name in ("call", "repeat") else 0
    if (first or name in _OF_TWO_NUMBERS) and len(node.args) > first + 1:
        one, other = node.args[first], node.args[first + 1]
        yield ast.Call(node.func, [*node.args[:first], other, one, *node.args[first + 2 :]], node.keywords)
    if name == "abs":
        yield node.args[0]

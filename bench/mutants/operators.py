"""Edits that model what people get wrong: bounds, signs, rounding, types of arrays, clamps, sides and order."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

_COMPARED: dict[type, type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip
_CALCULATED: dict[type, type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
}  # fmt: skip
_PAIRS = (
    "min max", "minimum maximum", "fmin fmax", "any all", "bisect_left bisect_right", "RoundDown RoundUp", "down up",
    "lower upper", "numerator denominator", "below above", "first last", "low high",
)  # fmt: skip
_NAMES = {name: (substitute,) for pair in map(str.split, _PAIRS) for name, substitute in (pair, reversed(pair))} | {
    "int64": ("int32", "int16"), "uint64": ("uint32",), "float64": ("float32",), "floor": ("rint", "ceil"),
    "ceil": ("floor",),
}  # fmt: skip
_STRINGS = {
    "add-remove": ("substitute",), "substitute": ("add-remove",), "answers": ("utilities",), "utilities": ("answers",),
    "add-remove or substitute": ("add-remove", "substitute"), "left": ("right",), "right": ("left",),
}  # fmt: skip
_BUILT_IN = {"min", "max", "any", "all"}
_CLAMPS = ("min", "max", "minimum", "maximum", "fmin", "fmax", "clip", "floor", "ceil", "round", "abs", "sorted")
_NEVER_SWAPPED = ("call", "repeat", "map", "isinstance", "getattr", "ldexp", "zip")


class Mutant(NamedTuple):
    """A module's text with one edit from a line on; its key names what is edited, wherever that moves."""

    module: str
    line: int
    key: str
    text: str


def mutants(module: str, source: str) -> list[Mutant]:
    """Return every mutant of a file that is another program and compiles, each text once."""
    data, tree = source.encode(), ast.parse(source)
    lines = data.splitlines(keepends=True)
    by_key: dict[str, Mutant] = {}
    for node, scope, substitute in _edits(tree, "", set()):
        first, last = lines[: node.lineno - 1], lines[: node.end_lineno - 1]
        start, end = len(b"".join(first)) + node.col_offset, len(b"".join(last)) + node.end_col_offset
        is_plain = isinstance(substitute, ast.stmt | ast.Name | ast.Attribute | ast.Call | ast.Constant)
        edit = ast.unparse(substitute) if is_plain else f"({ast.unparse(substitute)})"
        text = (data[:start] + edit.encode() + data[end:]).decode()
        try:
            if ast.dump(substitute) == ast.dump(node) or not ast.parse(text):
                continue
        except SyntaxError:
            continue
        before = " ".join(b" ".join(lines[node.lineno - 1 : node.end_lineno]).decode().split())
        rest = len(lines) - node.end_lineno
        after = " ".join(" ".join(text.splitlines()[node.lineno - 1 : -rest or None]).split())
        key = f"{module}:{scope or 'module'}: {before} -> {after}"
        by_key.setdefault(key, Mutant(module, node.lineno, key, text))
    return list(by_key.values())


def _edits(node: ast.AST, scope: str, names: set[str]) -> Iterator[tuple[Any, str, ast.AST]]:
    """Walk through code, not through types, messages and docstrings, and yield what stands where and its substitute."""
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom):
        return
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        scope = f"{scope}.{node.name}".lstrip(".")
        names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} | _BUILT_IN
    for substitute in _substitutes(node, names):
        yield node, scope, substitute
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases", "ops", "op"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not (name == "args" and _is_text(child)):
                yield from _edits(child, scope, names)


def _substitutes(node: ast.AST, names: set[str]) -> Iterator[ast.AST]:
    match node:
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield from map(ast.Constant, (value + 1, value - 1))
        case ast.Constant(value=float(value)):
            yield ast.Constant(2 * value)
        case ast.Constant(value=str(value)):
            yield from map(ast.Constant, _STRINGS.get(value, ()))
        case ast.Name(id=name, ctx=ast.Load()):
            yield from (ast.Name(substitute) for substitute in _NAMES.get(name, ()) if substitute in names)
        case ast.Attribute(value=ast.Name(id="math"), attr="floor"):
            yield from (ast.Name("round"), ast.Attribute(node.value, "ceil"))
        case ast.Attribute(value=value, attr=name, ctx=ast.Load()):
            yield from (ast.Attribute(value, substitute) for substitute in _NAMES.get(name, ()))
        case ast.Compare(left=left, ops=ops, comparators=operands):
            for place, op in enumerate(ops):
                if type(op) in _COMPARED:
                    yield ast.Compare(left, [*ops[:place], _COMPARED[type(op)](), *ops[place + 1 :]], operands)
        case ast.BinOp(left=left, op=op, right=right):
            if type(op) in _CALCULATED:
                yield ast.BinOp(left, _CALCULATED[type(op)](), right)
            if isinstance(op, ast.Sub | ast.Div | ast.FloorDiv | ast.Mod):
                yield ast.BinOp(right, op, left)
            if isinstance(op, ast.FloorDiv):
                yield ast.Call(ast.Name("round"), [ast.BinOp(left, ast.Div(), right)], [])
            if isinstance(op, ast.Mult):
                yield from (left, right)
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            yield from values
        case ast.IfExp(body=body, orelse=orelse):
            yield from (body, orelse)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args, keywords=keywords):
            if name in _CLAMPS and not any(keyword.arg == "out" for keyword in keywords):
                yield from (argument for argument in args if not isinstance(argument, ast.Starred | ast.GeneratorExp))
            elif len(args) > 1 and name not in _NEVER_SWAPPED and not any(map(_is_text, args[:2])):
                yield ast.Call(node.func, [args[1], args[0], *args[2:]], keywords)
        case ast.Expr(value=value) if not isinstance(value, ast.Constant):
            yield ast.Pass()
        case ast.AugAssign() | ast.If(body=[ast.Raise() | ast.Return() | ast.Continue() | ast.Break()], orelse=[]):
            yield ast.Pass()


def _is_text(node: ast.AST) -> bool:
    """Say whether it is a name or a message, or several arguments at once."""
    return isinstance(node, ast.Starred) or (isinstance(node, ast.Constant) and isinstance(node.value, str))

"""Edits that model what people get wrong: bounds, signs, rounding, types of arrays, clamps, sides and order."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_COMPARED = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
_CALCULATED: dict[type, str] = {
    ast.Add: "({0}) - ({1})",
    ast.Sub: "({0}) + ({1})",
    ast.FloorDiv: "round(({0}) / ({1}))",
    ast.Pow: "({0}) * ({1})",
    ast.LShift: "({0}) >> ({1})",
    ast.RShift: "({0}) << ({1})",
    ast.BitAnd: "({0}) | ({1})",
}
_NAMES = {
    "int64": ("int32", "int16"), "uint64": ("uint32",), "float64": ("float32",), "floor": ("rint", "ceil"),
    "ceil": ("floor",), "min": ("max",), "max": ("min",), "minimum": ("maximum",), "maximum": ("minimum",),
    "fmin": ("fmax", "minimum"), "fmax": ("fmin", "maximum"), "any": ("all",), "all": ("any",),
    "bisect_left": ("bisect_right",), "bisect_right": ("bisect_left",), "RoundDown": ("RoundUp",),
    "RoundUp": ("RoundDown",), "down": ("up",), "up": ("down",), "lower": ("upper",), "upper": ("lower",),
    "numerator": ("denominator",), "denominator": ("numerator",), "below": ("above",), "above": ("below",),
    "first": ("last",), "last": ("first",), "low": ("high",), "high": ("low",),
}  # fmt: skip
_BUILT_IN = ("min", "max", "any", "all", "bisect_left", "bisect_right")
_LIKE_A_WORD = ("call", "repeat", "map", "isinstance", "getattr", "ldexp", "zip")
"""Calls whose arguments nobody swaps: they are of different types, and the first run says so."""
_STRINGS = {
    "add-remove": ("substitute",), "substitute": ("add-remove",), "answers": ("utilities",), "utilities": ("answers",),
    "add-remove or substitute": ("add-remove", "substitute"), "left": ("right",), "right": ("left",),
}  # fmt: skip
_CLAMPS = ("min", "max", "minimum", "maximum", "fmin", "fmax", "clip", "floor", "ceil", "round", "abs", "sorted")


@dataclass(frozen=True)
class Mutant:
    """One edit of one file.

    Attributes:
        module: the file's name, without its ending.
        scope: the class and function that the edit is in.
        line: the number of the first line that is edited.
        before: the lines that are edited.
        after: the same lines with the edit.
        start: where the edit begins in the file's bytes.
        end: where what it replaces ends.
        text: what it puts there.
    """

    module: str
    scope: str
    line: int
    before: str
    after: str
    start: int
    end: int
    text: str

    @property
    def key(self) -> str:
        """The mutant's text, by which it is known wherever its line moves."""
        return f"{self.module}:{self.scope}: {' '.join(self.before.split())} -> {' '.join(self.after.split())}"

    def rank(self, seed: int) -> str:
        """Say where it stands in the order of a seed."""
        return hashlib.sha256(f"{seed} {self.key}".encode()).hexdigest()

    def applied(self, source: str) -> str:
        """Edit a file's text."""
        return _spliced(source.encode(), self.start, self.end, self.text).decode()


def mutants(module: str, source: str) -> list[Mutant]:
    """Return every mutant of a file that is another program and compiles, each text once."""
    data, lines = source.encode(), source.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    original = ast.dump(ast.parse(source))
    made: dict[str, Mutant] = {}
    for node, scope, text in _edits(ast.parse(source), "", set(), source):
        start, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        broken = _spliced(data, start, end, text)
        try:
            if ast.dump(ast.parse(broken)) == original:
                continue
        except SyntaxError:
            continue
        head, tail = starts[node.lineno - 1], starts[node.end_lineno]
        before, after = data[head:tail].decode(), _spliced(data[head:tail], start - head, end - head, text).decode()
        mutant = Mutant(module, scope or "module", node.lineno, before, after, start, end, text)
        made.setdefault(mutant.key, mutant)
    return list(made.values())


def _spliced(data: bytes, start: int, end: int, text: str) -> bytes:
    return data[:start] + text.encode() + data[end:]


def _edits(node: ast.AST, scope: str, names: set[str], source: str) -> Iterator[tuple[Any, str, str]]:
    """Walk through code, not through types, messages and docstrings, and yield what stands where and its substitute."""
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom):
        return
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        scope = f"{scope}.{node.name}".lstrip(".")
        names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} | {*_BUILT_IN}
        names |= {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
    for text in _substitutes(node, names, source):
        yield node, scope, text
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases", "ops", "op"):
            continue
        for child in value if isinstance(value, list) else [value]:
            is_name = isinstance(child, ast.Constant) and isinstance(child.value, str) and name == "args"
            if isinstance(child, ast.AST) and not is_name:
                yield from _edits(child, scope, names, source)


def _substitutes(node: ast.AST, names: set[str], source: str) -> Iterator[str]:
    def part(inner: ast.AST) -> str:
        return ast.get_source_segment(source, inner) or ""

    match node:
        case ast.Constant(value=bool(value)):
            yield str(not value)
        case ast.Constant(value=int(value)):
            yield from (f"{value + 1}", f"{value - 1}" if value else "(-1)")
        case ast.Constant(value=float(value)):
            yield f"{value * 2}"
        case ast.Constant(value=str(value)):
            yield from map(repr, _STRINGS.get(value, ()))
        case ast.Name(id=name) | ast.Attribute(attr=name) if isinstance(node.ctx, ast.Load):
            head = part(node)[: -len(name)]
            for other in _NAMES.get(name, ()):
                if head or other in names:
                    yield "round" if head == "math." and other == "rint" else head + other
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARED:
            yield f"{part(left)} {_COMPARED[type(op)]} {part(right)}"
        case ast.Compare(left=left, ops=[first, second], comparators=[middle, right]):
            yield f"{part(left)} {_COMPARED[type(first)]} {part(middle)} {_symbol(second)} {part(right)}"
            yield f"{part(left)} {_symbol(first)} {part(middle)} {_COMPARED[type(second)]} {part(right)}"
        case ast.BinOp(left=left, op=op, right=right):
            if type(op) in _CALCULATED:
                yield f"({_CALCULATED[type(op)].format(part(left), part(right))})"
            if isinstance(op, ast.Mult):
                yield from (f"({part(left)})", f"({part(right)})")
            if isinstance(op, ast.Sub | ast.Div | ast.FloorDiv | ast.Mod):
                yield f"(({part(right)}) {_symbol(op)} ({part(left)}))"
        case ast.UnaryOp(op=ast.USub() | ast.Not() | ast.Invert(), operand=operand):
            yield f"({part(operand)})"
        case ast.BoolOp(op=op, values=values):
            yield f"({(' or ' if isinstance(op, ast.And) else ' and ').join(f'({part(value)})' for value in values)})"
            yield from (f"({part(value)})" for value in values)
        case ast.IfExp(body=body, orelse=orelse):
            yield from (f"({part(body)})", f"({part(orelse)})")
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args, keywords=keywords):
            if name in _CLAMPS and not any(keyword.arg == "out" for keyword in keywords):
                yield from (f"({part(each)})" for each in args if not isinstance(each, ast.Starred | ast.GeneratorExp))
            elif len(args) > 1 and name not in _LIKE_A_WORD and not any(map(_is_other, args[:2])):
                texts = [part(each) for each in [args[1], args[0], *args[2:], *keywords]]
                yield f"{part(node.func)}({', '.join(texts)})"
        case ast.Expr(value=value) if not isinstance(value, ast.Constant):
            yield "pass"
        case ast.AugAssign() | ast.Continue() | ast.Break():
            yield "pass"
        case ast.If(body=[ast.Raise() | ast.Return() | ast.Continue() | ast.Break()], orelse=[]):
            yield "pass"


def _is_other(argument: ast.expr) -> bool:
    """Say whether an argument is not one that its neighbour could be mistaken for."""
    return isinstance(argument, ast.Starred | ast.Lambda) or (
        isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    )


def _symbol(op: ast.operator | ast.cmpop) -> str:
    symbols: dict[type, str] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
    symbols |= {ast.Sub: "-", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%"}
    return symbols[type(op)]

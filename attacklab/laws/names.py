"""What the code of a sampler names, outside its arguments: some names are refused, all others must stay what they were.

The functions that run in a replay are noted (`sys.settrace`), and the names in their code looked up. What stands for
a clock, another generator, the environment or a hash is refused, and so is the order of a set of strings, which differs
from process to process. Globals and attributes of modules are pickled and compared. This finds mistakes of
honest authors; nothing here watches for code that hides.
"""

from __future__ import annotations

import ast
import builtins
import datetime as dt
import dis
import functools
import inspect
import linecache
import os
import random
import sys
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import getcontext
from typing import Any

import gmpy2
import numpy as np

from attacklab.draws.errors import ForeignCall, LawError, OpaqueState
from attacklab.laws.snapshot import CannotCompare, is_fixed, is_library, pickled

CLOCKS_AND_GENERATORS = {
    "time": "reads the clock",
    **dict.fromkeys(("random", "secrets", "uuid", "numpy.random", "_ssl", "ssl"), "draws from elsewhere"),
    **dict.fromkeys(("os", "posix", "nt", "sys", "gc", "threading", "pathlib", "socket"), "asks the system"),
    **dict.fromkeys(("subprocess", "platform", "resource", "ctypes", "tempfile"), "asks the system"),
    **dict.fromkeys(("sqlite3", "dbm", "shelve", "multiprocessing", "logging"), "asks the system"),
}
"""Modules whose functions and classes give what no law covers."""

HASHES: dict[Any, str] = {
    builtins.hash: "hashes, which differs from process to process",
    builtins.id: "asks where an object lies in memory",
    builtins.open: "opens a file",
    builtins.input: "reads the terminal",
    builtins.print: "prints, and a proof runs it many thousand times",
}
"""Builtin functions that do so."""

_CLOCKS = ("now", "utcnow", "today")
_GENERATORS = (random.Random, np.random.Generator, np.random.RandomState, np.random.BitGenerator)
_IN_NO_ORDER = frozenset({"bool", "frozenset", "isinstance", "len", "max", "min", "set", "sorted", "type"})
"""Builtin functions that tell nothing of the order of a set, given nothing else that could: no key."""

_NEW_SETS = frozenset({"copy", "difference", "intersection", "symmetric_difference", "union"})
_METHODS = _NEW_SETS | {
    "add", "clear", "difference_update", "discard", "intersection_update", "isdisjoint", "issubset", "issuperset",
    "remove", "symmetric_difference_update", "update",
}  # fmt: skip
"""Methods of sets that do not either."""


class Names:
    """The names that a sampler's code reads, and what they stood for when it was first seen to run.

    Attributes:
        refused: what the code must not name, if it does.
    """

    def __init__(self) -> None:
        self.refused: LawError | None = None
        self._codes: set[types.CodeType] = set()
        self._fixed: dict[tuple[int, str], tuple[str, Mapping[str, Any], str, Any]] = {}
        self._pickles: dict[tuple[int, str], bytes] = {}
        self._arithmetic = arithmetic()

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note the functions that run while this is entered."""
        before = sys.gettrace()
        sys.settrace(self._note)  # for calls alone: it asks for no lines
        try:
            yield
        finally:
            sys.settrace(before)
            if self.refused is not None:
                raise self.refused

    def changed(self) -> str | None:
        """What no longer stands for what it did; None if all does."""
        if arithmetic() != self._arithmetic:
            return "a setting of arithmetic"
        for key, (place, namespace, name, value) in self._fixed.items():
            now = namespace.get(name)
            if now is value and key not in self._pickles:
                continue
            try:
                if pickled(place, now) != (self._pickles.get(key) or pickled(place, value)):
                    return place
            except CannotCompare:
                return place
        return None

    def _note(self, frame: types.FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or code in self._codes:
            return
        self._codes.add(code)
        module, file = str(frame.f_globals.get("__name__")), frame.f_globals.get("__file__")
        loaded = sys.modules.get(module)
        if file and loaded and is_library(module) and file != getattr(loaded, "__file__", None):
            self.refused = ForeignCall(f"{code.co_name} is in a file called like the module {module}; rename it")
        if is_library(module) or self.refused is not None:
            return
        place = f"{code.co_name} (line {{}} of {code.co_filename.rpartition('/')[2]})"
        known = {**frame.f_globals, **frame.f_locals}
        try:
            for line, name, owner, value in _named(code, frame):
                if reason := _reason(value, code):
                    reason = f"{place.format(line)} {reason} ({name}): a law covers the input and the bits alone"
                    self.refused = ForeignCall(f"{reason}; leave that out")
                elif owner is not None:
                    self._watch(owner, name.rpartition(".")[2], f"the global `{name}` read by {code.co_qualname}")
        except CannotCompare as error:
            self.refused = OpaqueState(
                f"{error}, whose state cannot be compared; let {code.co_name} read no such thing"
            )
        if "rvs" in code.co_names:  # of SciPy's distributions
            self.refused = ForeignCall(f"{place.format(code.co_firstlineno)} draws from elsewhere (rvs)")
        if line := _order_read(code, known):
            reason = f"{place.format(line)} depends on the order of a set, which differs from process to process"
            self.refused = ForeignCall(f"{reason}; sort it")

    def _watch(self, owner: Mapping[str, Any], name: str, place: str) -> None:
        key, value = (id(owner), name), owner.get(name)
        if key not in self._fixed:
            if not is_fixed(value):
                self._pickles[key] = pickled(place, value)
            self._fixed[key] = place, owner, name, value


def arithmetic() -> tuple[Any, ...]:
    """The settings of arithmetic that hold now: precisions, roundings and what numpy does on errors."""
    decimal, gmp = getcontext(), gmpy2.get_context()
    return decimal.prec, decimal.rounding, gmp.precision, gmp.round, *np.geterr().values()


def _named(code: types.CodeType, frame: types.FrameType) -> Iterator[tuple[int, str, Any, Any]]:
    """What code names: the line, the dotted name, the namespace of the author's own that holds it, and the value."""
    line, name, owner, value = 0, "", None, None
    for step in dis.get_instructions(code):
        line = (step.positions and step.positions.lineno) or line
        if step.opname == "COPY":  # of `module.name += 1`
            continue
        if name and step.opname in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(value, types.ModuleType | type):
            is_own = not is_library(getattr(value, "__module__", None) or value.__name__)
            if not (is_own and isinstance(value, type)):  # what an author's own class holds is watched with the class
                owner = vars(value) if is_own else None
                name, value = f"{name}.{step.argval}", getattr(value, step.argval, None)
                continue
        if name:
            yield line, name, owner, value
        name, owner, value = _loaded(step, code, frame)


def _loaded(step: dis.Instruction, code: types.CodeType, frame: types.FrameType) -> tuple[str, Any, Any]:
    """The name that an instruction loads, the namespace that holds it, and its value; no name where it loads none."""
    text, names = step.argval, frame.f_globals
    if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
        return text, names if text in names else None, names.get(text, getattr(builtins, text, None))
    if step.opname == "LOAD_DEREF" and text in code.co_freevars:
        return text, None, frame.f_locals.get(text)
    return (text, None, sys.modules.get(text)) if step.opname == "IMPORT_NAME" else ("", None, None)


def _reason(value: Any, code: types.CodeType) -> str | None:
    """Why a value may not be named, if it may not."""
    owner = getattr(value, "__self__", None)
    if isinstance(value, _GENERATORS) or isinstance(owner, _GENERATORS):
        return "draws from elsewhere"
    if _is_clock(value, owner, code):
        return "reads the clock"
    if any(value is asked for asked in (sys.argv, os.environ)):
        return "asks the system"
    if isinstance(value, types.BuiltinFunctionType) and value in HASHES and code.co_name != "__hash__":
        return HASHES[value]
    is_module = isinstance(value, types.ModuleType)
    module = str(getattr(value, "__name__" if is_module else "__module__", "")) if callable(value) or is_module else ""
    module = "numpy.random" if module.startswith("numpy.random") else module.partition(".")[0]
    return CLOCKS_AND_GENERATORS.get(module)


def _is_clock(value: Any, owner: Any, code: types.CodeType) -> bool:
    """Whether a value is one of datetime's clocks, or numpy's type of dates where the code asks it for today."""
    is_of_numpy = value is np.datetime64 and not {"now", "today"}.isdisjoint(map(str, code.co_consts))
    return is_of_numpy or (isinstance(owner, type) and issubclass(owner, dt.date) and value.__name__ in _CLOCKS)


def _order_read(code: types.CodeType, known: Mapping[str, Any]) -> int:
    """The line on which code may depend on the order of a set whose items are not all numbers; 0 if there is none."""
    names = (*code.co_names, *code.co_varnames, *code.co_freevars)
    values = [known.get(name) for name in names]
    sets = {name for name, value in zip(names, values, strict=True) if _is_seeded(value) or _returns_a_set(value)}
    sets |= {name for name in code.co_names if any(_is_seeded(inspect.getattr_static(it, name, None)) for it in values)}
    own = {name for name, value in zip(names, values, strict=True) if _is_authors(value)}
    functions = _functions(code.co_filename).get(code.co_firstlineno, [])
    is_part_of_another = code.co_name.endswith(("comp>", "<genexpr>"))
    if not functions and not is_part_of_another and (sets or _makes_a_set(code)):
        return code.co_firstlineno  # there is no source to look into
    return next((line for function in functions for line in _lines_in_order(function, sets, own)), 0)


def _lines_in_order(function: Any, sets: set[str], own: set[str]) -> Iterator[int]:
    """The lines of a function that may tell the order of a set; `sets` are names of such sets."""
    assigned = [(target, _is_set(value, sets)) for target, value in _assigned(function)]
    sets = sets | {name for name, is_set in assigned if is_set} - {name for name, is_set in assigned if not is_set}
    for node in ast.walk(function):
        for part in ast.iter_child_nodes(node):
            if _is_set(part, sets) and not _hides_order(node, part, own):
                yield int(getattr(part, "lineno", function.lineno))


def _assigned(function: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What a function gives names to."""
    for node in ast.walk(function):
        value = getattr(node, "value", None)
        targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and value is not None:
            yield from ((target.id, value) for target in targets if isinstance(target, ast.Name))


def _makes_a_set(code: types.CodeType) -> bool:
    operations = {step.opname for step in dis.get_instructions(code)}
    return not operations.isdisjoint(("BUILD_SET", "SET_ADD", "SET_UPDATE")) or frozenset in map(type, code.co_consts)


def _is_seeded(value: Any) -> bool:
    """Whether a value is a set whose order may differ from process to process, or holds one."""
    if isinstance(value, set | frozenset):
        return not all(isinstance(item, int | float) for item in value)
    held = value.values() if type(value) is dict else value if type(value) in (list, tuple) else ()
    return any(isinstance(item, set | frozenset) and _is_seeded(item) for item in held)


def _is_authors(value: Any) -> bool:
    """Whether a value is a function of the author's own, in which an argument is looked at again."""
    return isinstance(value, types.FunctionType) and not is_library(value.__module__)


def _returns_a_set(value: Any) -> bool:
    if not _is_authors(value):
        return False
    nodes = [
        node
        for it in _functions(value.__code__.co_filename).get(value.__code__.co_firstlineno, [])
        for node in ast.walk(it)
    ]
    return any(isinstance(node, ast.Return) and node.value and _is_set(node.value, set()) for node in nodes)


def _is_set(node: ast.AST, sets: set[str]) -> bool:
    """Whether an expression is such a set, or holds one, as far as one can see."""
    match node:
        case ast.Set(elts=items):
            return not all(isinstance(item, ast.Constant) and isinstance(item.value, int | float) for item in items)
        case ast.SetComp():
            return True
        case ast.Call(func=ast.Name(id=name)):
            return name in ("set", "frozenset") or name in sets
        case ast.Call(func=ast.Attribute(value=whole, attr=name)):
            return name in sets or (name in _NEW_SETS and _is_set(whole, sets))
        case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr() | ast.BitXor() | ast.Sub(), right=right):
            return any(_is_set(part, sets) or _is_view(part) for part in (left, right))
        case ast.NamedExpr(value=whole) | ast.Subscript(value=whole):
            return _is_set(whole, sets)
    return isinstance(node, ast.Name | ast.Attribute) and getattr(node, "id", getattr(node, "attr", None)) in sets


def _is_view(node: ast.AST) -> bool:
    """Whether an expression is a view of a dict, of which an operator makes a set."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("keys", "items")


def _hides_order(node: ast.AST, part: ast.AST, own: set[str]) -> bool:
    """Whether a statement or an expression tells nothing of the order of a set that is a part of it."""
    match node:
        case ast.Call(func=func) if part is func:
            return True
        case ast.Call(func=ast.Name(id=name), keywords=keywords):
            return name in own or (name in _IN_NO_ORDER and not keywords)
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in _METHODS
        case ast.Attribute(attr=name):
            return name in _METHODS
        case ast.Assign(targets=targets):
            return all(isinstance(target, ast.Name | ast.Attribute) for target in targets)
        case ast.For() | ast.comprehension() | ast.Starred() | ast.YieldFrom() | ast.Yield() | ast.FormattedValue():
            return getattr(node, "iter", getattr(node, "value", None)) is not part
    return not isinstance(node, ast.List | ast.Tuple | ast.Dict | ast.keyword | ast.JoinedStr)


@functools.cache
def _functions(file: str) -> dict[int, list[ast.AST]]:
    """The functions in a file of source by the line on which their code begins."""
    found: dict[int, list[ast.AST]] = {}
    for node in ast.walk(ast.parse("".join(linecache.getlines(file)))):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            first = (*getattr(node, "decorator_list", ()), node)[0]
            found.setdefault(first.lineno, []).append(node)
    return found

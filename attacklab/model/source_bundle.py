"""Python source of a function or value with all that it needs, to be run where nothing but numpy is installed.

Functions and classes are copied from the files that define them, without type annotations; the names that they use
follow, and so on. What a closure, a `functools.partial` or a bound method holds is written as literals, every bit of a
number kept. Modules of Python and of installed packages are imported instead; those of this package are copied like
anybody's. Of a class, only the methods that something uses are copied.
"""

from __future__ import annotations

import ast
import base64
import builtins
import copy
import dataclasses
import enum
import functools
import importlib
import importlib.util
import itertools
import math
import sys
import textwrap
import types
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np

from attacklab.model.errors import LabError

WIDTH = 100
"""How wide the lines are that hold constants, in characters."""

MOST_LISTED = 64
"""An array of more runs of equal numbers is written as compressed bytes."""

LONG_RUN = 4
"""So many equal numbers in a row are written as one and how often it comes."""

GIVEN = frozenset({"Failure"})
"""What a script defines itself, under the name that it has here: the output that stands for a release that raised."""

PACKAGE = __name__.partition(".")[0]


class NotSelfContained(LabError):
    """A function holds something that cannot be written as Python source."""


def source_bundle(
    value: Any, name: str, instead: Mapping[tuple[str, str], tuple[str, str]] = MappingProxyType({})
) -> str:
    """The source of a module that defines a function, or any other value, under a name.

    Args:
        value: a function, a closure, a partial or a bound method, of modules whose files can be read; or what these
            may hold.
        name: what it is called there.
        instead: for some names of modules, as module and name, what is copied in their place.

    Returns:
        Imports, then constants and definitions in an order in which they can be executed.

    Raises:
        NotSelfContained: something that it needs has no source.
    """
    used: frozenset[str] = frozenset()
    while True:  # until no method is found to be used that was left out
        writer = _Writer(used, instead)
        expression = writer.expression(value, name)
        if writer.attributes <= used:
            return writer.text(name, expression)
        used |= writer.attributes


@dataclasses.dataclass(frozen=True)
class _Module:
    """A module, its syntax, and the statements at its top by the names that they define."""

    module: ModuleType
    tree: ast.Module
    defined: Mapping[str, ast.stmt]


@functools.cache
def _module(name: str) -> _Module:
    module = sys.modules.get(name) or importlib.import_module(name)
    try:
        tree = ast.parse(Path(str(module.__file__)).read_bytes())
    except OSError as error:
        raise NotSelfContained(f"the source of {name} cannot be read: {error}") from error
    return _Module(module, tree, {bound: statement for statement in tree.body for bound in _bound_by(statement)})


def _bound_by(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement at the top of a module defines."""
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from ((alias.asname or alias.name.partition(".")[0]) for alias in names)
        case ast.Assign(targets=targets):
            yield from (node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
            yield name


def _is_copied(module_name: str) -> bool:
    """Whether what a module defines is copied; modules of Python and of installed packages are imported."""
    top = module_name.partition(".")[0]
    if top in (PACKAGE, "__main__"):
        return True
    file = getattr(sys.modules.get(module_name), "__file__", None) or ""
    is_installed = bool({"site-packages", "dist-packages"} & set(Path(file).parts))
    return top not in sys.stdlib_module_names and bool(file) and not is_installed


class _Writer:
    """What is written so far.

    Args:
        used: the names of attributes that are used somewhere.
        instead: as in `source_bundle`.
    """

    def __init__(self, used: frozenset[str], instead: Mapping[tuple[str, str], tuple[str, str]]) -> None:
        self.attributes: set[str] = set()
        self._used, self._instead = used, instead
        self._imports: set[str] = {"import numpy as np"}
        self._constants: list[str] = []
        self._definitions: list[str] = []
        self._names: dict[tuple[str, str], str] = {}
        self._instances: dict[int, tuple[str, Any]] = {}
        self._taken: set[str] = {"np", *GIVEN, *dir(builtins)}

    def text(self, name: str, expression: str) -> str:
        """The whole module, in which `name` is what the expression says."""
        parts = ["\n".join(sorted(self._imports)), "\n".join(self._constants), *self._definitions]
        parts += [] if expression == name else [f"{name} = {expression}"]
        return "\n\n\n".join(filter(None, parts)) + "\n"

    def keeps(self, method: str) -> bool:
        """Whether a method of a class is copied."""
        return (method.startswith("__") and method.endswith("__")) or method in self._used

    # Values

    def expression(self, value: Any, hint: str) -> str:
        """An expression for a value; `hint` is a name for it where it gets one."""
        expression = functools.partial(self.expression, hint=hint)
        match value:
            case float() if type(value) is float:
                return repr(value) if math.isfinite(value) else f'float("{value}")'
            case functools.partial():
                self._imports.add("import functools")
                named = [f"{name}={self.expression(part, name)}" for name, part in value.keywords.items()]
                return f"functools.partial({', '.join([expression(value.func), *map(expression, value.args), *named])})"
            case types.MethodType():
                self.attributes.add(value.__name__)
                return f"{expression(value.__self__)}.{value.__name__}"
            case enum.Enum():
                return f"{expression(type(value))}.{value.name}"
            case np.generic():
                return self._of_number(value, hint)
            case np.ndarray():
                return self._of_array(value, hint)
            case np.dtype():
                return f"np.dtype({value.str!r})"
            case ModuleType():
                return self._of_module(value.__name__)
            case types.FunctionType() if "<" in value.__qualname__:
                return self._of_closure(value, hint)
        simple = (bool, int, str, bytes, complex, range, slice, type(None), type(Ellipsis), type(NotImplemented))
        if type(value) in simple:
            return repr(value)
        if type(value) in (tuple, list, set, frozenset, dict):
            return self._of_container(value, hint)
        if hasattr(value, "__qualname__") or isinstance(value, np.ufunc):
            return self._of_named(value)
        return self._of_instance(value, hint)

    def _of_container(self, value: Any, hint: str) -> str:
        if type(value) is dict:
            entries = (f"{self.expression(key, hint)}: {self.expression(held, hint)}" for key, held in value.items())
            return f"{{{', '.join(entries)}}}"
        parts = [self.expression(held, hint) for held in value]
        if type(value) is tuple:
            return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
        if type(value) is list:
            return f"[{', '.join(parts)}]"
        return f"{type(value).__name__}([{', '.join(sorted(parts))}])"

    def _of_number(self, value: Any, hint: str) -> str:
        if value.dtype.kind == "U":
            return repr(str(value))
        if value.dtype.kind in "biuf" and value.dtype.itemsize <= 8:
            return f"np.{value.dtype.name}({self.expression(value.item(), hint)})"
        return f"{self.expression(np.asarray(value), hint)}[()]"

    def _of_array(self, value: np.ndarray[Any, Any], hint: str) -> str:
        """An array; the name of a constant for one that is long or comes again."""
        if id(value) in self._instances:
            return self._instances[id(value)][0]
        kind, shape = value.dtype.kind, "" if value.ndim == 1 else f".reshape({value.shape})"
        if kind not in "biufcUO":
            raise NotSelfContained(f"{hint} is an array of {value.dtype}, which has no literal")
        is_listed = kind in "UO" or value.dtype.itemsize <= 8
        runs = self._runs(value, hint) if is_listed else []
        if is_listed and (kind in "UO" or len(runs) <= MOST_LISTED):
            written = f"np.array({_joined(runs)}, dtype={'object' if kind == 'O' else repr(value.dtype.str)}){shape}"
        else:
            written = self._packed(value) + shape
        if len(written) <= WIDTH // 2:
            return written
        name = self._free(hint.upper().strip("_") or "CONSTANT")
        self._instances[id(value)] = name, value  # kept alive, so that no other value gets its id
        if kind in "biufc" and "\n" not in written:
            lines = textwrap.wrap(written, WIDTH - 4, break_long_words=False, break_on_hyphens=False)
            written = "(\n" + "".join(f"    {line}\n" for line in lines) + ")"
        self._constants.append(f"{name} = {written}")
        return name

    def _runs(self, value: np.ndarray[Any, Any], hint: str) -> list[tuple[str, int]]:
        """The numbers of an array as text, each with how often it comes in a row."""
        texts = (self.expression(number, hint) for number in value.ravel().tolist())
        return [(text, len(list(run))) for text, run in itertools.groupby(texts)]

    def _packed(self, value: np.ndarray[Any, Any]) -> str:
        """An array of many numbers, whose bytes are compressed and written in base 85."""
        self._imports |= {"import base64", "import zlib"}
        text = base64.b85encode(zlib.compress(np.ascontiguousarray(value).tobytes(), 9)).decode()
        lines = "".join(f'    "{line}"\n' for line in textwrap.wrap(text, WIDTH - 6))
        opening = f"np.frombuffer(zlib.decompress(base64.b85decode(  # {value.size:,} numbers\n"
        return f"{opening}{lines})), {value.dtype.str!r})"

    def _of_instance(self, value: Any, hint: str) -> str:
        if callable(value) and hasattr(value, "__wrapped__"):
            return self.expression(value.__wrapped__, hint)
        if dataclasses.is_dataclass(value):
            held = (field.name for field in dataclasses.fields(value) if field.init)
            arguments = (f"{name}={self.expression(getattr(value, name), name)}" for name in held)
            return f"{self.expression(type(value), hint)}({', '.join(arguments)})"
        module_name = type(value).__module__
        if module_name in ("fractions", "decimal"):
            return f"{self._of_named(type(value))}({str(value)!r})"
        if _is_copied(module_name):  # a constant of a module
            source = _module(module_name)
            for name in source.defined:
                if getattr(source.module, name, None) is value:
                    return self.reference(module_name, name)
        raise NotSelfContained(f"{hint} is of type {type(value).__name__}, which has no source")

    def _of_named(self, value: Any) -> str:
        """A function or class by its name in its module."""
        if isinstance(value, np.ufunc):
            is_numpys = getattr(np, value.__name__, None) is value
            return f"{self._of_module('numpy' if is_numpys else 'scipy.special')}.{value.__name__}"
        module_name, name = value.__module__ or "builtins", str(value.__qualname__)
        if _is_copied(module_name):
            top, *rest = name.split(".")
            self.attributes.update(rest)
            return ".".join([self.reference(module_name, top), *rest])
        return name if module_name == "builtins" else f"{self._of_module(module_name)}.{name}"

    def _of_module(self, module_name: str) -> str:
        if module_name == "numpy":
            return "np"
        self._imports.add(f"import {module_name}")
        return module_name

    def _of_closure(self, function: types.FunctionType, hint: str) -> str:
        """A lambda, or a function inside another one, by a function that makes it of what it holds."""
        source = _module(function.__module__)
        node = _node_of(function, source)
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        held = dict(zip(function.__code__.co_freevars, cells, strict=True))
        arguments = {name: self.expression(value, name) for name, value in held.items()}
        local = set(held) | _bound_in(node)
        self._taken |= {*local, function.__name__}  # what is copied must not be hidden by these
        node = self._rewritten(node, source, local)
        is_lambda = isinstance(node, ast.Lambda)
        if not arguments:
            name = self._free(hint if is_lambda else node.name)
            node.name = name
            self._definitions.append(f"{name} = {ast.unparse(node)}" if is_lambda else ast.unparse(node))
            return name
        text = ast.unparse(node)
        body = f"return {text}" if is_lambda else f"{text}\nreturn {node.name}"
        maker = self._free(f"make_{(hint if is_lambda else node.name).strip('_')}")
        self._definitions.append(f"def {maker}({', '.join(arguments)}):\n{textwrap.indent(body, '    ')}")
        return f"{maker}({', '.join(arguments.values())})"

    # Names of modules

    def reference(self, module_name: str, name: str) -> str:
        """The name under which a name of a module is known here; it is copied or imported now if it is new."""
        if name in GIVEN and module_name.startswith(PACKAGE):
            return name
        wanted = name  # what is copied instead gets the name that those who use it have for it
        module_name, name = key = self._instead.get((module_name, name), (module_name, name))
        if key in self._names:
            return self._names[key]
        source = _module(module_name)
        statement = source.defined.get(name)
        if statement is None:
            raise NotSelfContained(f"{module_name} does not define {name} at its top")
        if isinstance(statement, ast.Import | ast.ImportFrom):
            return self._imported(statement, name, source)
        for bound in _bound_by(statement):
            self._names[module_name, bound] = self._free(wanted if bound == name else bound)
        known = {bound: self._names[module_name, bound] for bound in _bound_by(statement)}
        rewritten = self._rewritten(statement, source, _bound_in(statement))
        self._definitions.append(ast.unparse(_renamed(rewritten, known)))
        return self._names[key]

    def _imported(self, statement: ast.Import | ast.ImportFrom, name: str, source: _Module) -> str:
        alias = next(item for item in statement.names if name in (item.asname, item.name.partition(".")[0]))
        written = ast.unparse(alias)
        if isinstance(statement, ast.ImportFrom):
            package = source.module.__package__ or ""
            origin = importlib.util.resolve_name("." * statement.level + (statement.module or ""), package)
            if _is_copied(origin):
                return self.reference(origin, alias.name)
            self._imports.add(f"from {origin} import {written}")
        else:
            self._imports.add(f"import {written}")
        return name

    def _free(self, name: str) -> str:
        numbered = (f"{name}_{number}" for number in itertools.count(2))
        free = next(wanted for wanted in itertools.chain([name], numbered) if wanted not in self._taken)
        self._taken.add(free)
        return free

    def _rewritten(self, node: Any, source: _Module, local: set[str]) -> Any:
        return _Rewriter(self, source, local).visit(copy.deepcopy(node))


class _Rewriter(ast.NodeTransformer):
    """Takes the annotations and unused methods off a definition, and tells a writer which names of its module it uses.

    Args:
        writer: gives the names under which others are copied.
        source: the module that defines it.
        local: names that do not mean those of the module.
    """

    def __init__(self, writer: _Writer, source: _Module, local: set[str]) -> None:
        self._writer, self._source, self._local = writer, source, local

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.body = [
            part for part in node.body if not isinstance(part, ast.FunctionDef) or self._writer.keeps(part.name)
        ]
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Name("object", ast.Load())  # a field of a dataclass needs one
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id not in self._local:
            module = getattr(self._source.module, node.value.id, None)
            if isinstance(module, ModuleType) and _is_copied(module.__name__):
                return ast.Name(self._writer.reference(module.__name__, node.attr), ast.Load())
        self._writer.attributes.add(node.attr)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self._local or not isinstance(node.ctx, ast.Load):
            return node
        where = self._source.module.__name__
        if node.id in self._source.defined:
            return ast.Name(self._writer.reference(where, node.id), ast.Load())
        if not hasattr(builtins, node.id):
            raise NotSelfContained(f"{where} uses {node.id}, which it does not define at its top")
        return node


def _renamed(statement: Any, known: Mapping[str, str]) -> Any:
    """A statement at the top of a module with other names for what it defines."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        statement.name = known[statement.name]
        return statement
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    for node in (node for target in targets for node in ast.walk(target)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            node.id = known[node.id]
    return statement


def _joined(runs: list[tuple[str, int]]) -> str:
    """A list of numbers as Python source, long runs of one number as a product."""
    parts = []
    for is_long, group in itertools.groupby(runs, key=lambda run: run[1] >= LONG_RUN):
        if is_long:
            parts += [f"[{text}] * {count}" for text, count in group]
        else:
            parts.append(f"[{', '.join(text for text, count in group for _ in range(count))}]")
    return " + ".join(parts) or "[]"


def _bound_in(node: Any) -> set[str]:
    """The names that are bound inside a function or lambda, and so do not mean those of its module."""
    scopes = ast.FunctionDef | ast.Lambda | ast.comprehension
    if not isinstance(node, scopes):
        return set().union(*(_bound_in(inner) for inner in ast.walk(node) if isinstance(inner, scopes)))
    bound: set[str] = set()
    for inner in ast.walk(node):
        match inner:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                bound.add(name)
            case ast.arg(arg=name) | ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                bound.add(name)
            case ast.FunctionDef(name=name) if inner is not node:
                bound.add(name)
    return bound


def _node_of(function: types.FunctionType, source: _Module) -> Any:
    """The syntax of a function inside another one, or of a lambda."""
    code = function.__code__
    matches: list[Any] = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef) and node.name == function.__name__:
            first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
            matches += [node] * (first == code.co_firstlineno)
        elif isinstance(node, ast.Lambda) and function.__name__ == "<lambda>" and node.lineno == code.co_firstlineno:
            matches += [node] * _holds(node.body, code)  # there may be several in a line
    if not matches:
        raise NotSelfContained(f"the source of {function.__qualname__} was not found in {source.module.__name__}")
    return matches[-1]


def _holds(body: ast.expr, code: types.CodeType) -> bool:
    """Whether the instructions of some code come from an expression."""
    starts, ends = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)
    return all(
        starts <= (line or 0, column or 0) and (end_line or 0, end_column or 0) <= ends
        for line, end_line, column, end_column in code.co_positions()
        if (line, column) != (end_line, end_column)  # as where it begins
    )

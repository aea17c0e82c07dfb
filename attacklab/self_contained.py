"""Python source of a function with all that it needs, to be run where nothing but numpy is installed.

Functions and classes are copied from the files that define them, comments and all, without their type annotations; the
names that they use follow, and so on. What a closure, a `functools.partial` or a bound method holds is written as
literals, every bit of a number kept. Modules of Python and of installed packages are imported instead; those of this
package are copied like anybody's. Of a class, only the methods that something uses are copied.
"""

from __future__ import annotations

import ast
import base64
import builtins
import dataclasses
import enum
import functools
import importlib
import importlib.util
import math
import sys
import textwrap
import types
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np

from attacklab.errors import LabError

WIDTH = 100
"""How wide the lines are that hold constants, in characters."""

MOST_LISTED = 64
"""A longer array of numbers is written as compressed bytes."""

GIVEN = frozenset({"Failure"})
"""What a script defines itself, under the name that it has here: the output that stands for a release that raised."""

PACKAGE = __name__.partition(".")[0]

UNPACKED = '''
def unpacked(text, dtype, shape):
    """An array of numbers, whose bytes were compressed and written in base 85."""
    data = zlib.decompress(base64.b85decode(text))
    return np.frombuffer(data, dtype).reshape(shape)
'''


class NotSelfContained(LabError):
    """A function holds something that cannot be written as Python source."""


def self_contained(
    function: Callable[..., Any], name: str, instead: Mapping[tuple[str, str], tuple[str, str]] = MappingProxyType({})
) -> str:
    """The source of a module that defines a function under a name.

    Args:
        function: a function, a closure, a partial or a bound method, of modules whose files can be read.
        name: what it is called there.
        instead: for some names of modules, as module and name, what is copied in their place.

    Returns:
        Imports, then constants and definitions in an order in which they can be executed.

    Raises:
        NotSelfContained: something that it needs has no source.
    """
    used: frozenset[str] = frozenset()
    while True:  # until no method is found to be used that was left out
        collected = _Collected(used, instead)
        called = collected.expression(function, name)
        if collected.attributes <= used:
            return collected.text(name, called)
        used |= collected.attributes


@dataclasses.dataclass(frozen=True)
class _Source:
    """A module's text, and what it defines at its top."""

    module: ModuleType
    text: bytes
    tree: ast.Module
    starts: tuple[int, ...]
    defined: dict[str, ast.stmt]

    def at(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column

    def span(self, node: Any) -> tuple[int, int]:
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno, node.end_col_offset)


@functools.cache
def _source_of(module_name: str) -> _Source:
    module = sys.modules.get(module_name) or importlib.import_module(module_name)
    try:
        text = Path(str(module.__file__)).read_bytes()
    except OSError as error:
        raise NotSelfContained(f"the source of {module_name} cannot be read: {error}") from error
    tree = ast.parse(text)
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    defined: dict[str, ast.stmt] = {}
    for node in tree.body:
        for bound in _bound_by(node):
            defined[bound] = node
    return _Source(module, text, tree, tuple(starts), defined)


def _bound_by(node: ast.stmt) -> Iterator[str]:
    """The names that a statement at the top of a module defines."""
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from ((alias.asname or alias.name.partition(".")[0]) for alias in names)
        case ast.Assign(targets=targets):
            yield from (name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
            yield name


def _is_copied(module_name: str) -> bool:
    """Whether what a module defines is copied; modules of Python and of installed packages are imported."""
    top = module_name.partition(".")[0]
    if top == PACKAGE:
        return True
    if top in sys.stdlib_module_names or top in sys.builtin_module_names:
        return top == "__main__"
    file = getattr(sys.modules.get(module_name), "__file__", None) or ""
    return bool(file) and not {"site-packages", "dist-packages"} & set(Path(file).parts)


class _Collected:
    """What is written so far.

    Args:
        used: the names of attributes that are used somewhere.
        instead: as in `self_contained`.
    """

    def __init__(self, used: frozenset[str], instead: Mapping[tuple[str, str], tuple[str, str]]) -> None:
        self.attributes: set[str] = set()
        self._used, self._instead = used, instead
        self._imports: set[str] = {"import numpy as np"}
        self._constants: list[str] = []
        self._definitions: list[str] = []
        self._names: dict[tuple[str, str], str] = {}
        self._instances: dict[int, tuple[str, Any]] = {}
        self._taken: set[str] = {"unpacked", "np", *GIVEN, *dir(builtins)}
        self._unpacks = False

    def text(self, name: str, called: str) -> str:
        """The whole module, in which `name` is what `called` says."""
        parts = ["\n".join(sorted(self._imports)), *(["\n".join(self._constants)] if self._constants else [])]
        parts += [UNPACKED.strip()] if self._unpacks else []
        if self._unpacks:  # constants need it
            parts[1], parts[2] = parts[2], parts[1]
        parts += self._definitions
        parts += [] if called == name else [f"{name} = {called}"]
        return "\n\n\n".join(parts) + "\n"

    # Values

    def expression(self, value: Any, hint: str) -> str:
        """An expression for a value; `hint` is a name for it where it gets one."""
        if value is None or isinstance(value, bool | str | bytes) or type(value) is int:
            return repr(value)
        if type(value) is float:
            return _of_float(value)
        if value is Ellipsis or value is NotImplemented:
            return repr(value)
        writers: tuple[tuple[type, Callable[[Any, str], str]], ...] = (
            (functools.partial, self._of_partial),
            (types.MethodType, self._of_method),
            (enum.Enum, lambda one, _: f"{self.expression(type(one), hint)}.{one.name}"),
            (np.generic, self._of_number),
            (np.ndarray, self._of_array),
            (np.dtype, lambda one, _: f"np.dtype({one.str!r})"),
            (ModuleType, lambda one, _: self._of_module(one.__name__)),
        )
        for known, write in writers:
            if isinstance(value, known):
                return write(value, hint)
        if isinstance(value, tuple | list | set | frozenset | dict):
            return self._of_container(value, hint)
        if isinstance(value, types.FunctionType) and ("<" in value.__qualname__):
            return self._of_closure(value, hint)
        if hasattr(value, "__qualname__") or isinstance(value, np.ufunc):
            return self._of_named(value)
        if type(value) in (complex, range, slice):
            return repr(value)
        return self._of_instance(value, hint)

    def _of_container(self, value: Any, hint: str) -> str:
        if isinstance(value, dict):
            entries = (f"{self.expression(key, hint)}: {self.expression(one, hint)}" for key, one in value.items())
            return f"{{{', '.join(entries)}}}"
        parts = [self.expression(one, hint) for one in value]
        if type(value) is tuple:
            return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
        if type(value) is list:
            return f"[{', '.join(parts)}]"
        if type(value) in (set, frozenset):
            return f"{type(value).__name__}([{', '.join(sorted(parts))}])"
        return self._of_instance(value, hint)

    def _of_partial(self, value: functools.partial[Any], hint: str) -> str:
        self._imports.add("import functools")
        arguments = [self.expression(value.func, hint), *(self.expression(one, hint) for one in value.args)]
        arguments += [f"{name}={self.expression(one, name)}" for name, one in value.keywords.items()]
        return f"functools.partial({', '.join(arguments)})"

    def _of_method(self, value: types.MethodType, hint: str) -> str:
        self.attributes.add(value.__name__)
        return f"{self.expression(value.__self__, hint)}.{value.__name__}"

    def _of_number(self, value: Any, hint: str) -> str:
        if value.dtype.kind in "biuU":
            return f"np.{value.dtype.name}({value.item()!r})" if value.dtype.kind != "U" else repr(str(value))
        if value.dtype.kind == "f" and value.dtype.itemsize <= 8:
            return f"np.{value.dtype.name}({_of_float(float(value))})"
        return f"{self.expression(np.asarray(value), hint)}[()]"

    def _of_array(self, value: np.ndarray[Any, Any], hint: str) -> str:
        known = self._instances.get(id(value))
        if known is not None:
            return known[0]
        if value.dtype == object:
            parts = ", ".join(self.expression(one, hint) for one in value.ravel())
            written = f"np.array([{parts}], dtype=object).reshape({value.shape})"
        elif value.dtype.kind in "biuf" and value.size <= MOST_LISTED and value.dtype.itemsize <= 8:
            write = _of_float if value.dtype.kind == "f" else repr
            listed = "np.array([" + ", ".join(write(one) for one in value.ravel().tolist()) + f"], {value.dtype.str!r})"
            written = listed if value.ndim == 1 else f"{listed}.reshape({value.shape})"
        elif value.dtype.kind in "biufc" and not value.dtype.hasobject:
            self._unpacks = True
            self._imports |= {"import base64", "import zlib"}
            text = base64.b85encode(zlib.compress(np.ascontiguousarray(value).tobytes(), 9)).decode()
            lines = "\n".join(f'    "{line}"' for line in textwrap.wrap(text, WIDTH - 6))
            what = f"# {value.size:,} numbers" if value.ndim == 1 else f"# {'×'.join(map(str, value.shape))} numbers"
            written = f"unpacked(  {what}\n{lines},\n    {value.dtype.str!r},\n    {value.shape},\n)"
        else:
            raise NotSelfContained(f"{hint} is an array of {value.dtype}, which has no literal")
        if len(written) <= WIDTH // 2:
            return written
        return self._hoisted(value, written, hint)

    def _hoisted(self, value: Any, written: str, hint: str) -> str:
        name = self._free(hint.upper().strip("_") or "CONSTANT")
        self._instances[id(value)] = name, value  # kept alive, so that no other value gets its id
        if "\n" not in written:
            lines = textwrap.wrap(written, WIDTH - 4, break_long_words=False, break_on_hyphens=False)
            written = "(\n" + "".join(f"    {line}\n" for line in lines) + ")"
        self._constants.append(f"{name} = {written}")
        return name

    def _of_instance(self, value: Any, hint: str) -> str:
        known = self._instances.get(id(value))
        if known is not None:
            return known[0]
        if callable(value) and hasattr(value, "__wrapped__"):
            return self.expression(value.__wrapped__, hint)
        if not dataclasses.is_dataclass(value):
            kept = self._of_global(value)
            if kept is not None:
                return kept
            if type(value).__module__ in ("fractions", "decimal"):
                return f"{self._of_named(type(value))}({str(value)!r})"
            raise NotSelfContained(f"{hint} is of type {type(value).__name__}, which has no source")
        made = self.expression(type(value), hint)
        given = [
            f"{field.name}={self.expression(getattr(value, field.name), field.name)}"
            for field in dataclasses.fields(value)
            if field.init
        ]
        return f"{made}({', '.join(given)})"

    def _of_global(self, value: Any) -> str | None:
        """The name of a value that a module of ours holds under a name of its own."""
        module_name = type(value).__module__
        if not _is_copied(module_name):
            return None
        source = _source_of(module_name)
        for name in source.defined:
            if getattr(source.module, name, None) is value:
                return self._reference(module_name, name)
        return None

    def _of_named(self, value: Any) -> str:
        """A function or class by its name in its module."""
        module_name = getattr(value, "__module__", None) or ("numpy" if isinstance(value, np.ufunc) else "builtins")
        name = str(getattr(value, "__qualname__", getattr(value, "__name__", "")))
        if isinstance(value, np.ufunc):
            if getattr(np, name, None) is value:
                return f"np.{name}"
            module_name = "scipy.special"
        top, *rest = name.split(".")
        if not _is_copied(module_name):
            self._imports |= set() if module_name == "builtins" else {f"import {module_name}"}
            return name if module_name == "builtins" else f"{module_name}.{name}"
        self.attributes.update(rest)
        return ".".join([self._reference(module_name, top), *rest])

    def _of_module(self, module_name: str) -> str:
        if module_name == "numpy":
            return "np"
        self._imports.add(f"import {module_name}")
        return module_name

    # Functions that hold values

    def _of_closure(self, function: types.FunctionType, hint: str) -> str:
        source = _source_of(function.__module__)
        node = _node_of(function, source)
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        held = dict(zip(function.__code__.co_freevars, cells, strict=True))
        given = {name: self.expression(value, name) for name, value in held.items()}
        local = set(held) | _bound_in(node)
        self._taken |= {*local, function.__name__}  # what is copied must not be hidden by these
        text = self._copied(node, source, local)
        if isinstance(node, ast.Lambda):
            name, body = self._free(hint), f"return {text}"
        else:
            name, body = node.name, f"{text}\n\nreturn {node.name}"
        if not given:
            if isinstance(node, ast.Lambda):
                self._definitions.append(f"{name} = {text}")
                return name
            name = self._free(node.name)
            self._definitions.append(text.replace(f"def {node.name}(", f"def {name}(", 1))
            return name
        maker = self._free(f"make_{name.strip('_')}")
        self._definitions.append(f"def {maker}({', '.join(given)}):\n{textwrap.indent(body, '    ')}")
        return f"{maker}({', '.join(given.values())})"

    # Names of modules

    def _reference(self, module_name: str, name: str) -> str:
        """The name under which a name of a module is known here; it is copied or imported now if it is new."""
        if name in GIVEN and module_name.startswith(PACKAGE):
            return name
        wanted = name  # what is copied instead gets the name that those who use it have for it
        module_name, name = self._instead.get((module_name, name), (module_name, name))
        key = module_name, name
        if key in self._names:
            return self._names[key]
        source = _source_of(module_name)
        node = source.defined.get(name)
        if isinstance(node, ast.Import):
            alias = next(one for one in node.names if (one.asname or one.name.partition(".")[0]) == name)
            written = "import numpy as np" if alias.name == "numpy" else f"import {alias.name}"
            self._imports.add(written + (f" as {alias.asname}" if alias.asname and alias.name != "numpy" else ""))
            return name
        if isinstance(node, ast.ImportFrom):
            return self._imported(node, name, module_name)
        if node is None:
            raise NotSelfContained(f"{module_name} does not define {name} at its top")
        bound = list(_bound_by(node))
        for one in bound:
            self._names[module_name, one] = self._free(wanted if one == name else one)
        text = self._copied(node, source, _bound_in(node))
        for one in bound:
            if self._names[module_name, one] != one:
                text = _renamed(text, one, self._names[module_name, one])
        self._definitions.append(text)
        return self._names[key]

    def _imported(self, node: ast.ImportFrom, name: str, module_name: str) -> str:
        alias = next(one for one in node.names if (one.asname or one.name) == name)
        package = sys.modules[module_name].__package__ or ""
        origin = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
        if _is_copied(origin):
            return self._reference(origin, alias.name)
        self._imports.add(f"from {origin} import {alias.name}" + (f" as {alias.asname}" if alias.asname else ""))
        return name

    def _submodule(self, source: _Source, name: str) -> str | None:
        """The module of ours that a name of a module stands for."""
        value = getattr(source.module, name, None)
        if isinstance(value, ModuleType) and _is_copied(value.__name__):
            return value.__name__
        return None

    def _free(self, name: str) -> str:
        wanted, number = name, 1
        while wanted in self._taken:
            number += 1
            wanted = f"{name}_{number}"
        self._taken.add(wanted)
        return wanted

    # Copying

    def _copied(self, node: Any, source: _Source, local: set[str]) -> str:
        """The text of a statement or lambda, without annotations, with every name of its module that it uses."""
        edits: list[tuple[int, int, bytes]] = []
        queue: deque[tuple[Any, bool]] = deque([(node, False)])
        while queue:
            one, in_class = queue.popleft()
            match one:
                case ast.FunctionDef() if in_class and not self._wants(one):
                    edits.append((*_lines_of(one, source), b""))
                    continue
                case ast.FunctionDef(args=arguments):
                    edits += _annotations(one, source)
                    defaults = [default for default in arguments.kw_defaults if default is not None]
                    queue.extend((child, False) for child in (*arguments.defaults, *defaults))
                    queue.extend((child, False) for child in (*one.decorator_list, *one.body))
                    continue
                case ast.ClassDef():
                    queue.extend((child, True) for child in one.body)
                    queue.extend((child, False) for child in (*one.bases, *one.decorator_list))
                    continue
                case ast.AnnAssign(target=target, annotation=annotation, value=value):
                    start, end = source.span(annotation)
                    if in_class:
                        edits.append((start, end, b"object"))
                    elif value is None:
                        edits.append((*_lines_of(one, source), b""))
                    else:
                        edits.append((source.span(target)[1], end, b""))
                    queue.extend((child, False) for child in (value,) if child is not None)
                    continue
                case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name not in local and (
                    inner := self._submodule(source, name)
                ):
                    edits.append((*source.span(one), self._reference(inner, attribute).encode()))
                    continue
                case ast.Attribute(attr=attribute):
                    self.attributes.add(attribute)
                case ast.Name(id=name, ctx=ast.Load()) if name not in local:
                    if name in source.defined:
                        known = self._reference(source.module.__name__, name)
                        if known != name:
                            edits.append((*source.span(one), known.encode()))
                    elif not hasattr(builtins, name):
                        where = source.module.__name__
                        raise NotSelfContained(f"{where} uses {name}, which it does not define at its top")
            queue.extend((child, False) for child in ast.iter_child_nodes(one))
        start, end = source.span(node)
        if getattr(node, "decorator_list", None):
            start = source.span(node.decorator_list[0])[0] - 1
        indent = start - source.starts[source.text.count(b"\n", 0, start)]
        text = source.text[start:end]
        for low, high, new in sorted((edit for edit in edits if edit[0] >= start), reverse=True):
            text = text[: low - start] + new + text[high - start :]
        return textwrap.dedent(" " * indent + text.decode()) if indent else text.decode()

    def _wants(self, method: ast.FunctionDef) -> bool:
        name = method.name
        return (name.startswith("__") and name.endswith("__")) or name in self._used


def _lines_of(node: Any, source: _Source) -> tuple[int, int]:
    """Where the lines of a statement begin and end, with the empty lines before a method."""
    decorators = getattr(node, "decorator_list", ())
    start = source.starts[(decorators[0].lineno if decorators else node.lineno) - 1]
    while source.text[:start].endswith(b"\n\n"):
        start -= 1
    return start, source.starts[node.end_lineno]


def _annotations(node: ast.FunctionDef, source: _Source) -> Iterator[tuple[int, int, bytes]]:
    """The edits that leave off a function's annotations, and the spaces around the sign of equality after them."""
    arguments = node.args
    single = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(single) - len(arguments.defaults)) + list(arguments.defaults)
    every = [*zip(single, defaults, strict=True), *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    every += [(one, None) for one in (arguments.vararg, arguments.kwarg) if one is not None]
    for argument, default in every:
        if argument.annotation is not None:
            start = source.span(argument)[0] + len(argument.arg.encode())
            end = source.span(argument.annotation)[1]
            yield (start, end, b"") if default is None else (start, source.span(default)[0], b"=")
    if node.returns is not None:
        start, end = source.span(node.returns)
        yield source.text.rindex(b"->", 0, start) - 1, end, b""


def _of_float(value: float) -> str:
    return repr(value) if math.isfinite(value) else f'float("{value}")'


def _renamed(text: str, name: str, new: str) -> str:
    """A definition under another name."""
    for opening in (f"def {name}(", f"class {name}(", f"class {name}:", f"{name} = "):
        if opening in text:
            return text.replace(opening, opening.replace(name, new), 1)
    raise NotSelfContained(f"{name} cannot be renamed")


def _bound_in(node: Any) -> set[str]:
    """The names that are bound inside a function or lambda, and so do not mean those of its module."""
    bound: set[str] = set()
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.ClassDef):
        for inner in ast.walk(node):
            if inner is not node and isinstance(inner, ast.FunctionDef | ast.Lambda | ast.comprehension):
                bound |= _bound_in(inner)
        return bound
    for inner in ast.walk(node):
        match inner:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                bound.add(name)
            case ast.arg(arg=name) | ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                bound.add(name)
            case ast.FunctionDef(name=name) if inner is not node:
                bound.add(name)
    return bound


def _node_of(function: types.FunctionType, source: _Source) -> Any:
    """The syntax of a function inside another one, or of a lambda."""
    code = function.__code__
    found: list[Any] = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef) and node.name == function.__name__:
            first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
            found += [node] * (first == code.co_firstlineno)
        elif isinstance(node, ast.Lambda) and function.__name__ == "<lambda>" and node.lineno == code.co_firstlineno:
            found.append(node)
    if len(found) > 1:  # several lambdas in a line
        found = [node for node in found if _holds(node.body, code)]
    if not found:
        raise NotSelfContained(f"the source of {function.__qualname__} was not found in {source.module.__name__}")
    return found[-1]


def _holds(body: ast.expr, code: types.CodeType) -> bool:
    """Whether the instructions of some code come from an expression."""
    ends = (body.end_lineno or body.lineno, body.end_col_offset or 0)
    places = [place for place in code.co_positions() if None not in place][1:]
    return all(
        (body.lineno, body.col_offset) <= (line or 0, column or 0) and (end_line or 0, end_column or 0) <= ends
        for line, end_line, column, end_column in places
    )

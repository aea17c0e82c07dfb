"""What a sampler reads besides its arguments and its bits, as values that can be compared.

A called sampler, or a round of a rejection loop, has one law as long as it is one function. So its law is kept under a
key of all that the function is made of: its code, defaults, closure and bound object, and its arguments by type and
bits. What its code names in its module, and what these things name in turn, is held in a `State`, which says whether
any of it has changed.

Code of the standard library, numpy, SciPy and gmpy2 is taken to keep no state of its own. What it does keep
(generators, clocks) is refused when it is called; see `foreign_calls`.
"""

from __future__ import annotations

import contextvars
import dis
import enum
import functools
import logging
import pickle
import random
import sys
import threading
import types
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from decimal import Inexact, InvalidOperation, Overflow, getcontext
from typing import Any

import gmpy2
import numpy as np

from attacklab.laws.errors import OpaqueOutcome
from attacklab.laws.outcomes import tag
from attacklab.laws.uniform import UniformInteger

_TRUSTED = frozenset({*sys.stdlib_module_names, "numpy", "scipy", "gmpy2", "typing_extensions"}) - {"__main__"}

#: Modules of these whose functions calculate, and ask nothing of the system.
_CALCULATING = frozenset({
    "__future__", "abc", "array", "bisect", "builtins", "cmath", "collections", "contextlib", "copy", "dataclasses",
    "decimal", "enum", "fractions", "functools", "gmpy2", "heapq", "itertools", "math", "numbers", "numpy", "operator",
    "re", "string", "struct", "types", "typing", "typing_extensions",
})  # fmt: skip

#: Names that lead out of the code in which they stand.
_LEADING_OUT = frozenset({
    "__import__", "__subclasses__", "breakpoint", "eval", "exec", "getattr", "globals", "hash", "id", "input", "locals",
    "open", "print", "random", "vars",
})  # fmt: skip

_MISSING = object()

_LOCKS = (type(threading.Lock()), type(threading.RLock()))

_CONTEXT = type(gmpy2.get_context())

_SEQUENCES = (list, tuple, deque)

#: Entries of a class that Python keeps for itself.
_OF_PYTHON = frozenset({
    "__abstractmethods__", "__annotations__", "__dataclass_fields__", "__dataclass_params__", "__dict__", "__doc__",
    "__firstlineno__", "__match_args__", "__module__", "__orig_bases__", "__parameters__", "__qualname__", "__slots__",
    "__static_attributes__", "__subclasshook__", "__weakref__", "_abc_impl", "_is_protocol", "_is_runtime_protocol",
})  # fmt: skip

_SLOTS = (
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
)

Place = str


def _is_shared_randomness(value: Any) -> bool:
    """Whether a value is a generator of the whole process: its draws are refused, or come from the source of bits."""
    return type(value) is random.SystemRandom or value is vars(random)["_inst"]


class Opaque(Exception):
    """An object cannot be compared with what it was; the message says which."""


def is_trusted(module: str | None) -> bool:
    """Whether code of a module keeps no state of its own."""
    return module is not None and module.partition(".")[0] in _TRUSTED


def calculates(value: Any) -> bool:
    """Whether a module, a class or a function of a trusted module can do nothing but calculate."""
    module = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    return (module or "builtins").partition(".")[0] in _CALCULATING and not str(module).startswith("numpy.random")


def ambient() -> Hashable:
    """The settings of arithmetic under which code runs."""
    decimal, binary = getcontext(), gmpy2.get_context()
    return (
        decimal.prec, decimal.rounding, decimal.Emin, decimal.Emax, decimal.traps[Inexact], decimal.traps[Overflow],
        decimal.traps[InvalidOperation], *_settings(binary), *np.geterr().values(),
    )  # fmt: skip


def _settings(context: Any) -> tuple[Any, ...]:
    return context.precision, context.round, context.emin, context.emax, context.subnormalize


class Keys:
    """Gives keys to values: equal keys mean that no code can tell the values apart, except by their place in memory.

    Functions and classes that belong to a key are listed in `met`: what they name in their modules is no part of the
    key, and has to be watched.

    Args:
        with_caches: whether values kept by `functools.cached_property` count.

    Attributes:
        met: functions and classes that belong to a key.
        leads_out: whether something was met that may ask the system.
    """

    def __init__(self, *, with_caches: bool = True) -> None:
        self._with_caches = with_caches
        self.met: list[types.FunctionType | type] = []
        self.leads_out = False
        self._within: dict[int, int] = {}

    def key(self, value: Any) -> Hashable:
        """The key of a value.

        Raises:
            Opaque: it holds an object that cannot be read.
        """
        try:
            return tag(value)
        except OpaqueOutcome:
            pass
        if id(value) in self._within:
            return "again", self._within[id(value)]
        self._within[id(value)] = len(self._within)
        try:
            return self._read(value)
        finally:
            del self._within[id(value)]

    def _keys(self, values: Any) -> tuple[Hashable, ...]:
        return tuple(map(self.key, values))

    def _read(self, value: Any) -> Hashable:
        kind = type(value)
        if kind is UniformInteger:
            return self.key(int(value))
        if kind in _SEQUENCES:
            return kind, self._keys(value)
        if kind in (dict, types.MappingProxyType):
            return kind, self._keys(value), self._keys(value.values())
        if kind in (set, frozenset):
            return kind, self._keys(value)  # in the order of iteration, which code can see
        if kind in (bytearray, memoryview):
            return kind, bytes(value)
        if kind in (range, slice, type(NotImplemented), type(Ellipsis)):
            return kind, repr(value)
        if kind is np.ndarray:
            content = self._keys(value.ravel().tolist()) if value.dtype.hasobject else value.tobytes()
            return kind, value.dtype.str, value.shape, value.flags.writeable, content
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, types.MethodType):
            return kind, self.key(value.__func__), self.key(value.__self__)
        if kind is functools.partial:
            return kind, self.key(value.func), self.key(value.args), self.key(value.keywords)
        if isinstance(value, functools._lru_cache_wrapper):
            return kind, self.key(value.__wrapped__)
        if isinstance(value, types.BuiltinFunctionType):
            self.leads_out = self.leads_out or not calculates(value) or value.__name__ in _LEADING_OUT
            owner = value.__self__
            return (
                kind,
                value.__name__,
                None if owner is None or isinstance(owner, types.ModuleType) else self.key(owner),
            )
        if isinstance(value, type):
            self.leads_out = self.leads_out or (is_trusted(value.__module__) and not calculates(value))
            self.met.append(value)
            return "class", id(value)
        if isinstance(value, types.ModuleType):
            self.leads_out = self.leads_out or not calculates(value)
            return "module", value.__name__
        if isinstance(value, enum.Enum):
            return self.key(kind), value.name
        if kind is _CONTEXT:
            return kind, _settings(value)
        if kind in _LOCKS or isinstance(value, logging.Logger) or _is_shared_randomness(value):
            return "not read", id(value)
        if isinstance(value, contextvars.ContextVar):
            return kind, self.key(value.get(None))
        if isinstance(value, staticmethod | classmethod):
            return kind, self.key(value.__func__)
        if isinstance(value, property):
            return kind, self._keys((value.fget, value.fset, value.fdel))
        if isinstance(value, functools.cached_property):
            return kind, self.key(value.func)
        if isinstance(value, (np.ufunc, types.GenericAlias, *_SLOTS)):
            return kind, id(value)
        if kind.__flags__ & _HEAP_TYPE and not is_trusted(kind.__module__):
            return self._instance(value)
        return self._pickled(value)

    def _function(self, function: types.FunctionType) -> Hashable:
        self.leads_out = self.leads_out or (is_trusted(function.__module__) and not calculates(function))
        self.met.append(function)
        cells = () if function.__closure__ is None else tuple(map(self._cell, function.__closure__))
        attributes = {name: value for name, value in vars(function).items() if name != "__wrapped__"}
        rest = (function.__defaults__, function.__kwdefaults__, attributes)
        return "function", id(function.__code__), id(function.__globals__), cells, self._keys(rest)

    def _cell(self, cell: types.CellType) -> Hashable:
        try:
            return self.key(cell.cell_contents)
        except ValueError:
            return "an empty cell"

    def _instance(self, value: Any) -> Hashable:
        kind = type(value)
        attributes = dict(instance_attributes(value, with_caches=self._with_caches))
        base: Hashable = None
        for builtin in (int, float, str, bytes, tuple, list, dict, set, frozenset):
            if isinstance(value, builtin):
                base = self._plain_content(value, builtin)
                break
        else:
            if kind.__basicsize__ > object.__basicsize__ and any(
                not base.__flags__ & _HEAP_TYPE and base is not object for base in kind.__mro__
            ):
                return self._pickled(value)
        return "object", self.key(kind), base, tuple(attributes), self._keys(attributes.values())

    def _plain_content(self, value: Any, builtin: Any) -> Hashable:
        """What a subclass of a built-in type holds as an object of that type."""
        if builtin is dict:
            return self._keys(dict.items(value))
        return self._keys(builtin.__iter__(value)) if hasattr(builtin, "__iter__") else builtin.__repr__(value)

    def _pickled(self, value: Any) -> Hashable:
        self.leads_out = True
        try:
            return "pickled", type(value), pickle.dumps(value, protocol=4)
        except Exception as error:
            raise Opaque(f"a {type(value).__module__}.{type(value).__qualname__}".replace("builtins.", "")) from error


_HEAP_TYPE = 1 << 9


def instance_attributes(value: Any, *, with_caches: bool) -> Iterator[tuple[str, Any]]:
    """The attributes that an object holds, by name."""
    kind = type(value)
    for name, held in getattr(value, "__dict__", {}).items():
        if with_caches or not isinstance(_class_entry(kind, name), functools.cached_property):
            yield name, held
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__"):
                member = base.__dict__.get(name)
                if isinstance(member, types.MemberDescriptorType):
                    try:
                        yield name, member.__get__(value)
                    except AttributeError:
                        continue


def _class_entry(kind: type, name: str) -> Any:
    return next((base.__dict__[name] for base in kind.__mro__ if name in base.__dict__), None)


class State:
    """What a sampler reads besides its arguments, as it was when this was made.

    Args:
        root: the sampler, with its arguments bound.
        name: what to call it.
        keyed: whether the sampler's closure, defaults and bound object are compared by its key; then only what they
            name in their modules counts here.

    Attributes:
        caches: the caches (`functools.lru_cache`) that it may fill.
        leads_out: whether it may call something that asks the system.
        classes: the classes that it may use, but for those of trusted modules.

    Raises:
        Opaque: it reads an object whose state cannot be compared; the message says where it is.
    """

    def __init__(self, root: Any, name: str, *, keyed: bool = False) -> None:
        self.caches: list[Any] = []
        self.leads_out = False
        self.classes: list[type] = []
        self._names: dict[int, tuple[Mapping[str, Any], dict[str, tuple[Any, Place]]]] = {}
        self._is_as_before: list[tuple[Place, Callable[[], bool]]] = []
        self._seen: dict[int, Any] = {}
        if not keyed:
            self._survey(root, name)
            return
        keys = Keys()
        keys.key(root)
        self.leads_out = keys.leads_out
        for met in keys.met:
            if isinstance(met, type):
                self._survey_class(met)
            elif not is_trusted(met.__module__):
                self._survey_code(met.__code__, met.__globals__, met.__qualname__)

    def changed(self) -> Place | None:
        """Where something has changed; None if nothing has."""
        for namespace, names in self._names.values():
            for name, (known, place) in names.items():
                value = namespace.get(name, _MISSING)
                if value is not known and not _same(value, known):
                    return place
        for place, is_as_before in self._is_as_before:
            if not is_as_before():
                return place
        return None

    def _survey(self, value: Any, place: Place) -> None:
        if is_immutable(value) or id(value) in self._seen:
            return
        self._seen[id(value)] = value  # kept, lest its place in memory be used again
        if isinstance(value, types.FunctionType):
            self._survey_function(value)
        elif isinstance(value, type):
            self._survey_class(value)
        elif isinstance(value, functools._lru_cache_wrapper):
            self.caches.append(value)
            self._survey(value.__wrapped__, place)
        elif not isinstance(value, types.ModuleType):  # what code names in a module is surveyed with the code
            self._survey_content(value, place)

    def _survey_content(self, value: Any, place: Place) -> None:
        keys = Keys()
        try:
            keys.key(value)
            self.leads_out = self.leads_out or keys.leads_out
        except Opaque as error:
            raise Opaque(f"{place} holds {error}") from error
        for met in keys.met:
            self._survey(met, place)
        key = _content_key(value)
        self._is_as_before.append((place, lambda: _content_key(value) == key))

    def _survey_function(self, function: types.FunctionType) -> None:
        if is_trusted(function.__module__):
            self.leads_out = self.leads_out or not calculates(function)
            return
        name, code, defaults = function.__qualname__, function.__code__, function.__defaults__
        attributes = vars(function)
        self._is_as_before.append(
            (f"the code of {name}", lambda: function.__code__ is code and function.__defaults__ is defaults)
        )
        for free, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            self._survey_cell(cell, f"the variable `{free}` around {name}")
        for default in (*(defaults or ()), *(function.__kwdefaults__ or {}).values()):
            self._survey(default, f"a default argument of {name}")
        count = len(attributes)
        self._is_as_before.append((f"an attribute of {name}", lambda: len(attributes) == count))
        for attribute in attributes:
            if attribute != "__wrapped__":
                self._watch(attributes, attribute, f"the attribute `{attribute}` of {name}")
        self._survey_code(code, function.__globals__, name)

    def _survey_cell(self, cell: types.CellType, place: Place) -> None:
        try:
            known = cell.cell_contents
        except ValueError:
            self._is_as_before.append((place, lambda: _is_empty(cell)))
            return
        self._survey(known, place)
        self._is_as_before.append((place, lambda: cell.cell_contents is known or _same(cell.cell_contents, known)))

    def _survey_code(self, code: types.CodeType, namespace: dict[str, Any], name: str) -> None:
        for inner in code.co_consts:
            if isinstance(inner, types.CodeType):
                self._survey_code(inner, namespace, name)
        modules = []
        self.leads_out = self.leads_out or not _LEADING_OUT.isdisjoint(code.co_names) or _imports(code)
        for named in sorted(_global_names(code)):
            if named in namespace:
                self._watch(namespace, named, f"the global `{named}` read by {name}")
                modules.append(namespace[named])
        while modules:
            module = modules.pop()
            if isinstance(module, types.ModuleType) and is_trusted(module.__name__):
                self.leads_out = self.leads_out or not calculates(module)
            elif isinstance(module, types.ModuleType):
                for named in code.co_names:
                    if named in vars(module):
                        self._watch(vars(module), named, f"`{module.__name__}.{named}` read by {name}")
                        modules.append(vars(module)[named])

    def _survey_class(self, kind: type) -> None:
        for base in kind.__mro__:
            if is_trusted(base.__module__):
                self.leads_out = self.leads_out or not calculates(base)
            else:
                self._seen[id(base)] = base
                self.classes.append(base)
                for named, held in list(base.__dict__.items()):
                    if named not in _OF_PYTHON and not isinstance(held, _SLOTS):
                        self._watch(base.__dict__, named, f"the attribute `{named}` of {base.__qualname__}", base)

    def _watch(self, namespace: Mapping[str, Any], name: str, place: Place, owner: type | None = None) -> None:
        """Watch one name, and what it stands for. The namespace of a class is known by the class."""
        names = self._names.setdefault(id(owner or namespace), (namespace, {}))[1]
        if name not in names:
            names[name] = (namespace[name], place)
            self._survey(namespace[name], place)


def _is_empty(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is _MISSING
    except ValueError:
        return True


@functools.lru_cache(maxsize=4096)
def _names_of(code: types.CodeType, *operations: str) -> set[str]:
    return {str(one.argval) for one in dis.get_instructions(code) if one.opname in operations}


def _global_names(code: types.CodeType) -> set[str]:
    """The names that code looks up in its module."""
    return _names_of(code, "LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL")


def _imports(code: types.CodeType) -> bool:
    """Whether code imports a module that may ask the system, or one that is not known."""
    return any(name.partition(".")[0] not in _CALCULATING for name in _names_of(code, "IMPORT_NAME"))


def is_immutable(value: Any) -> bool:
    """Whether a value can never change, and holds nothing that can."""
    kind = type(value)
    if kind is tuple or kind is frozenset:
        return all(map(is_immutable, value))
    if kind is types.CodeType or value is None:
        return True
    try:
        tag(value)
    except OpaqueOutcome:
        return False
    return not hasattr(value, "__dict__")


def _same(value: Any, known: Any) -> bool:
    """Whether a new object under an old name cannot be told from the one before."""
    try:
        return Keys().key(value) == Keys().key(known)
    except Opaque:
        return False


def _content_key(value: Any) -> Hashable:
    """The key of a mutable object, without what objects have computed from their other attributes and kept."""
    try:
        return Keys(with_caches=False).key(value)
    except Opaque:
        return "opaque"


class CallKeys:
    """Gives keys to calls; the keys of plain functions are read once."""

    def __init__(self) -> None:
        self._plain: dict[int, tuple[Any, types.CodeType, Hashable]] = {}

    def key(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Hashable:
        """What distinguishes a call: the function, its arguments and the settings of arithmetic.

        Raises:
            Opaque: part of it cannot be read.
        """
        keys = Keys()
        known = self._plain.get(id(function))
        if known is not None and function.__code__ is known[1] and _is_plain(function):
            head = known[2]
        else:
            head = keys.key(function)
            if _is_plain(function):
                self._plain[id(function)] = function, function.__code__, head
        return head, tuple(map(keys.key, arguments)), ambient()


def _is_plain(function: Any) -> bool:
    """Whether a function is nothing but its code, in its module."""
    return (
        type(function) is types.FunctionType
        and function.__closure__ is None
        and function.__defaults__ is None
        and not function.__kwdefaults__
        and not function.__dict__
    )

"""What a sampler reads besides its arguments and its bits, as values that can be compared.

A called sampler, or a round of a rejection loop, has one law as long as it is one function. So its law is kept under a
key of all that the function is made of: its code, defaults, closure and bound object, and its arguments by type and
bits. What its code names in its module, and what these things name in turn, is held in a `State`, which says whether
any of it has changed.

Code of the standard library, numpy, SciPy and gmpy2 is taken to keep no state of its own. What it does keep
(generators, clocks) is refused when it is called; see `foreign_calls`.
"""

from __future__ import annotations

import builtins
import contextlib
import contextvars
import dis
import enum
import functools
import gc
import importlib
import io
import itertools
import logging
import pickle
import random
import sys
import threading
import types
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from decimal import Decimal, getcontext
from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np

from attacklab.laws.outcomes import MPFR, MPQ, MPZ, tag
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

#: Types whose values never change, and are told apart by type and bits.
_PLAIN = frozenset({int, bool, str, bytes, type(None), float, complex, Fraction, Decimal, MPZ, MPQ, MPFR})

#: What reads or writes a name that stands in a string.
_BY_STRING = frozenset({"__dict__", "delattr", "getattr", "globals", "hasattr", "setattr", "vars"})

_OF_LOGGERS = frozenset(vars(logging.Logger("")))

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


def _is_trusted_class(kind: type) -> bool:
    """Whether a class belongs to a trusted module. A class made by a function of such a module also bears its name."""
    if type(kind.__module__) is not str:  # as a class of Cython's may have it
        return not kind.__flags__ & _HEAP_TYPE
    if not is_trusted(kind.__module__) or not kind.__flags__ & _HEAP_TYPE:
        return is_trusted(kind.__module__)
    found: Any = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        if name == "<locals>":
            return True
        found = getattr(found, name, None)
    return found is kind or bool(kind.__flags__ & _IMMUTABLE_TYPE) or "__dict__" not in vars(kind)


def _is_trusted_function(function: types.FunctionType) -> bool:
    """Whether code belongs to a trusted module; `__module__` says so of a wrapper, too."""
    return is_trusted(function.__globals__.get("__name__"))


def calculates(value: Any) -> bool:
    """Whether a module, a class or a function of a trusted module can do nothing but calculate."""
    module = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    return (module or "builtins").partition(".")[0] in _CALCULATING and not str(module).startswith("numpy.random")


def ambient() -> Hashable:
    """The settings under which code runs: those of arithmetic and of the interpreter."""
    decimal = getcontext()
    traps = decimal.traps
    return (
        decimal.prec, decimal.rounding, decimal.Emin, decimal.Emax, decimal.capitals, decimal.clamp,
        *[traps[signal] for signal in _SIGNALS], *_settings(gmpy2.get_context()), *np.geterr().values(),
        sys.get_int_max_str_digits(), sys.getrecursionlimit(), sys.getswitchinterval(),
    )  # fmt: skip


_SIGNALS = tuple(getcontext().traps)


def settings() -> Hashable:
    """The same, and those by which numpy writes numbers."""
    return ambient(), *map(str, np.get_printoptions().values())


def _settings(context: Any) -> tuple[Any, ...]:
    traps = (
        context.trap_underflow, context.trap_overflow, context.trap_inexact, context.trap_invalid, context.trap_erange,
        context.trap_divzero,
    )  # fmt: skip
    rest = context.precision, context.round, context.emin, context.emax, context.subnormalize
    return (*rest, context.real_prec, context.imag_prec, context.real_round, context.allow_complex, *traps)


class Keys:
    """Gives keys to values: equal keys mean that no code can tell the values apart, except by their place in memory.

    Functions and classes that belong to a key are listed in `met`: what they name in their modules is no part of the
    key, and has to be watched.

    Args:
        with_caches: whether values kept by `functools.cached_property` count.

    Attributes:
        met: functions, classes and modules that belong to a key.
        caches: caches (`functools.lru_cache`) that belong to a key.
        computed: values kept by `functools.cached_property` that do not count.
        leads_out: whether something was met that may ask the system.
    """

    def __init__(self, *, with_caches: bool = True) -> None:
        self._with_caches = with_caches
        self.met: list[Any] = []
        self.caches: list[Any] = []
        self.computed: list[Any] = []
        self.leads_out = False
        self._places: dict[int, tuple[int, Any]] = {}

    def key(self, value: Any) -> Hashable:
        """The key of a value.

        Raises:
            Opaque: it holds an object that cannot be read.
        """
        kind = type(value)
        if kind in _PLAIN or (isinstance(value, np.generic) and is_immutable(value)):
            return tag(value)
        if kind is tuple:
            return kind, self._keys(value)
        if id(value) in self._places:
            return "again", self._places[id(value)][0]
        self._places[id(value)] = len(self._places), value  # kept, lest its place in memory be used again
        return self._read(value)

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
        if kind is bytearray:
            return kind, bytes(value)
        if kind is memoryview:
            return kind, bytes(value), value.format, value.shape, value.readonly
        if kind in (range, slice, type(NotImplemented), type(Ellipsis)):
            return kind, repr(value)
        if kind is np.ndarray:
            content = self._keys(value.ravel().tolist()) if value.dtype.hasobject else value.tobytes()
            return kind, value.dtype.str, value.shape, value.strides, value.flags.writeable, content
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, types.MethodType):
            return kind, self.key(value.__func__), self._owner(value.__self__)
        if kind is functools.partial:
            return kind, self.key(value.func), self.key(value.args), self.key(value.keywords)
        if isinstance(value, functools._lru_cache_wrapper):
            self.caches.append(value)
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
            self.leads_out = self.leads_out or (_is_trusted_class(value) and not calculates(value))
            self.met.append(value)
            return "class", id(value)
        if isinstance(value, types.ModuleType):
            self.leads_out = self.leads_out or not calculates(value)
            self.met.append(value)
            return "module", id(value)
        if isinstance(value, enum.Enum):
            attributes = {name: held for name, held in vars(value).items() if name != "__objclass__"}
            return self.key(kind), value.name, *self._keys(attributes), self._keys(attributes.values())
        if kind is object:
            return kind, id(value)
        if kind is _CONTEXT:
            return kind, _settings(value)
        if kind in _LOCKS:
            return "a lock", id(value), repr(value).rpartition(" at ")[0]
        if isinstance(value, logging.Logger):
            return self._logger(value)
        if _is_shared_randomness(value):
            return "not read", id(value)
        if isinstance(value, contextvars.ContextVar):
            return kind, self.key(value.get(None))
        if isinstance(value, staticmethod | classmethod):
            return kind, self.key(value.__func__)
        if isinstance(value, property):
            return kind, self._keys((value.fget, value.fset, value.fdel))
        if isinstance(value, functools.cached_property):
            return kind, self.key(value.func)
        if isinstance(value, np.ufunc) and value.__name__.endswith(" (vectorized)"):
            raise Opaque("a function made by np.frompyfunc")
        if isinstance(value, (np.ufunc, types.GenericAlias, *_SLOTS)):
            return kind, id(value)
        if _is_own(kind):
            found = self._instance(value)
            holds_nothing = found[2:] == (None, (), ())  # it may be a sentinel, which code compares by `is`
            return (*found, id(value)) if holds_nothing else found
        return self._pickled(value)

    def _owner(self, value: Any) -> Hashable:
        """The object to which a method is bound. If it holds nothing, it is like any other of its class."""
        return self._instance(value) if _is_own(type(value)) and id(value) not in self._places else self.key(value)

    def _logger(self, logger: logging.Logger) -> Hashable:
        own = [handler for handler in logger.handlers if not _is_trusted_class(type(handler))]
        more = {name: held for name, held in vars(logger).items() if name not in _OF_LOGGERS}
        level = logger.getEffectiveLevel(), logger.disabled, logger.propagate, logger.manager.disable
        return "a logger", id(logger), level, logger.level, *self._keys((logger.filters, own, more))

    def _function(self, function: types.FunctionType) -> Hashable:
        self.leads_out = self.leads_out or (_is_trusted_function(function) and not calculates(function))
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

    def _instance(self, value: Any) -> tuple[Hashable, ...]:
        kind = type(value)
        attributes = dict(instance_attributes(value))
        if not self._with_caches:
            computed = [name for name in attributes if _is_computed(kind, name)]
            self.computed += [attributes.pop(name) for name in computed]
        base: Hashable = None
        for builtin in (int, float, str, bytes, tuple, list, dict, set, frozenset):
            if issubclass(kind, builtin):
                base = self._plain_content(value, builtin)
                break
        if _holds_more(kind, builtin if base is not None else object):
            base = base, self._pickled(value)
        return "object", self.key(kind), base, tuple(attributes), self._keys(attributes.values())

    def _plain_content(self, value: Any, builtin: Any) -> Hashable:
        """What a subclass of a built-in type holds as an object of that type."""
        if builtin is dict:
            return self._keys(dict.items(value))
        return self._keys(builtin.__iter__(value)) if hasattr(builtin, "__iter__") else builtin.__repr__(value)

    def _pickled(self, value: Any) -> Hashable:
        self.leads_out = True
        stream, named = io.BytesIO(), []

        def name(part: Any) -> int | None:
            """Pickles hold functions and classes by name, and objects as their class sees fit: their keys say more."""
            if part is value or not (isinstance(part, _NAMED) or _is_own(type(part))):
                return None
            named.append(self.key(part))
            return len(named)

        pickler = pickle.Pickler(stream, protocol=4)
        pickler.persistent_id = name  # type: ignore[method-assign]
        try:
            pickler.dump(value)
        except Opaque:
            raise
        except Exception as error:
            raise Opaque(f"a {type(value).__module__}.{type(value).__qualname__}".replace("builtins.", "")) from error
        return "pickled", self.key(type(value)), stream.getvalue(), tuple(named)


_NAMED = (types.FunctionType, types.MethodType, types.ModuleType, type)

_HEAP_TYPE = 1 << 9

_IMMUTABLE_TYPE = 1 << 8


def _is_own(kind: type) -> bool:
    """Whether a class is the sampler's own, written in Python."""
    return bool(kind.__flags__ & _HEAP_TYPE) and not _is_trusted_class(kind)


def _holds_more(kind: type, base: type) -> bool:
    """Whether objects of a class hold more, in C, than those of a base, their attributes and their slots."""
    for one in kind.__mro__:
        if one is base:
            return False
        entries = vars(one)
        slots = sum(isinstance(entry, types.MemberDescriptorType) for entry in entries.values())
        places = slots + ("__dict__" in entries) + ("__weakref__" in entries)
        above = one.__base__.__basicsize__ if one.__base__ is not None else 0
        if one.__basicsize__ - above > 8 * places and "__slots__" not in entries:
            return True
    return False


def instance_attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """The attributes that an object holds, by name."""
    yield from getattr(value, "__dict__", {}).items()
    for base in type(value).__mro__:
        for name, member in base.__dict__.items():
            if isinstance(member, types.MemberDescriptorType):
                try:
                    yield name, member.__get__(value)
                except AttributeError:
                    continue


def _is_computed(kind: type, name: str) -> bool:
    entry = next((base.__dict__[name] for base in kind.__mro__ if name in base.__dict__), None)
    return isinstance(entry, functools.cached_property)


class State:
    """What a sampler reads besides its arguments, as it was when this was made.

    Args:
        root: the sampler, with its arguments bound.
        name: what to call it.
        keys: those of the sampler and its arguments, if it is compared by them; then only what they name in their
            modules counts here.

    Attributes:
        caches: the caches (`functools.lru_cache`) that it may fill.
        leads_out: whether it may call something that asks the system.
        classes: the classes that it may use, but for those of trusted modules.

    Raises:
        Opaque: it reads an object whose state cannot be compared; the message says where it is.
    """

    def __init__(self, root: Any, name: str, *, keys: Keys | None = None) -> None:
        self.caches: list[Any] = []
        self.leads_out = False
        self.classes: list[type] = []
        self._names: dict[int, tuple[Mapping[str, Any], dict[str, tuple[Any, Place]]]] = {}
        self._is_as_before: list[tuple[Place, Callable[[], bool]]] = []
        self._seen: dict[int, Any] = {}
        self._modules: dict[int, types.ModuleType] = {}
        self._attributes: dict[str, bool] = {}
        if keys is None:
            self._survey(root, name)
        else:
            self.leads_out = keys.leads_out
            for met in keys.met:
                if isinstance(met, types.FunctionType):
                    if not _is_trusted_function(met):
                        self._survey_code(met.__code__, met.__globals__, met.__qualname__)
                elif isinstance(met, type | types.ModuleType):
                    self._survey(met, name)
            for cache in keys.caches:
                self._survey_cache(cache, name)
        self._survey_modules()
        self._watched = [
            (namespace.get, name, known, place)
            for namespace, names in self._names.values()
            for name, (known, place) in names.items()
            if known is not _MISSING or not hasattr(builtins, name)
        ]

    def changed(self) -> Place | None:
        """Where something has changed; None if nothing has."""
        for read, name, known, place in self._watched:
            value = read(name, _MISSING)
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
            self._survey_cache(value, place)
            self._survey(value.__wrapped__, place)
        elif isinstance(value, types.ModuleType):
            self._modules[id(value)] = value
            if type(value) is not types.ModuleType and not is_trusted(value.__name__):
                self._survey(type(value), place)
        else:
            self._survey_content(value, place)

    def _survey_cache(self, cache: Any, place: Place) -> None:
        self.caches.append(cache)
        self._is_as_before.append((f"what the cache of {place} holds", _Cache(cache).is_as_before))

    def _survey_content(self, value: Any, place: Place) -> None:
        keys = Keys()
        try:
            keys.key(value)
            self.leads_out = self.leads_out or keys.leads_out
            content = _Content(value)
        except Opaque as error:
            raise Opaque(f"{place} holds {error}") from error
        for cache in keys.caches:
            self._survey(cache, place)
        for met in keys.met:
            self._survey(met, place)
        self._is_as_before.append((place, content.is_as_before))

    def _survey_function(self, function: types.FunctionType) -> None:
        if _is_trusted_function(function):
            self.leads_out = self.leads_out or not calculates(function)
            return
        name, code, defaults = function.__qualname__, function.__code__, function.__defaults__
        attributes = vars(function)
        self._is_as_before.append(
            (f"the code of {name}", lambda: function.__code__ is code and function.__defaults__ is defaults)
        )
        for free, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            self._survey_cell(cell, f"the variable `{free}` around {name}")
        for default in defaults or ():
            self._survey(default, f"a default argument of {name}")
        self._survey_defaults(function, f"a default argument of {name}")
        count = len(attributes)
        self._is_as_before.append((f"an attribute of {name}", lambda: len(attributes) == count))
        for attribute in attributes:
            if attribute != "__wrapped__":
                self._watch(attributes, attribute, f"the attribute `{attribute}` of {name}")
        self._survey_code(code, function.__globals__, name)

    def _survey_defaults(self, function: types.FunctionType, place: Place) -> None:
        known = function.__kwdefaults__
        if known is not None:
            for name in known:
                self._watch(known, name, place)
        self._is_as_before.append((place, lambda: function.__kwdefaults__ is known))

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
        self.leads_out = self.leads_out or not _LEADING_OUT.isdisjoint(code.co_names) or _imports(code)
        if "datetime64" in code.co_names and not {"now", "today"}.isdisjoint(code.co_consts):
            raise Opaque(f"{name} reads the clock (np.datetime64)")
        for named in sorted(_global_names(code)):
            self._watch(namespace, named, f"the global `{named}` read by {name}")
        for module in _imported(code, namespace):
            self._survey(module, name)
        stored = _stored_names(code)
        for named in (*code.co_names, *stored):
            self._attributes[named] = self._attributes.get(named, False) or named in stored

    def _survey_modules(self) -> None:
        """Watch the names in modules that the code reads as attributes, of whatever."""
        looked: set[tuple[int, str, bool]] = set()
        while (
            new := {(at, named, stored) for at in self._modules for named, stored in self._attributes.items()} - looked
        ):
            looked |= new
            for at, named, stored in sorted(new, key=lambda one: (self._modules[one[0]].__name__, one[1])):
                self._survey_name(self._modules[at], named, is_stored=stored)

    def _survey_name(self, module: types.ModuleType, named: str, *, is_stored: bool) -> None:
        names = vars(module)
        place = f"`{module.__name__}.{named}`"
        if is_trusted(module.__name__):
            self.leads_out = self.leads_out or not calculates(module)
            if is_stored:
                self._names.setdefault(id(names), (names, {}))[1][named] = names.get(named, _MISSING), place
        else:
            if named in names or is_stored:
                self._watch(names, named, place)
            if "__getattr__" in names:
                self._watch(names, "__getattr__", place)

    def _survey_class(self, kind: type) -> None:
        if not _is_trusted_class(type(kind)):
            self._survey(type(kind), kind.__qualname__)
        for base in kind.__mro__:
            if _is_trusted_class(base):
                self.leads_out = self.leads_out or not calculates(base)
            else:
                self._seen[id(base)] = base
                self.classes.append(base)
                for named in sorted(_own_names(base)):
                    self._watch(base.__dict__, named, f"the attribute `{named}` of {base.__qualname__}", base)
                self._watch_for_more(base, _own_names(base))

    def _watch_for_more(self, kind: type, known: set[str]) -> None:
        count = len(vars(kind))
        place = f"an attribute of {kind.__qualname__}"
        self._is_as_before.append((place, lambda: len(vars(kind)) == count or _own_names(kind) == known))

    def _watch(self, namespace: Mapping[str, Any], name: str, place: Place, owner: type | None = None) -> None:
        """Watch one name, and what it stands for. The namespace of a class is known by the class."""
        names = self._names.setdefault(id(owner or namespace), (namespace, {}))[1]
        if name not in names:
            known = namespace.get(name, _MISSING)
            names[name] = (known, place)
            if known is not _MISSING:
                self._survey(known, place)


def _own_names(kind: type) -> set[str]:
    """The names in a class, without those that Python keeps for itself."""
    return {name for name, held in vars(kind).items() if name not in _OF_PYTHON and not isinstance(held, _SLOTS)}


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
    names = _names_of(
        code, "LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "STORE_GLOBAL", "DELETE_GLOBAL", "STORE_NAME"
    )
    return names | _names_in_strings(code) if "globals" in code.co_names else names


def _names_in_strings(code: types.CodeType) -> set[str]:
    """Names that code may look up by a string of its own."""
    if _BY_STRING.isdisjoint(code.co_names):
        return set()
    return {const for const in code.co_consts if type(const) is str and const.isidentifier()}


def _stored_names(code: types.CodeType) -> set[str]:
    """Names of attributes that code sets or deletes."""
    return _names_of(code, "STORE_ATTR", "DELETE_ATTR") | _names_in_strings(code)


def _imported(code: types.CodeType, namespace: dict[str, Any]) -> Iterator[types.ModuleType]:
    """The modules that code imports or looks up when it runs."""
    names = {one.partition(".")[0] for one in _names_of(code, "IMPORT_NAME")} | _names_of(code, "IMPORT_NAME")
    if not {"modules", "import_module", "__import__"}.isdisjoint(code.co_names):
        names |= {const for const in code.co_consts if type(const) is str and const in sys.modules}
    parts = _names_of(code, "IMPORT_FROM")
    for name in names | {f"{name}.{part}" for name in names for part in parts}:
        for whole in (name, f"{namespace.get('__package__')}.{name}"):
            if whole not in sys.modules and not is_trusted(whole) and whole == name:
                with contextlib.suppress(ImportError, ValueError):
                    importlib.import_module(whole)
            if isinstance(sys.modules.get(whole), types.ModuleType):
                yield sys.modules[whole]


def _imports(code: types.CodeType) -> bool:
    """Whether code imports a module that may ask the system, or one that is not known."""
    return any(name.partition(".")[0] not in _CALCULATING for name in _names_of(code, "IMPORT_NAME"))


def is_immutable(value: Any) -> bool:
    """Whether a value can never change, and holds nothing that can."""
    kind = type(value)
    if kind is tuple or kind is frozenset:
        return all(map(is_immutable, value))
    if kind in _PLAIN or kind is types.CodeType:
        return True
    return isinstance(value, np.generic) and kind.__module__ == "numpy" and not value.dtype.hasobject


def _same(value: Any, known: Any) -> bool:
    """Whether a new object under an old name cannot be told from the one before."""
    try:
        return Keys().key(value) == Keys().key(known)
    except Opaque:
        return False


class _Content:
    """A mutable object, or what a cache holds, as it was when it was first looked at.

    What an object has computed and kept (`functools.cached_property`, `functools.lru_cache`) may appear later, but
    must not change from then on.
    """

    def __init__(self, value: Any) -> None:
        self._value = value
        self._computed: dict[int, tuple[Any, Hashable]] = {}
        self._key, self._kept = self._read()

    def is_as_before(self) -> bool:
        try:
            return self._read()[0] == self._key and all(
                Keys(with_caches=False).key(value) == key for value, key in self._computed.values()
            )
        except Opaque:
            return False

    def _read(self) -> tuple[Hashable, Keys]:
        keys = Keys(with_caches=False)
        key = keys.key(self._value)
        for value in keys.computed:
            if id(value) not in self._computed and not is_immutable(value):
                self._computed[id(value)] = value, Keys(with_caches=False).key(value)
        return key, keys


class _Cache:
    """The mutable results that a `functools.lru_cache` holds, each as it was when it was first seen."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache
        self._misses = -1
        self._results: dict[int, _Content] = {}
        self.is_as_before()

    def is_as_before(self) -> bool:
        if not all(content.is_as_before() for content in self._results.values()):
            return False
        misses = self._cache.cache_info().misses
        if misses != self._misses:
            self._misses = misses
            for result in _results(self._cache):
                if id(result) not in self._results and not is_immutable(result):
                    try:
                        self._results[id(result)] = _Content(result)
                    except Opaque:
                        return False
        return True


def _results(cache: Any) -> Iterator[Any]:
    """What a `functools.lru_cache` has returned and kept."""
    parts = gc.get_referents(cache)
    for part, following in itertools.pairwise(parts):
        if getattr(following, "__name__", "") == "_lru_list_elem" and type(part) is not object:
            yield part
    for part in parts:
        if type(part) is dict and part is not vars(cache):
            yield from (held for held in part.values() if type(held).__name__ != "_lru_list_elem")


class CallKeys:
    """Gives keys to calls; the keys of plain functions are read once."""

    def __init__(self) -> None:
        self._plain: dict[int, tuple[Any, types.CodeType, Hashable, list[Any]]] = {}

    def key(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Hashable, Keys]:
        """What distinguishes a call: the function, its arguments and the settings under which it runs.

        Returns:
            The key, and what belongs to it. As long as the key is in use that must be kept: it is known by its place
            in memory.

        Raises:
            Opaque: part of it cannot be read.
        """
        keys = Keys()
        known = self._plain.get(id(function))
        if known is not None and function.__code__ is known[1] and _is_plain(function):
            head = known[2]
            keys.met += known[3]
        else:
            head = keys.key(function)
            if _is_plain(function):
                self._plain[id(function)] = function, function.__code__, head, list(keys.met)
        return (head, tuple(map(keys.key, arguments)), ambient()), keys


def _is_plain(function: Any) -> bool:
    """Whether a function is nothing but its code, in its module."""
    return (
        type(function) is types.FunctionType
        and function.__closure__ is None
        and function.__defaults__ is None
        and not function.__kwdefaults__
        and not function.__dict__
    )

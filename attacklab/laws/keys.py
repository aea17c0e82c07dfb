"""Keys of values, functions and calls: equal keys mean that no code can tell two apart.

A called sampler, or a round of a rejection loop, has one law as long as it is one function. So its law is kept under a
key of all that the function is made of: its code, defaults, closure and bound object, and its arguments by type and
bits. What its code names elsewhere does not belong to the key; see `state`.
"""

from __future__ import annotations

import contextvars
import enum
import functools
import io
import logging
import pickle
import threading
import types
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np

from attacklab.laws.code_names import LEADING_OUT
from attacklab.laws.outcomes import MPFR, MPQ, MPZ, tag
from attacklab.laws.settings import ambient, settings_of
from attacklab.laws.trust import calculates, is_own, is_shared_randomness, is_trusted_class, is_trusted_function
from attacklab.laws.uniform import UniformInteger

_LOCKS = (type(threading.Lock()), type(threading.RLock()))


_CONTEXT = type(gmpy2.get_context())


_SEQUENCES = (list, tuple, deque)


#: Types whose values never change, and are told apart by type and bits.
_PLAIN = frozenset({int, bool, str, bytes, type(None), float, complex, Fraction, Decimal, MPZ, MPQ, MPFR})


_OF_LOGGERS = frozenset(vars(logging.Logger("")))


SLOTS = (
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
)


class Opaque(Exception):
    """An object cannot be compared with what it was; the message says which."""


class Keys:
    """Gives keys to values: equal keys mean that no code can tell the values apart, except by their place in memory.

    Functions and classes that belong to a key are listed in `met`: what they name in their modules does not
    belong to the key, and has to be watched.

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
            self.leads_out = self.leads_out or not calculates(value) or value.__name__ in LEADING_OUT
            owner = value.__self__
            return (
                kind,
                value.__name__,
                None if owner is None or isinstance(owner, types.ModuleType) else self.key(owner),
            )
        if isinstance(value, type):
            self.leads_out = self.leads_out or (is_trusted_class(value) and not calculates(value))
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
            return kind, settings_of(value)
        if kind in _LOCKS:
            return "a lock", id(value), repr(value).rpartition(" at ")[0]
        if isinstance(value, logging.Logger):
            return self._logger(value)
        if is_shared_randomness(value):
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
        if isinstance(value, (np.ufunc, types.GenericAlias, *SLOTS)):
            return kind, id(value)
        if is_own(kind):
            found = self._instance(value)
            holds_nothing = found[2:] == (None, (), ())  # it may be a sentinel, which code compares by `is`
            return (*found, id(value)) if holds_nothing else found
        return self._pickled(value)

    def _owner(self, value: Any) -> Hashable:
        """The object to which a method is bound. If it holds nothing, it is like any other of its class."""
        return self._instance(value) if is_own(type(value)) and id(value) not in self._places else self.key(value)

    def _logger(self, logger: logging.Logger) -> Hashable:
        own = [handler for handler in logger.handlers if not is_trusted_class(type(handler))]
        more = {name: held for name, held in vars(logger).items() if name not in _OF_LOGGERS}
        level = logger.getEffectiveLevel(), logger.disabled, logger.propagate, logger.manager.disable
        return "a logger", id(logger), level, logger.level, *self._keys((logger.filters, own, more))

    def _function(self, function: types.FunctionType) -> Hashable:
        self.leads_out = self.leads_out or (is_trusted_function(function) and not calculates(function))
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
        for builtin in _BUILTIN:
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
            if part is value or not (isinstance(part, _NAMED) or is_own(type(part))):
                return None
            named.append(self.key(part))
            return len(named)

        try:
            _Naming(stream, name).dump(value)
        except Opaque:
            raise
        except Exception as error:
            raise Opaque(f"a {type(value).__module__}.{type(value).__qualname__}".replace("builtins.", "")) from error
        return "pickled", self.key(type(value)), stream.getvalue(), tuple(named)


class _Naming(pickle.Pickler):
    """Pickles the parts that a function gives a number for as that number."""

    def __init__(self, stream: io.BytesIO, name: Callable[[Any], int | None]) -> None:
        super().__init__(stream, protocol=4)
        self._name = name

    def persistent_id(self, part: Any) -> int | None:
        return self._name(part)


_BUILTIN = (int, float, str, bytes, tuple, list, dict, set, frozenset)


_NAMED = (types.FunctionType, types.MethodType, types.ModuleType, type)


def has_more_than_attributes(kind: type) -> bool:
    """Whether objects of a class hold more than their attributes and their slots."""
    return issubclass(kind, _BUILTIN) or _holds_more(kind, object)


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
    for member in slots_of(type(value)):
        try:
            yield member.__name__, member.__get__(value)
        except AttributeError:
            continue


def slots_of(kind: type) -> tuple[types.MemberDescriptorType, ...]:
    """The slots of a class and of its bases."""
    entries = (member for base in kind.__mro__ for member in vars(base).values())
    return tuple(member for member in entries if isinstance(member, types.MemberDescriptorType))


def _is_computed(kind: type, name: str) -> bool:
    entry = next((base.__dict__[name] for base in kind.__mro__ if name in base.__dict__), None)
    return isinstance(entry, functools.cached_property)


def is_immutable(value: Any) -> bool:
    """Whether a value can never change, and holds nothing that can."""
    kind = type(value)
    if kind is tuple or kind is frozenset:
        return all(map(is_immutable, value))
    if kind in _PLAIN or kind is types.CodeType:
        return True
    return isinstance(value, np.generic) and kind.__module__ == "numpy" and not value.dtype.hasobject


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

"""Snapshots: what a function is made of and what it is given, as bytes that are equal as long as nothing changes.

A called sampler, or a round of a rejection loop, has one law as long as it is one function of the same arguments. So
its law is kept under a snapshot of its code, closure, defaults, attributes and arguments. What its code names in
modules is not part of the snapshot; see `watched_names`.

Objects are pickled, by type and bits, with a few rules of our own: functions by what they are made of, the attributes
of an author's own objects whatever their class says of pickling, and classes and modules by identity.
"""

from __future__ import annotations

import builtins
import functools
import gc
import io
import operator
import pickle
import random
import threading
import types
from abc import ABC
from collections import _tuplegetter, deque  # type: ignore[attr-defined]
from collections.abc import Callable, Iterator
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from typing import Any, Generic, Protocol

import gmpy2
import numpy as np

from attacklab.laws.errors import LawError
from attacklab.laws.outcomes import MPFR, MPQ, MPZ, tag
from attacklab.laws.settings import settings_of
from attacklab.laws.trusted_code import is_own, is_trusted, leads_out
from attacklab.laws.uniform import UniformInteger

_PLAIN = frozenset({int, bool, str, bytes, type(None), float, complex, Fraction, Decimal, MPZ, MPQ, MPFR})
"""Types of values that never change, and are told apart by type and bits."""

_LOCKS = (type(threading.Lock()), type(threading.RLock()))

_CONTEXT = type(gmpy2.get_context())

_DESCRIPTORS = (property, staticmethod, classmethod, functools.cached_property)

SLOTS = (
    _tuplegetter,
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
)

_BY_IDENTITY = (type, types.ModuleType, types.GenericAlias, *SLOTS)


_ASIDE = (
    type, types.ModuleType, types.CodeType, types.BuiltinFunctionType, types.GenericAlias, functools._lru_cache_wrapper,
    np.ufunc, range, *_LOCKS, *SLOTS,
)  # fmt: skip
"""What holds nothing that counts as changed."""

_SHOWN = frozenset({list, dict, set, deque, tuple, frozenset})
_WITHOUT_CONTENT = _SHOWN | {object, Generic, Protocol, ABC, Enum, IntEnum, int, float, str, bytes}
"""Classes whose objects hold attributes, things that the garbage collector sees, and values that cannot change."""


class CannotCompare(Exception):
    """An object cannot be compared with what it was; the message says why."""


class Snapshot:
    """What some objects hold at this moment.

    Args:
        parts: the objects, each with what messages call it.

    Attributes:
        content: equal bytes mean that no code can tell the objects apart, except by their place in memory.
        met: functions, classes and modules in it: what they name in their modules is not part of the content.
        caches: caches (`functools.lru_cache`) in it, whose entries are not part of the content.
        leads_out: whether something was met that may ask the system.
        computed: what objects have computed once and kept (`functools.cached_property`), which is not part of the
            content: it may appear later.

    Raises:
        CannotCompare: an object cannot be read.
    """

    def __init__(self, parts: Iterator[tuple[str, Any]] | list[tuple[str, Any]]) -> None:
        stream = io.BytesIO()
        reader = _Reader(stream)
        self._ends: list[tuple[str, int]] = []
        for place, value in parts:
            try:
                reader.dump(value)
            except CannotCompare as error:
                raise CannotCompare(f"{place} holds {error}") from error
            except LawError:  # a draw of another run, say
                raise
            except RecursionError as error:
                raise CannotCompare(f"{place} holds objects that lie too deep in each other") from error
            except Exception as error:  # whatever an object's class raises
                raise CannotCompare(f"{place} holds something that cannot be pickled ({error})") from error
            self._ends.append((place, stream.tell()))
        self.content = stream.getvalue()
        self.met, self.caches, self.leads_out = reader.met, reader.caches, reader.leads_out
        self.computed = [value for value in reader.computed if not is_immutable(value)]
        self._kept = reader  # its content names objects by their places in memory

    def place_changed(self, now: Snapshot) -> str:
        """The first part that differs in a later snapshot of the same parts."""
        begin = 0
        for place, end in self._ends:
            if now.content[begin:end] != self.content[begin:end]:
                return place
            begin = end
        return self._ends[-1][0]


def call_parts(function: Callable[..., Any], arguments: tuple[Any, ...], name: str) -> Iterator[tuple[str, Any]]:
    """What a call depends on: first what the function holds, one by one, then all of it, and the arguments."""
    inner = function
    while isinstance(inner, functools.partial | types.MethodType):
        if isinstance(inner, types.MethodType) and is_own(type(inner.__self__)):
            for attribute, held in instance_attributes(inner.__self__):
                yield f"the attribute `{attribute}` of {type(inner.__self__).__qualname__}", held
        inner = inner.func if isinstance(inner, functools.partial) else inner.__func__
    if isinstance(inner, types.FunctionType):
        yield from function_parts(inner)
    yield f"what {name} holds", function
    for number, argument in enumerate(arguments, 1):
        yield f"argument {number} of {name}", argument


def function_parts(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """What a function holds besides its code."""
    name = function.__qualname__
    for free, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield f"the variable `{free}` around {name}", _content(cell)
    for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        yield f"a default argument of {name}", default
    for attribute, held in vars(function).items():
        if attribute != "__wrapped__":
            yield f"the attribute `{attribute}` of {name}", held


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _held  # it is empty; nothing else is this function


def instance_attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """The attributes that an object holds, but for what `functools.cached_property` has computed and kept."""
    kind = type(value)
    for name, held in getattr(value, "__dict__", {}).items():
        if not is_computed(kind, name):
            yield name, held
    for base in kind.__mro__:
        for name, member in vars(base).items():
            if isinstance(member, types.MemberDescriptorType) and hasattr(value, name):
                yield name, member.__get__(value)


def is_computed(kind: type, name: str) -> bool:
    """Whether an attribute is what a `functools.cached_property` has computed and kept."""
    return isinstance(getattr(kind, name, None), functools.cached_property)


def is_immutable(value: Any) -> bool:
    """Whether a value can never change, and holds nothing that can."""
    kind = type(value)
    if kind is tuple or kind is frozenset:
        return all(map(is_immutable, value))
    return kind in _PLAIN or (isinstance(value, np.generic) and not value.dtype.hasobject)


def is_plain(value: Any) -> bool:
    """Whether a function is nothing but its code, in its module; or a method's descriptor holds such functions."""
    if isinstance(value, _DESCRIPTORS):
        return all(is_plain(part) for part in gc.get_referents(value) if isinstance(part, types.FunctionType))
    return isinstance(value, types.FunctionType) and not (
        value.__closure__ or value.__defaults__ or value.__kwdefaults__ or vars(value)
    )


def _held(*parts: Any) -> None:
    """Stands in the pickles for what would rebuild an object; nobody loads them."""


class Unchanged:
    """Tells whether some objects are as they were when this was made.

    The very objects that they held are compared first, which is quick; where they differ, or where an object does not
    show all that it holds, snapshots decide.

    Args:
        parts: gives the objects, each with what messages call it.
        values: gives the objects that stand under names, quickly: others may come in their places.

    Raises:
        CannotCompare: an object cannot be read.
    """

    def __init__(self, parts: Callable[[], list[tuple[str, Any]]], values: Callable[[], list[Any]] = list) -> None:
        self._parts, self._values = parts, values
        self.before, self._first = Snapshot(parts()), values()
        self._computed: dict[int, Unchanged] = {}
        self._note_computed(self.before)
        self._held = self._held_now(parts())

    def place_changed(self) -> str | None:
        """The first part that differs; None if nothing does."""
        is_same = all(map(operator.is_, self._values(), self._first))
        if is_same and self._held is not None and all(_holds(container, known) for container, known in self._held):
            return None
        parts = self._parts()
        try:
            now = Snapshot(parts)
        except CannotCompare as error:
            return str(error).partition(" holds ")[0]
        if now.content != self.before.content:
            return self.before.place_changed(now)
        self._note_computed(now)
        if any(kept.place_changed() for kept in self._computed.values()):
            return "what a cached_property has kept"
        self._first = self._values()
        if self._held is not None:
            self._held = self._held_now(parts)
        return None

    def _held_now(self, parts: list[tuple[str, Any]]) -> list[tuple[Any, list[Any]]] | None:
        """What is compared quickly; of a plain function under a name, which of them it is suffices."""
        return _held_objects([value for _, value in parts if not (self._first and is_plain(value))])

    def _note_computed(self, now: Snapshot) -> None:
        for value in now.computed:
            if id(value) not in self._computed:
                self._computed[id(value)] = Unchanged(lambda value=value: [("a cached_property", value)])  # type: ignore[misc]


_SHOWING = _SHOWN | {
    types.FunctionType, types.MethodType, types.CellType, functools.partial, *_DESCRIPTORS,
}  # fmt: skip
"""Types of which the garbage collector sees all that they hold."""


def _held_objects(values: list[Any]) -> list[tuple[Any, list[Any]]] | None:
    """All objects that can change and are held by some values, with what they hold; None if one does not show that."""
    waiting, seen, held = list(values), {id(vars(builtins))}, []
    while waiting:
        value = waiting.pop()
        kind = type(value)
        if id(value) in seen or is_immutable(value) or isinstance(value, _ASIDE):
            continue
        seen.add(id(value))
        if kind not in _SHOWING and not _has_attributes_alone(kind):
            return None
        parts = gc.get_referents(value)
        held.append((value, parts))
        if isinstance(value, types.FunctionType):
            seen.add(id(value.__globals__))
        waiting += parts
    return held


def shows_all(value: Any) -> bool:
    """Whether the garbage collector sees all that an object holds, so that it is compared quickly."""
    return _held_objects([value]) is not None


def _has_attributes_alone(kind: type) -> bool:
    """Whether objects of a class hold nothing in C but their attributes."""
    return is_own(kind) and all(is_own(base) or base in _WITHOUT_CONTENT for base in kind.__mro__)


def _holds(container: Any, known: list[Any]) -> bool:
    parts = gc.get_referents(container)
    return len(parts) == len(known) and all(map(operator.is_, parts, known))


class _Reader(pickle.Pickler):
    """Pickles objects by what they hold."""

    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream, protocol=5)
        self.met: list[Any] = []
        self.caches: list[Any] = []
        self.kept: list[Any] = []
        self.computed: list[Any] = []
        self.leads_out = False

    def reducer_override(self, value: Any) -> Any:
        """How to write a value that is not of one of the simplest types: what it is, and then what it holds."""
        kind = type(value)
        if value is _held:
            return NotImplemented
        if kind in _PLAIN:
            return _held, (kind.__name__, tag(value)[1])  # type: ignore[index]
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, _BY_IDENTITY):
            self.met += [value, kind] if is_own(kind) else [value]
            return _held, ("the very object", id(value))
        if isinstance(value, types.BuiltinFunctionType):
            self.leads_out = self.leads_out or leads_out(value)
            owner = None if isinstance(value.__self__, types.ModuleType) else value.__self__
            return _held, (value.__module__, value.__name__), (owner,)
        if isinstance(value, types.MethodType):
            return _held, ("method", value.__func__), (self._owner(value.__self__),)
        if isinstance(value, functools._lru_cache_wrapper):
            self.caches.append(value)
            return _held, ("cache", value.__wrapped__)
        if kind is UniformInteger:
            return _held, ("int", int(value))
        if kind is object or kind in _LOCKS or is_shared_randomness(value):
            self.kept.append(value)
            return _held, ("the very object", id(value), "locked" if repr(value).startswith("<locked") else "")
        if kind is _CONTEXT:
            return _held, ("context", settings_of(value))
        if kind in _DESCRIPTORS or kind is types.MappingProxyType:
            return _held, (kind.__name__,), tuple(gc.get_referents(value))
        return self._instance(value) if is_own(kind) else self._foreign(value)

    def _function(self, function: types.FunctionType) -> Any:
        self.met.append(function)
        self.kept.append(function.__code__)
        identity = "function", id(function.__code__), id(function.__globals__)
        if is_trusted(function.__globals__.get("__name__")):
            self.leads_out = self.leads_out or leads_out(function)
        return _held, identity, tuple(held for _, held in function_parts(function))

    def _owner(self, value: Any) -> Any:
        """The object to which a method is bound. If it holds nothing, it is like any other of its class."""
        return type(value) if is_own(type(value)) and not any(instance_attributes(value)) else value

    def _instance(self, value: Any) -> Any:
        """An object of an author's own class: its attributes, and what its built-in base holds."""
        kind = type(value)
        attributes = dict(instance_attributes(value))
        self.computed += [held for name, held in getattr(value, "__dict__", {}).items() if name not in attributes]
        reduced = value.__reduce_ex__(4)
        if isinstance(reduced, str):
            return _held, ("object", kind), attributes
        make, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
        base: Any = make, arguments, None if _is_attributes(state) else state, list(items or ()), list(pairs or ())
        is_sentinel = not attributes and arguments == (kind,) and not items and not pairs
        self.kept.append(value)
        return _held, ("object", kind, id(value) if is_sentinel else 0), (attributes, base)

    def _foreign(self, value: Any) -> Any:
        """An object of a library: its class knows how to pickle it."""
        self.leads_out = self.leads_out or leads_out(type(value))
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            return _held, ("array", value.dtype.str, value.shape, value.flags.writeable, value.tobytes())
        return NotImplemented


def _is_attributes(state: Any) -> bool:
    """Whether the state by which an object is pickled is its attributes alone, which are read without it."""
    return state is None or isinstance(state, dict) or (type(state) is tuple and isinstance(state[-1], dict))


def is_shared_randomness(value: Any) -> bool:
    """Whether a value is a generator of the whole process: its draws are refused, or come from the source of bits."""
    return type(value) is random.SystemRandom or value is vars(random)["_inst"]

"""Whether an object holds the very objects that it held, which is quicker to see than that its key is the same.

What is untouched has the key that it had. What is not may have it nevertheless: then `keys` decides.
"""

from __future__ import annotations

import enum
import functools
import logging
import operator
import types
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.laws.keys import has_more_than_attributes, is_immutable, slots_of
from attacklab.laws.outcomes import MPFR, MPQ, MPZ, tag
from attacklab.laws.trust import is_own

_CONSTANT = frozenset({int, bool, str, bytes, type(None), float, complex, MPZ, MPQ, MPFR, range, types.CodeType})
"""Types of values that never change and hold nothing that does."""


class _Empty:
    """Stands for what a slot does not hold."""


class _CannotSay(Exception):
    """An object is of a kind that only its key can compare."""


def untouched(value: Any) -> Callable[[], bool] | None:
    """What tells whether a value is as it is now; None if only its key can tell."""
    watch = _Watch()
    try:
        watch.add(value)
    except _CannotSay:
        return None
    return watch.is_untouched


class _Watch:
    """What the parts of an object hold."""

    def __init__(self) -> None:
        self._seen: dict[int, Any] = {}
        self._held: list[tuple[Callable[[], Iterable[Any]], tuple[Any, ...]]] = []
        self._read: list[tuple[Callable[[Any], Hashable], Any, Hashable]] = []

    def is_untouched(self) -> bool:
        """Whether every part holds the very objects that it held."""
        for listed, known in self._held:
            now = tuple(listed())
            if len(now) != len(known) or not all(map(operator.is_, now, known)):
                return False
        return all(read(value) == known for read, value, known in self._read)

    def add(self, value: Any) -> None:
        """Watch a value and what it holds.

        Raises:
            _CannotSay: part of it is of another kind.
        """
        kind = type(value)
        if kind in _CONSTANT or issubclass(kind, type | types.ModuleType) or id(value) in self._seen:
            return
        self._seen[id(value)] = value  # kept, lest its place in memory be used again
        if kind is tuple or kind is frozenset:
            for part in value:
                self.add(part)
        elif kind is list or kind is set or kind is deque:
            self._hold(value.__iter__)
        elif kind is dict:
            self._hold(value.keys)
            self._hold(value.values)
        elif kind is Fraction or kind is Decimal or (issubclass(kind, np.generic) and is_immutable(value)):
            self._read.append((tag, value, tag(value)))
        elif kind is np.ndarray and not value.dtype.hasobject:
            self._read.append((_array, value, _array(value)))
        elif kind is functools.partial:
            self._hold(lambda: (value.func, value.args, value.keywords))
        elif kind is types.FunctionType:
            self._hold(lambda: (value.__code__, value.__defaults__, value.__kwdefaults__, value.__dict__))
            for cell in value.__closure__ or ():
                self._hold(functools.partial(_content, cell))
        elif kind is types.MethodType:
            self.add(value.__func__)
            self.add(value.__self__)
        elif kind is types.BuiltinFunctionType:
            self.add(value.__self__)
        elif kind is property:
            self._hold(lambda: (value.fget, value.fset, value.fdel))
        elif kind is staticmethod or kind is classmethod:
            self._hold(lambda: (value.__func__,))
        elif kind is functools.cached_property:
            self._hold(lambda: (value.func,))
        elif issubclass(kind, enum.Enum) or _holds_attributes_alone(kind):
            self._hold(functools.partial(_attributes, value, slots_of(kind)))
        else:
            raise _CannotSay

    def _hold(self, listed: Callable[[], Iterable[Any]]) -> None:
        known = tuple(listed())
        self._held.append((listed, known))
        for part in known:
            self.add(part)


def _content(cell: types.CellType) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def _array(value: NDArray[Any]) -> Hashable:
    return value.dtype.str, value.shape, value.strides, value.flags.writeable, value.tobytes()


def _holds_attributes_alone(kind: type) -> bool:
    """Whether a class is the sampler's own, and its objects hold nothing but attributes."""
    return is_own(kind) and not issubclass(kind, logging.Logger) and not has_more_than_attributes(kind)


def _attributes(value: Any, slots: tuple[types.MemberDescriptorType, ...]) -> Iterator[Any]:
    yield type(value)
    yield getattr(value, "__dict__", None)
    for slot in slots:
        try:
            yield slot.__get__(value)
        except AttributeError:
            yield _Empty

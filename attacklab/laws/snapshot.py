"""The state of a sampler and of its arguments, as bytes that are equal as long as nothing changes.

Objects are pickled by type and bits. Functions count as their code, closure, defaults and attributes, an author's own
classes as their attributes, and other classes and modules as themselves. What cannot be pickled cannot be compared.
"""

from __future__ import annotations

import dataclasses
import functools
import gc
import inspect
import io
import pickle
import sys
import sysconfig
import types
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from attacklab.laws.outcomes import MPFR, MPQ, MPZ, tag

_PLAIN = frozenset({int, bool, str, bytes, type(None), float, complex, range, Fraction, Decimal, MPZ, MPQ, MPFR})
_LIBRARIES = frozenset({*sys.stdlib_module_names, "numpy", "scipy", "gmpy2", "typing_extensions", "hypothesis"}) - {
    "__main__"
}
INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
_WRAPPING = (
    property, staticmethod, classmethod, functools.cached_property, types.MappingProxyType, types.CellType,
)  # fmt: skip
_BY_IDENTITY = (
    types.ModuleType, types.CodeType, types.GenericAlias, types.MemberDescriptorType, types.GetSetDescriptorType,
    types.WrapperDescriptorType, types.MethodDescriptorType,
)  # fmt: skip


class CannotCompare(Exception):
    """An object cannot be compared with what it was; the message says why."""


def is_library(module: Any) -> bool:
    """Whether a module belongs to Python, this package or a library such as numpy, which are taken to keep no state.

    The module of a library must also lie where libraries are installed; the right name is not enough.
    """
    if not isinstance(module, str):
        return False
    if module.partition(".")[0] not in _LIBRARIES:
        return module.startswith("attacklab.")
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return module in sys.modules and (not file or file.startswith(INSTALLED))


def is_fixed(value: Any) -> bool:
    """Whether a value holds nothing that can change."""
    kind = type(value)
    if kind in (tuple, frozenset):
        return all(map(is_fixed, value))
    if kind is types.FunctionType:
        return is_library(value.__module__) or not any(_held_by(value))
    if kind in (types.MethodType, types.BuiltinFunctionType):
        return is_fixed(getattr(value, "__func__", None)) and is_fixed(value.__self__)
    if isinstance(value, type):
        return is_library(value.__module__)
    if dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        return all(is_fixed(getattr(value, field.name, None)) for field in dataclasses.fields(kind))
    if isinstance(value, np.ndarray | np.generic):
        return not value.dtype.hasobject and not getattr(value.flags, "writeable", False)
    return kind in _PLAIN or isinstance(value, (np.ufunc, *_BY_IDENTITY))


def call_parts(function: Callable[..., Any], arguments: tuple[Any, ...], name: str) -> Iterator[tuple[str, Any]]:
    """Yield what a call depends on, each with a description: what the function holds, the function, its arguments."""
    inner = getattr(function, "func", function)
    if isinstance(inner, types.MethodType) and not isinstance(inner.__self__, type):
        for attribute, held in _attributes(inner.__self__).items():
            yield f"the attribute `{attribute}` of {type(inner.__self__).__qualname__}", held
    if isinstance(inner, types.FunctionType):
        for free, cell in zip(inner.__code__.co_freevars, inner.__closure__ or (), strict=True):
            yield f"the variable `{free}` around {inner.__qualname__}", cell
        yield f"a default argument of {inner.__qualname__}", (inner.__defaults__, inner.__kwdefaults__)
    yield f"what {name} holds", function
    for number, argument in enumerate(arguments, 1):
        yield f"argument {number} of {name}", argument


def pickled(place: str, value: Any) -> bytes:
    """Pickle what an object holds now. Keep the object as long as its bytes, which contain addresses in memory.

    Raises:
        CannotCompare: the object cannot be pickled; the message begins with `place`.
    """
    stream = io.BytesIO()
    try:
        _Pickler(stream, protocol=5).dump(value)
    except RecursionError as error:
        raise CannotCompare(f"{place} holds objects that are nested too deeply") from error
    except (pickle.PicklingError, TypeError, AttributeError, ValueError, NotImplementedError) as error:
        raise CannotCompare(f"{place} holds something that cannot be pickled ({error})") from error
    return stream.getvalue()


class _Pickler(pickle.Pickler):
    """Pickles objects by value: equal contents give equal bytes."""

    def reducer_override(self, value: Any) -> Any:
        """Return how to pickle a value by type and contents; NotImplemented where the usual way does just that."""
        kind = type(value)
        if value is _written:
            return NotImplemented
        if kind in _PLAIN - {range}:
            return _written, (kind.__name__, tag(value)[1])  # type: ignore[index]
        if isinstance(value, types.FunctionType | type):
            return _defined(value)
        if kind is functools._lru_cache_wrapper:
            return _cached(value)
        if isinstance(value, _BY_IDENTITY) or kind is object:
            return _written, ("the very object", id(value))
        if kind is np.ndarray and not value.dtype.hasobject:  # whatever its layout in memory
            return _written, ("array", value.dtype.str, value.shape, value.tobytes())
        if kind in _WRAPPING:
            return _written, (kind.__name__,), tuple(gc.get_referents(value))
        return _object(value) if _is_own(kind) or kind is types.MethodType else NotImplemented


def _defined(value: types.FunctionType | type) -> Any:
    """Return how to pickle a function or a class."""
    is_plain = is_library(value.__module__)
    if isinstance(value, type):
        return _written, ("class", id(value)), None if is_plain else _attributes_of_class(value)
    return _written, ("function", id(value.__code__)), None if is_plain else _held_by(value)


def _object(value: Any) -> Any:
    """Return how to pickle a bound method, or an object of a user's own class."""
    kind = type(value)
    if kind is types.MethodType:
        is_bare = _is_own(type(value.__self__)) and not _attributes(value.__self__)
        return _written, ("method", value.__func__), (type(value.__self__) if is_bare else value.__self__,)
    reduced = value.__reduce_ex__(4)
    make, arguments, _, items, pairs = (*(reduced if isinstance(reduced, tuple) else ()), *[None] * 5)[:5]
    held, base = _attributes(value), [make, arguments, *map(list, (items or (), pairs or ()))]
    is_sentinel = not held and base[1:] == [(kind,), [], []]
    return _written, ("object", kind, id(value) if is_sentinel else 0), (held, base)


def _cached(value: Any) -> Any:
    """Return how to pickle a cached function. If it has no parameters, its cached value must equal a fresh one."""
    made = value.__wrapped__
    if isinstance(made, types.FunctionType) and not inspect.signature(made).parameters:
        _require_as_computed(f"what {value.__qualname__} returned", value(), made)
    return _written, ("cache", made)


def _require_as_computed(place: str, kept: Any, compute: Callable[[], Any]) -> None:
    """Refuse a kept value that differs from the same value computed anew."""
    if not is_fixed(kept) and pickled(place, kept) != pickled(place, compute()):
        raise CannotCompare(f"{place} holds a cached value that computing it again does not give")


def _written(*parts: Any) -> None:
    """A placeholder in the pickles for the function that would rebuild an object; nobody loads them."""


def _is_own(kind: type) -> bool:
    """Whether a class is an author's own, written in Python."""
    return bool(kind.__flags__ & 1 << 9) and not is_library(kind.__module__)


def _held_by(function: types.FunctionType) -> tuple[Any, ...]:
    """Return what a function holds besides its code: closure, defaults and attributes."""
    attributes = {name: held for name, held in vars(function).items() if name != "__wrapped__"}
    return function.__closure__ or (), function.__defaults__ or (), function.__kwdefaults__ or {}, attributes


def _attributes(value: Any) -> dict[str, Any]:
    """Return the attributes of an object, in slots too, without the values that a `cached_property` has computed."""
    kind, held = type(value), dict(getattr(value, "__dict__", {}))
    for name, member in ((name, member) for base in kind.__mro__ for name, member in vars(base).items()):
        if isinstance(member, functools.cached_property):
            if name in held:
                _require_as_computed(f"`{name}` of {kind.__qualname__}", held.pop(name), partial(member.func, value))
        elif isinstance(member, types.MemberDescriptorType) and hasattr(value, name):
            held[name] = member.__get__(value)
    return held


def _attributes_of_class(kind: type) -> dict[str, Any]:
    """Return what an author's class and its bases hold, except plain methods that hold nothing themselves."""
    return {
        f"{base.__qualname__}.{name}": held
        for base in kind.__mro__
        if _is_own(base)
        for name, held in vars(base).items()
        if not isinstance(held, (*_WRAPPING, *_BY_IDENTITY)) and name not in ("_abc_impl", "__class__")
        if not (is_fixed(held) if isinstance(held, types.FunctionType) else name.startswith("__"))
    }

"""An output taken apart: its numbers, and everything else that its receiver can see, each with its place."""

from __future__ import annotations

import functools
import io
import logging
import math
import random
import re
import sys
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from attacklab.draws import Raised
from attacklab.draws.everywhere import names_held

DEEPEST = 8
LARGEST_ARRAY = 1 << 12
"""An array of more elements is one part: its bytes."""

ROUNDING, ROUNDING_OF_FLOAT32 = 1e-9, 1e-6
"""Numbers x and y count as equal if |x − y| ≤ r·(|x| + |y| + 1) for this r, because sums are rounded."""

NUMBER = re.compile(r"-?\d+\.\d+(?:[eE][-+]?\d+)?")
"""Matches a number with a fraction in a text."""

ADDRESS = re.compile(r" at 0x[0-9a-f]+")

_HOLDS_NO_DATA = (
    *(np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random),
    *(logging.Logger, type(threading.Lock()), type(threading.RLock()), ModuleType),
)
_TYPED = (bool, int, float, str, bytes, list, tuple, dict, type(None), np.ndarray)


@dataclass(frozen=True)
class Parts:
    """The parts of an output.

    Attributes:
        numbers: finite floats and integers, by their place.
        rest: all other parts, and the types of the numbers, in a form that can be compared.
        unseen: the place of a part that can't be looked into; empty if there is none.
        rounding: the relative error that rounding may cause in sums of these numbers.
    """

    numbers: dict[str, float]
    rest: dict[str, Any]
    unseen: str = ""
    rounding: float = ROUNDING

    @property
    def form(self) -> tuple[Any, ...]:
        """The output without the values of its numbers; outputs of the same form differ only in these values."""
        return (tuple(self.numbers), tuple(sorted(self.rest.items(), key=repr)))

    def vector(self) -> np.ndarray[Any, Any]:
        """Return the numbers as an array, in order."""
        return np.array(list(self.numbers.values()), dtype=float)


def parts_of(output: Any) -> Parts:
    """Split an output into its parts."""
    numbers: dict[str, float] = {}
    rest: dict[str, Any] = {}
    unseen, rounding = "", ROUNDING
    for place, value in _leaves(output, "output", 0):
        if isinstance(value, _Unseen):
            unseen = unseen or place
            rest[place] = value.kind
        elif isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
            rest[place] = value
        elif isinstance(value, complex | np.complexfloating) or not _is_finite(value):
            rest[place] = repr(value)
        else:
            numbers[place] = float(value)
            rounding = ROUNDING_OF_FLOAT32 if isinstance(value, np.float32 | np.float16) else rounding
            rest[f"{place}'s type"] = type(value).__name__
    return Parts(numbers, rest, unseen, rounding)


def close(first: Any, second: Any, rounding: float = ROUNDING) -> Any:
    """Whether two numbers (or arrays, element by element) are equal up to rounding."""
    return np.abs(first - second) <= rounding * (np.abs(first) + np.abs(second) + 1.0)


def same(first: Parts, second: Parts) -> bool:
    """Whether two outputs are equal up to rounding."""
    if first.rest != second.rest or first.numbers.keys() != second.numbers.keys():
        return False
    return not first.numbers or bool(np.all(close(first.vector(), second.vector(), first.rounding)))


def rounded(output: Any, grid: float, depth: int = DEEPEST) -> Any:
    """Return an output with its floats rounded to multiples of `grid`. Objects and texts with floats become dicts."""
    if isinstance(output, float | np.floating) and math.isfinite(output):
        return type(output)(round(float(output) / grid) * grid)
    if type(output) is np.ndarray and output.dtype.kind == "f":
        return np.where(np.isfinite(output), np.round(output / grid) * grid, output).astype(output.dtype)
    if depth and type(output) in (list, tuple):
        return type(output)(rounded(value, grid, depth - 1) for value in output)
    if depth and type(output) is dict:
        return {key: rounded(value, grid, depth - 1) for key, value in output.items()}
    return output if _has_no_fraction(output) else _rounded_parts(parts_of(output), grid)


def _has_no_fraction(output: Any) -> bool:
    """Whether an output (not a finite float, not a container) has no number with a fraction, by its type or text."""
    if isinstance(output, str):
        return NUMBER.search(output) is None
    return output is None or isinstance(output, bool | int | float | np.generic | np.ndarray | bytes)


def _rounded_parts(parts: Parts, grid: float) -> dict[str, Any]:
    return {**{place: round(value / grid) * grid for place, value in parts.numbers.items()}, **parts.rest}


@dataclass(frozen=True)
class _Unseen:
    kind: str


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


Leaves = Iterator[tuple[str, Any]]


def _leaves(value: Any, place: str, depth: int) -> Leaves:
    """Yield each part of a value as (place, part). A value that raises when it is read is one `_Unseen` part."""
    try:
        yield from list(_elements(value, place, depth))
        if not isinstance(value, type) and (type(value) not in _TYPED or hasattr(value, "__dict__")):
            yield from list(_carried(value, place, depth))
    except Exception:  # whatever somebody's class raises
        yield place, _Unseen(type(value).__name__)


def _elements(value: Any, place: str, depth: int) -> Leaves:
    if value is None or isinstance(value, bool | int | float | np.number | np.bool_ | bytes):
        yield place, value
    elif isinstance(value, Raised):
        yield f"{place} raised", value.kind
        yield from _text(ADDRESS.sub("", value.message), f"{place}'s message")
    elif isinstance(value, str):
        yield from _text(value, place)
    elif depth >= DEEPEST:
        yield place, _Unseen(type(value).__name__)
    elif isinstance(value, Mapping | list | tuple | deque | set | frozenset):
        yield from _in_container(value, place, depth)
    elif isinstance(value, np.ndarray):
        yield from _in_array(value, place, depth)
    else:
        yield from _in_object(value, place, depth)


def _text(text: str, place: str) -> Leaves:
    yield place, NUMBER.sub("#", text)
    for at, number in enumerate(NUMBER.findall(text)):
        yield f"{place} number {at}", float(number)


def _in_container(value: Any, place: str, depth: int) -> Leaves:
    yield f"{place}'s type", type(value).__name__
    if isinstance(value, Mapping):
        yield f"{place}'s keys", tuple(map(repr, value))
        pairs = [(f"{place}[{key!r}]", inner) for key, inner in value.items()]
    elif isinstance(value, set | frozenset):
        yield place, tuple(sorted(map(repr, value)))
        return
    else:
        yield f"{place}'s length", str(len(value))
        pairs = [(f"{place}[{at}]", inner) for at, inner in enumerate(value)]
    for where, inner in pairs:
        yield from _leaves(inner, where, depth + 1)


def _in_array(value: Any, place: str, depth: int) -> Leaves:
    yield f"{place}'s shape", str((value.shape, value.dtype, type(value).__name__))
    if isinstance(value, np.ma.MaskedArray):
        value = value.filled(0)  # its mask is among its attributes
    if value.size > LARGEST_ARRAY:
        yield place, value.tobytes()
        return
    for index in np.ndindex(value.shape):
        yield from _leaves(value[index], f"{place}[{', '.join(map(str, index))}]", depth + 1)


def _in_object(value: Any, place: str, depth: int) -> Leaves:
    """Yield the parts of an object, read as an array, a buffer or a partial function, or else by its name or text."""
    if hasattr(value, "detach") and hasattr(value, "numpy"):
        yield from _leaves(value.detach().cpu().numpy(), place, depth + 1)
    elif hasattr(value, "to_numpy") and hasattr(value, "index"):
        yield from _leaves((list(value.index), list(getattr(value, "columns", ()))), f"{place}'s labels", depth + 1)
        yield from _leaves(value.to_numpy(), place, depth + 1)
    elif isinstance(value, memoryview | bytearray):
        yield place, bytes(value)
    elif isinstance(value, io.BytesIO | io.StringIO):
        yield from _leaves(value.getvalue(), place, depth)
    elif isinstance(value, functools.partial):
        yield from _leaves((value.func, value.args, value.keywords), place, depth + 1)
    else:
        yield from _by_name(value, place)


def _by_name(value: Any, place: str) -> Leaves:
    """Yield the name, the type or the text by which an object that is not a container is compared."""
    if isinstance(value, _HOLDS_NO_DATA):
        yield place, type(value).__name__
    elif isinstance(value, type) or callable(value):
        yield place, value.__qualname__ if _is_found_by_name(value) else _Unseen(type(value).__name__)
    elif _attributes(value):
        yield f"{place}'s type", type(value).__name__
    elif isinstance(value, Iterator | io.IOBase) or ADDRESS.search(repr(value)):
        yield place, _Unseen(type(value).__name__)
    else:
        yield f"{place}'s type", type(value).__name__
        yield from _text(repr(value), place)


def _carried(value: Any, place: str, depth: int) -> Leaves:
    """Yield the parts of an object's attributes, and of a mapping's `default_factory`."""
    if isinstance(value, _HOLDS_NO_DATA) or callable(value) or depth >= DEEPEST or hasattr(value, "detach"):
        return
    default = getattr(value, "default_factory", None)
    if default is not None and isinstance(value, Mapping):
        yield from _leaves(default, f"{place}'s default", depth + 1)
    if hasattr(value, "to_numpy"):
        return
    for name in _attributes(value):
        yield from _leaves(getattr(value, name), f"{place}.{name}", depth + 1)


def _is_found_by_name(value: Any) -> bool:
    """Whether a function or class is found under its module and name, so that it is the same in every run."""
    found: Any = sys.modules.get(getattr(value, "__module__", None) or "builtins")
    for name in getattr(value, "__qualname__", "").split("."):
        found = getattr(found, name, None)
    return found is value


def _attributes(value: Any) -> list[str]:
    """Return the names of the attributes in an object's dictionary and slots."""
    return [name for name in names_held(value) if name in getattr(value, "__dict__", ()) or hasattr(value, name)]

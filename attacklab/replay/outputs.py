"""An output taken apart: every number and word that somebody who receives it can see, each with its place in it."""

from __future__ import annotations

import dataclasses
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
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from attacklab.replay.session import Affine
from attacklab.replay.traced import Traced, TracedArray, plain

LARGEST_ARRAY = 1 << 16
DEEPEST = 8
NUMBER = re.compile(r"-?\d+\.\d+(?:[eE][-+]?\d+)?")
"""A number in a text that is an output, with a fraction."""

LONGEST_INTEGER = 1023
"""An integer with more bits is beyond any double, and soon beyond what Python writes in decimals."""

OPAQUE = "opaque"
"""Begins the value of a part that cannot be looked into."""

SINGLE = (bool, int, float, bytes, type(None), np.bool_, np.int64, np.float64)
"""Values without parts, which most are."""

HOLDS_NO_DATA = (
    *(np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random),
    *(logging.Logger, type(threading.Lock()), type(threading.RLock()), ModuleType),
)

ADDRESS = re.compile(r" at 0x[0-9a-f]+")

HAVE_ELEMENTS = (Mapping, list, tuple, deque, set, frozenset, np.ndarray, str, bytes, int, float)
"""What is read by its elements, or is a value; where it is of a class of its own, it may hold attributes as well."""

BESIDES, OF_TYPE = ("attrs", "default_factory", "dtype", "grad", "name", "names"), ("categories", "ordered")
"""What tables, arrays, tensors and mappings carry besides their elements, and the type of those, if classes have it."""

OF_TRACED = ("tag", "session")


@dataclasses.dataclass(frozen=True)
class Raised:
    """What stands for the output of a run that raised.

    Attributes:
        kind: the name of the exception's type.
        message: what it said.
    """

    kind: str
    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class Leaf:
    """A part of an output.

    Attributes:
        path: where it is.
        value: what it is, as something that can be compared.
        tag: the draw that it is known to be made of.
    """

    path: str
    value: Any
    tag: Affine | None = None


def leaves(output: Any, most: int | None = None) -> list[Leaf]:
    """The parts of an output, in order; at most so many."""
    return _parts(output, "output", 0)[:most]


def differences(first: Any, second: Any) -> list[tuple[Leaf | None, Leaf | None]]:
    """The parts in which two outputs differ; a part that only one of them has stands alone."""
    one, other = leaves(first), leaves(second)
    if [leaf.path for leaf in one] == [leaf.path for leaf in other]:
        return [(a, b) for a, b in zip(one, other, strict=True) if a.value != b.value]
    by_path = {leaf.path: leaf for leaf in one}, {leaf.path: leaf for leaf in other}
    paths = dict.fromkeys([*by_path[0], *by_path[1]])
    sides = [(by_path[0].get(path), by_path[1].get(path)) for path in paths]
    return [(a, b) for a, b in sides if a is None or b is None or a.value != b.value]


def _parts(value: Any, path: str, depth: int) -> list[Leaf]:
    """The parts of a value; one whose own code raises where it is read is one that cannot be looked into."""
    try:
        parts = [*_elements(value, path, depth)]
        if type(value) not in (*SINGLE, str, dict, list, tuple, set) and depth < DEEPEST:
            parts += _carried(value, path, depth)
    except Exception:  # whatever somebody's class raises
        return [Leaf(path, (OPAQUE, type(value).__name__))]
    return parts


def _carried(value: Any, path: str, depth: int) -> Iterator[Leaf]:
    """What an object that is read by its elements, or as a number, carries besides."""
    is_array = hasattr(type(value), "__array__") and not isinstance(value, np.generic)
    for name in BESIDES if is_array or isinstance(value, Mapping) else ():
        if hasattr(type(value), name) and (name != "grad" or value.is_leaf):
            held = getattr(value, name)
            yield from _parts(str(held) if name == "dtype" else held, f"{path}.{name}", depth + 1)
            for of_type in OF_TYPE if name == "dtype" else ():
                yield from _parts(getattr(held, of_type, None), f"{path}.dtype.{of_type}", depth + 1)
    if isinstance(value, HAVE_ELEMENTS) or hasattr(value, "detach"):
        for name, held in getattr(value, "__dict__", {}).items():
            if name not in OF_TRACED:
                yield from _parts(held, f"{path}.{name}", depth + 1)


def _elements(value: Any, path: str, depth: int) -> Iterator[Leaf]:
    if type(value) in SINGLE:
        yield Leaf(path, _comparable(value))
    elif hasattr(value, "to_array") and depth <= DEEPEST:
        yield from _elements(value.to_array(), path, depth + 1)
    elif isinstance(value, Traced) and value.tag is not None and not isinstance(value, TracedArray):
        yield Leaf(path, _comparable(plain(value)), value.tag)
    elif isinstance(value, np.ndarray) and value.ndim and value.size <= LARGEST_ARRAY and value.dtype.names is None:
        yield Leaf(f"{path}.shape", value.shape)
        tag = value.tag if isinstance(value, TracedArray) and value.tag and value.tag.ids.shape == value.shape else None
        for index in np.ndindex(value.shape):
            inner = plain(value)[index]
            where = f"{path}[{', '.join(map(str, index))}]"
            if value.dtype == object and depth < DEEPEST:
                yield from _parts(inner, where, depth + 1)
            else:
                yield Leaf(where, _comparable(inner), None if tag is None else tag.at(index))
    elif isinstance(value, memoryview | bytearray):
        yield Leaf(path, bytes(value))
    elif depth >= DEEPEST or isinstance(value, np.ndarray):
        is_told = isinstance(value, np.ndarray) or not ADDRESS.search(repr(value))
        yield Leaf(path, _comparable(value) if is_told else (OPAQUE, type(value).__name__))
    elif isinstance(value, Mapping):
        yield Leaf(f"{path}.keys", tuple(map(_comparable, value)))
        for key, inner in value.items():
            yield from _parts(inner, f"{path}[{key!r}]", depth + 1)
    elif isinstance(value, list | tuple | deque):
        yield Leaf(f"{path}.type", "tuple" if isinstance(value, tuple) else type(value).__name__)
        yield Leaf(f"{path}.length", len(value))
        for place, inner in enumerate(value):
            yield from _parts(inner, f"{path}[{place}]", depth + 1)
    elif isinstance(value, set | frozenset):
        yield Leaf(path, tuple(sorted(map(repr, value))))
    elif hasattr(value, "to_numpy") and hasattr(value, "index"):
        yield Leaf(f"{path}.index", tuple(map(_comparable, value.index)))
        yield from _carried(value.index, f"{path}.index", depth)
        columns = getattr(value, "columns", None)
        if columns is None:
            yield from _elements(np.asarray(value.to_numpy()), path, depth + 1)
        else:
            yield Leaf(f"{path}.columns", tuple(map(_comparable, columns)))
            yield from _carried(columns, f"{path}.columns", depth)
            for place, column in enumerate(columns):
                yield from _parts(value.iloc[:, place].array, f"{path}[{column!r}]", depth + 1)
    elif hasattr(value, "detach") and hasattr(value, "numpy"):
        numbers = value.detach()  # numpy has no such short floats
        numbers = numbers.float() if str(numbers.dtype) == "torch.bfloat16" else numbers
        yield from _elements(numbers.numpy(), path, depth + 1)
    elif isinstance(value, Raised):
        yield Leaf(path, ("raised", value.kind))
        yield from _parts(ADDRESS.sub("", value.message), f"{path}.message", depth + 1)
    elif hasattr(type(value), "__array__") and not isinstance(value, np.generic | np.ndarray):
        yield from _elements(np.asarray(value)[()], path, depth + 1)
    elif isinstance(value, io.BytesIO | io.StringIO):
        yield from _parts(value.getvalue(), path, depth)
    elif isinstance(value, functools.partial):
        yield from _parts((value.func, value.args, value.keywords), path, depth)
    elif isinstance(value, HOLDS_NO_DATA):
        yield Leaf(path, type(value).__name__)
    elif isinstance(value, FunctionType) and not (value.__closure__ or value.__defaults__ or value.__kwdefaults__):
        code = value.__code__
        yield Leaf(f"{path}.code", (code.co_code, code.co_names, ADDRESS.sub("", repr(code.co_consts))))
    elif is_opaque(value):
        yield Leaf(path, (OPAQUE, type(value).__name__))
    elif not callable(value) and not isinstance(value, HAVE_ELEMENTS) and (names := _attributes(value)):
        yield Leaf(f"{path}.type", type(value).__name__)
        for name in names:
            yield from _parts(getattr(value, name), f"{path}.{name}", depth + 1)
    elif isinstance(value, str) and NUMBER.search(value):
        yield Leaf(path, NUMBER.sub("#", value))
        for place, number in enumerate(NUMBER.findall(value)):
            yield Leaf(f"{path} number {place}", _comparable(float(number)))
    else:
        yield Leaf(path, _comparable(value))


def is_opaque(value: Any) -> bool:
    """Whether a part of an output holds what nobody can read off it: a closure, a generator, a handle."""
    if isinstance(value, type) or callable(value):
        return not _is_found_by_name(value)
    return isinstance(value, Iterator | io.IOBase) or (not _attributes(value) and bool(ADDRESS.search(repr(value))))


def _is_found_by_name(value: Any) -> bool:
    """Whether a function or a class is the one of its module, and so the same in every run."""
    found: Any = sys.modules.get(getattr(value, "__module__", None) or "builtins")
    for name in getattr(value, "__qualname__", "").split("."):
        found = getattr(found, name, None)
    return found is value


def _attributes(value: Any) -> list[str]:
    """The names of what an object holds, where its text does not tell that."""
    held = getattr(value, "__dict__", None)
    is_told = not dataclasses.is_dataclass(value) and not ADDRESS.search(repr(value))
    return [*(held or ()), *([] if is_told else slots_of(value))]


def slots_of(value: Any) -> list[str]:
    """The names of an object's slots that hold something."""
    declared = [(of.__name__.lstrip("_"), vars(of).get("__slots__", ())) for of in type(value).__mro__]
    slots = [(of, name) for of, names in declared for name in ([names] if isinstance(names, str) else names)]
    private = [f"_{of}{name}" if name.startswith("__") and name[-2:] != "__" else name for of, name in slots]
    return [name for name in private if hasattr(value, name)]


def _comparable(value: Any) -> Any:
    """Something that is equal for equal values only: floats by their bits, −0.0 and 0.0 apart, all NaNs alike."""
    value = plain(value)
    if value is np.ma.masked:
        return ("masked",)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return ("nan",) if value != value else ("float", value.hex())
    if isinstance(value, int) and value.bit_length() > LONGEST_INTEGER:
        return ("integer", hex(value))
    if value is None or isinstance(value, bool | int | str | bytes):
        return value
    if isinstance(value, np.ndarray):
        return (value.shape, repr(value.tolist()) if value.dtype.hasobject else value.tobytes())
    if isinstance(value, tuple):
        return tuple(map(_comparable, value))
    return ADDRESS.sub("", repr(value))


def skeleton(output: Any, *, floats: bool = False) -> list[Any]:
    """An output without the numbers in it that are floats: what is there, and what was decided."""
    return [(leaf.path, leaf.value if floats or not is_float(leaf.value) else "float") for leaf in leaves(output)]


def is_float(value: Any) -> bool:
    """Whether a part's value is a float."""
    return isinstance(value, tuple) and len(value) == 2 and value[0] == "float"


def number_of(value: Any) -> float:
    """A part's value as a number; NaN where it is none."""
    if is_float(value):
        return float.fromhex(value[1])
    return float(value) if isinstance(value, int) else math.nan


def shown(value: Any) -> str:
    """A part's value as people read it."""
    if is_float(value):
        return repr(float.fromhex(value[1]))
    text = "NaN" if value == ("nan",) else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"

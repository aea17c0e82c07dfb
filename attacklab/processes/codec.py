"""How values travel between the lab and a target in another process: as plain JSON.

Both sides use this file. The child loads it as a plain file in an interpreter that may have nothing but numpy: so it
imports nothing of the package. docs/reference/protocol.md
describes the format for authors of programs.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping, Set
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

NUMBERS = re.compile(r"[iu][1248]|f[248]")
"""numpy's types of the arrays whose bytes are sent in hexadecimal, little-endian: fast, and every bit is kept."""

ARRAYS = re.compile(r"b1|[iu][1248]|f[248]|c8|c16|O|[US][0-9]{1,6}")
"""numpy's types of the arrays that an output may hold."""


def encoded(value: Any) -> Any:
    """A value as plain JSON, every float as its hex string; numpy arrays and tuples become lists.

    Raises:
        TypeError: it holds something other than numbers, booleans, None and sequences of them, or floats wider than
            binary64.
    """
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, (float, np.float32, np.float16)):
        return float(value).hex()
    if isinstance(value, (np.integer, np.bool_)):
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.dtype.itemsize > 8:
        raise TypeError(f"values of type {value.dtype} cannot be sent")
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        return encoded(value.tolist())
    if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.dtype == object):
        return [encoded(item) for item in value]
    kind = value.dtype if isinstance(value, np.ndarray) else type(value).__name__
    raise TypeError(f"values of type {kind} cannot be sent")


def written(value: Any) -> Any:
    """An output of any form as JSON: what is not a number, a list or None is an object that says what it is.

    `Reader` reads it. Both keep every bit of numbers, and the width of numpy's.

    Raises:
        TypeError: it holds something that has only an identity, or floats wider than binary64.
    """
    if isinstance(value, np.generic):
        return _written_array(np.asarray(value))
    for known, as_json in _WRITERS:
        if isinstance(value, known):
            return as_json(value)
    if hasattr(value, "__array__"):
        return _written_array(np.asarray(value))
    return _written_object(value)


def _all_written(values: Any) -> list[Any]:
    return [written(value) for value in values]


def _written_array(value: Any) -> dict[str, Any]:
    form = value.dtype
    if isinstance(value, np.ma.MaskedArray):
        values, name = _all_written(value.ravel().tolist()), "O"  # None where it is masked
    elif form.names is not None:
        values, name = [_named("record", [(name, row[name]) for name in form.names]) for row in value.ravel()], "O"
    else:
        if form.kind in "mM":
            value = value.astype(np.int64)
        elif form.kind == "V" and not issubclass(form.type, np.void):  # bfloat16 and its like
            value = value.astype(np.float32)
        name = value.dtype.str.lstrip("<|=>")
        if not ARRAYS.fullmatch(name):
            raise TypeError(f"values of type {form} cannot be sent")
        if NUMBERS.fullmatch(name):
            content = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<")).tobytes().hex()
            return {"array": name, "shape": value.shape, "bytes": content}
        values = _all_written(value.ravel().tolist())
    return {"array": name, "shape": value.shape, "values": values}


def _written_object(value: Any) -> dict[str, Any]:
    slots = [ancestor.__dict__.get("__slots__", ()) for ancestor in type(value).__mro__]
    names = [name for slot in slots for name in ((slot,) if isinstance(slot, str) else slot)]
    parts = dict(getattr(value, "__dict__", {}))
    parts.update({name: getattr(value, name) for name in names if hasattr(value, name) and not name.startswith("__")})
    if isinstance(value, type) or (not parts and " at 0x" in repr(value)):
        raise TypeError(f"values of type {type(value).__name__} cannot be sent")
    return _named(type(value).__name__, parts.items() if parts else [("repr", repr(value))])


def _named(kind: str, parts: Any) -> dict[str, Any]:
    return {"object": kind, "parts": [[name, written(part)] for name, part in parts]}


_WRITERS: Any = (
    (enum.Enum, lambda value: {"text": value.name}),
    ((type(None), bool, int), lambda value: value),
    (float, float.hex),
    (complex, lambda value: {"complex": [value.real.hex(), value.imag.hex()]}),
    (str, lambda value: {"text": str(value)}),
    ((bytes, bytearray, memoryview), lambda value: {"bytes": bytes(value).hex()}),
    (list, _all_written),
    (tuple, lambda value: {"tuple": _all_written(value)}),
    (Mapping, lambda value: {"dict": [_all_written(item) for item in value.items()]}),
    (Set, lambda value: {"set": _all_written(value)}),
    (Fraction, lambda value: {"fraction": [value.numerator, value.denominator]}),
    (Decimal, lambda value: {"decimal": str(value)}),
    (np.ndarray, _written_array),
)
"""Types and how a value of one of them is written; the first that fits is taken."""


class Reader:
    """Reads what `written` wrote, and what a program wrote in the same form.

    Args:
        number: reads a string, which holds a float, and raises if it does not.
    """

    def __init__(self, number: Any = float.fromhex) -> None:
        self._number = number

    def read(self, value: Any) -> Any:
        """The value.

        Raises:
            ValueError, TypeError: it was not written so; or what `number` raises.
        """
        if isinstance(value, str):
            return self._number(value)
        if isinstance(value, list):
            return [self.read(item) for item in value]
        if not isinstance(value, dict):
            return value
        if set(value) == {"array", "shape", "values"}:
            return self._array(**value)
        if set(value) == {"array", "shape", "bytes"}:
            return array_of(**value)
        if set(value) == {"object", "parts"}:
            named = {str(name): self.read(part) for name, part in value["parts"]}
            return type(str(value["object"]), (SimpleNamespace,), {})(**named)
        if len(value) == 1:
            ((word, held),) = value.items()
            if word in self._READ:
                return self._READ[word](self, held)
        raise ValueError("is an object of an unknown form")

    def _array(self, array: str, shape: Any, values: Any) -> Any:
        if not ARRAYS.fullmatch(array):
            raise ValueError(f"is an array of type {array}")
        if array == "O":
            flat = np.fromiter(map(self.read, values), dtype=object, count=len(values))
        else:
            flat = np.array([self.read(value) for value in values], dtype=array)
        return flat.reshape(shape)[()]

    _READ: ClassVar[Any] = {
        "tuple": lambda self, held: tuple(map(self.read, held)),
        "set": lambda self, held: frozenset(map(self.read, held)),
        "dict": lambda self, held: {self.read(key): self.read(item) for key, item in held},
        "complex": lambda self, held: complex(self.read(held[0]), self.read(held[1])),
        "text": lambda _, held: str(held),
        "bytes": lambda _, held: bytes.fromhex(held),
        "fraction": lambda _, held: Fraction(*held),
        "decimal": lambda _, held: Decimal(held),
    }


def decoded(value: Any) -> Any:
    """The value that `encoded` was given, with tuples and arrays as lists, or `written`; floats with every bit."""
    return Reader().read(value)


def array_of(array: str, shape: Any, bytes: str) -> Any:  # noqa: A002 - the words of the protocol
    """The numbers that are written as bytes: an array, or a number of numpy's where the shape is empty.

    Raises:
        ValueError, TypeError: the type, the shape or the bytes are malformed, or they do not fit each other.
    """
    if not NUMBERS.fullmatch(array):
        raise ValueError(f"is an array of type {array}, which has no bytes")
    if not all(type(length) is int and length >= 0 for length in shape):
        raise ValueError("has a shape that is not a list of integers, none of them negative")
    return np.frombuffer(bytearray.fromhex(bytes), dtype="<" + array).reshape(shape)[()]

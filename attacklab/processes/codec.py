"""How values travel between the lab and a target in another process: as plain JSON, with every bit of their numbers.

A float is its hex string. What is not a number, a list or None is an object that says what it is.
docs/reference/protocol.md describes the format for authors of programs. The child of a Python target uses this file
too, in an interpreter that may have nothing but numpy.
"""

from __future__ import annotations

import enum
import json
import numbers
import os
import re
import sys
from collections.abc import Callable, Mapping, Set
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, BinaryIO

import numpy as np

_ARRAYS = re.compile(r"b1|[iu][1248]|f[248]|c8|c16|O|[US][0-9]{1,6}")
"""The dtypes of arrays that can be sent: `dtype.str` without the mark of the byte order."""

_HEX_FLOAT = re.compile(r"[+-]?0x([01])\.?([0-9a-f]{0,13})p([+-]?[0-9]{1,4})", re.IGNORECASE | re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(inf|infinity|nan(\(\w*\))?)", re.IGNORECASE | re.ASCII)
_WHOLE = re.compile(r"-?[0-9]+", re.ASCII)


def written(value: Any) -> Any:
    """Return a value as plain JSON values, from which `read` makes it again.

    Raises:
        TypeError: it holds a class, an object without attributes, or an array of a dtype that cannot be sent.
    """
    if value is None or isinstance(value, bool):
        return value
    for kind, as_json in _WRITERS:
        if isinstance(value, kind):
            return as_json(value)
    parts = getattr(value, "__dict__", None)
    if hasattr(value, "__array__"):
        return _written_array(np.asarray(value))
    if isinstance(value, type) or not parts:
        raise TypeError(f"values of type {type(value).__name__} cannot be sent")
    return {"object": type(value).__name__, "parts": [[name, written(part)] for name, part in parts.items()]}


def listed(value: Any) -> Any:
    """Return a value with its arrays and tuples as lists, for programs in any language."""
    value = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
    return [listed(item) for item in value] if isinstance(value, (list, tuple)) else value


def _written_array(value: Any) -> dict[str, Any]:
    name = value.dtype.str.lstrip("<|=>")
    if not _ARRAYS.fullmatch(name):
        raise TypeError(f"values of type {value.dtype} cannot be sent")
    if value.dtype.kind in "biufc":
        content = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<")).tobytes().hex()
        return {"array": name, "shape": value.shape, "bytes": content}
    return {"array": name, "shape": value.shape, "values": written(value.ravel().tolist())}


_WRITERS: Any = (
    (enum.Enum, lambda value: {"text": value.name}),
    (str, lambda value: {"text": str(value)}),
    ((bytes, bytearray, memoryview), lambda value: {"bytes": bytes(value).hex()}),
    (np.ma.MaskedArray, lambda value: _written_array(value.astype(object).filled(None))),
    ((np.ndarray, np.generic), lambda value: _written_array(np.asarray(value))),
    (float, float.hex),
    (complex, lambda value: {"complex": [value.real.hex(), value.imag.hex()]}),
    (list, lambda value: [written(item) for item in value]),
    (tuple, lambda value: {"tuple": written(list(value))}),
    (Mapping, lambda value: {"dict": [written(list(item)) for item in value.items()]}),
    (Set, lambda value: {"set": written(list(value))}),
    (numbers.Integral, int),
    (numbers.Rational, lambda value: {"fraction": [int(value.numerator), int(value.denominator)]}),
    (Decimal, lambda value: {"decimal": str(value)}),
)
"""Types, each with a function that writes its values; the first type that fits is taken."""


def read(value: Any) -> Any:
    """Return the value that JSON stands for, as `written` or a program in the same form wrote it.

    Raises:
        ValueError, TypeError, ArithmeticError, LookupError, AttributeError, RecursionError: the JSON is malformed.
    """
    if isinstance(value, str):
        return _number(value)
    if isinstance(value, list):
        return [read(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"object", "parts"}:
        named = {str(name): read(part) for name, part in value["parts"]}
        return type(str(value["object"]), (SimpleNamespace,), {})(**named)
    if value.keys() in ({"array", "shape", "bytes"}, {"array", "shape", "values"}):
        return _array(**value)
    if len(value) != 1 or value.keys() - _READERS.keys():
        raise ValueError("is an object of a form that the protocol does not have (docs/reference/protocol.md)")
    ((word, held),) = value.items()
    return _READERS[word](held)


_READERS: dict[str, Any] = {
    "tuple": lambda held: tuple(read(held)),
    "set": lambda held: frozenset(read(held)),
    "dict": lambda held: {read(key): read(item) for key, item in held},
    "complex": lambda held: complex(read(held[0]), read(held[1])),
    "text": str,
    "bytes": bytes.fromhex,
    "fraction": lambda held: Fraction(*held),
    "decimal": Decimal,
}


def _array(array: str, shape: Any, bytes: str = "", values: Any = None) -> Any:  # noqa: A002 - words of the protocol
    """Return an array of one of numpy's types, or a number of that type if the shape is empty."""
    if not _ARRAYS.fullmatch(array):
        raise ValueError(f"is an array of type {array}")
    if values is None:
        flat = np.frombuffer(bytearray.fromhex(bytes), dtype="<" + array)
    elif array == "O":
        flat = np.fromiter(read(values), dtype=object, count=len(values))
    else:
        flat = np.array(read(values), dtype=array)
    return flat.reshape(shape)[()]


def _number(text: str) -> float | int:
    """Read a number from a string. It must be an integer, or a hex float that is exactly a binary64 number."""
    match = _HEX_FLOAT.fullmatch(text)
    if match is None:
        if _WHOLE.fullmatch(text):
            return int(text)
        if _NOT_FINITE.fullmatch(text):
            return float(text.partition("(")[0])
        raise ValueError(f"is not a hex float or a whole number: {text[:40]!r}")
    value = float.fromhex(text)
    if abs(value) < sys.float_info.min:  # only there can so few digits be too many
        leading, digits, exponent = match.groups()
        stated = int(leading + digits, 16) * Fraction(2) ** (int(exponent) - 4 * len(digits))
        if abs(Fraction(value)) != stated:
            raise ValueError(f"is not a binary64 number: {text}")
    return value


def private_streams() -> tuple[BinaryIO, Callable[[Any], object]]:
    """Empty stdin and redirect stdout to stderr. Return the former stdin, and a function that sends an answer."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)

    def answer(value: Any) -> None:
        answers.write(json.dumps(value).encode() + b"\n")
        answers.flush()

    return requests, answer

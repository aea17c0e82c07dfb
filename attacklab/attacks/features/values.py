"""What a single value is: a number, text, bytes, a sequence, a set, or something with named parts.

`opened` turns a value of whatever type into one of a few types that the rest of the package knows, without altering a
bit of a number in it. It never compares outputs: that is what events are for.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import types
from collections import deque
from collections.abc import Mapping, Sequence, Set
from decimal import Decimal
from fractions import Fraction
from numbers import Complex, Integral, Rational, Real
from typing import Any, Final

import numpy as np

from attacklab.model.errors import TargetError

DEEPEST = 16  # how many levels of nesting are taken apart; an output that contains itself has more

EXACT: Final = (Fraction, Decimal)

_FUNCTIONS: Final = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, type)
_CODE: Final = (*_FUNCTIONS, types.ModuleType, types.GeneratorType, types.CoroutineType)
_IDENTITY: Final[Any] = object.__eq__


class NotUnderstood(TargetError):
    """An output cannot be taken apart; the message says which type it has and what to do."""


@dataclasses.dataclass(frozen=True, slots=True)
class Parts:
    """A value with named parts: a dataclass, a record, an object with attributes.

    Attributes:
        type: the name of the value's type.
        named: the parts by their names.
    """

    type: str
    named: dict[str, Any]


_BUILT_IN: Final = (type(None), bool, int, float, str, bytes, list, tuple, dict, frozenset)
PLAIN: Final = frozenset({*_BUILT_IN, np.float64, Fraction, Decimal, Parts})
"""Types that `opened` leaves as they are."""


class _Missing(enum.Enum):
    MISSING = enum.auto()


MISSING: Final = _Missing.MISSING  # what stands where an output has no such part


def opened(value: Any) -> Any:
    """Convert a value to one of a few types, without altering a bit of a number in it.

    Returns:
        None, `MISSING`, a bool, an int, a float or numpy float, a Fraction or Decimal, a str, bytes, a list or tuple, a
        dict, a frozenset, `Parts`, or an array of at least one dimension.

    Raises:
        NotUnderstood: the value cannot be converted to any of these.
    """
    if type(value) in PLAIN or value is MISSING:
        return value
    if isinstance(value, np.generic):
        return _of_scalar(value)
    if isinstance(value, np.ndarray):
        return _of_array(value)
    for known, as_plain in _KNOWN:
        if isinstance(value, known):
            return as_plain(value)
    return _of_object(value)


def kind_name(value: Any) -> str:
    """Return the name of an opened value's type; numbers of one kind and width have one name in all libraries."""
    if isinstance(value, Parts):
        return value.type
    if isinstance(value, np.ndarray):
        return f"array of {value.dtype}"
    return "float64" if type(value) is float else type(value).__name__


def not_understood(value: object) -> NotUnderstood:
    """Return the error for a value that cannot be taken apart, with what to do about it."""
    name = type(value).__name__
    return NotUnderstood(
        f"the target returned an output that holds a value of type {name}, which cannot be taken apart; return "
        "numbers, text, bytes, or lists, dicts, sets, arrays or dataclasses of them"
    )


def _of_scalar(value: np.generic) -> Any:
    if isinstance(value, np.floating):
        return value
    if isinstance(value, np.complexfloating):
        return _of_complex(value)
    if value.dtype.kind in "mM":  # dates and times, counted in their own unit
        return None if np.isnat(value) else int(value.astype(np.int64))
    if isinstance(value, np.void):
        if value.dtype.names is None:
            return value.tobytes()
        return Parts("record", {name: value[name] for name in value.dtype.names})
    return np.float32(value) if is_foreign(value.dtype) else opened(value.item())


def is_foreign(dtype: np.dtype[Any]) -> bool:
    """Whether a type is a number format that numpy itself lacks, such as bfloat16; binary32 holds all its numbers."""
    return dtype.kind == "V" and not issubclass(dtype.type, np.void)


def _of_complex(value: Any) -> Parts:
    return Parts("complex", {"the real part": value.real, "the imaginary part": value.imag})


def _of_array(value: np.ndarray[Any, Any]) -> Any:
    if isinstance(value, np.ma.MaskedArray):
        return value.tolist()  # None where it is masked
    plain = np.asarray(value).astype(np.float32) if is_foreign(value.dtype) else np.asarray(value)
    return opened(plain[()]) if plain.ndim == 0 else plain


def _of_dataclass_or_object(value: Any) -> dict[str, Any]:
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    named = dict(getattr(value, "__dict__", {}))
    for ancestor in reversed(type(value).__mro__):
        slots = ancestor.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, name) and not name.startswith("__"):
                named[name] = getattr(value, name)
    return named


def _of_pandas(value: Any) -> Parts:
    """Take a data frame or a series apart into its labels and its columns."""
    columns = value.items() if hasattr(value, "columns") else [(value.name, value)]
    named = {f"column {place} ({label!r})": column.to_numpy() for place, (label, column) in enumerate(columns)}
    return Parts(type(value).__name__, {"index": value.index.to_numpy(), "names": list(value.index.names), **named})


def _of_object(value: Any) -> Any:
    if isinstance(value, _CODE):
        raise not_understood(value)
    if type(value).__module__.partition(".")[0] == "pandas" and hasattr(value, "to_dict"):
        return _of_pandas(value)
    if hasattr(value, "__array__"):
        array = np.asarray(value)
        if array.dtype != object or array.ndim:
            return _of_array(array)
    named = _of_dataclass_or_object(value)
    if named:
        return Parts(type(value).__name__, named)
    text = repr(value)
    if dataclasses.is_dataclass(value) or (type(value).__eq__ is not _IDENTITY and " at 0x" not in text):
        return Parts(type(value).__name__, {"repr": text})
    raise not_understood(value)


_KNOWN: Final[tuple[tuple[Any, Any], ...]] = (
    (enum.Enum, lambda value: value.name),
    (bool, bool),
    (str, str),
    (float, float),
    (Integral, int),
    (Decimal, Decimal),
    (Rational, lambda value: Fraction(int(value.numerator), int(value.denominator))),
    (Real, float),
    (Complex, _of_complex),
    ((bytes, bytearray, memoryview), bytes),
    ((dt.date, dt.time), lambda value: value.isoformat()),
    (dt.timedelta, lambda value: value // dt.timedelta(microseconds=1)),
    (tuple, tuple),
    (Mapping, dict),
    (Set, frozenset),
    ((Sequence, deque), list),
)
"""Types, each with the function that makes a plain value of its instances; the first type that fits is used."""

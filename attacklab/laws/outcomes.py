"""Which outcomes are the same.

Outcomes are the same if their types and their bits are: True, 1, 1.0, `Fraction(1)` and `numpy.int64(1)` are five
outcomes, and so are 0.0 and −0.0. Python's `==` is coarser: what it calls equal, an adversary can tell apart.
"""

from __future__ import annotations

import dataclasses
import enum
import struct
from collections.abc import Callable, Collection, Hashable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np

from attacklab.draws.errors import OpaqueOutcome

MPFR = type(gmpy2.mpfr(0))
MPQ = type(gmpy2.mpq(0))
MPZ = type(gmpy2.mpz(0))

_AS_IT_IS = frozenset({int, bool, str, bytes, type(None)})


def _bits(value: float) -> bytes:
    return struct.pack(">d", value)


def _exact_value(value: Any) -> tuple[int, int] | str:
    """Return a `longdouble` or `mpfr` as a ratio (0, infinities, NaN as text): its memory holds more than its value."""
    try:
        numerator, denominator = value.as_integer_ratio()
    except (ValueError, OverflowError):
        return str(value)
    return (int(numerator), int(denominator)) if numerator else str(value)  # the text has the sign of a zero


_READERS: dict[type, Callable[[Any], Hashable]] = {
    float: _bits,
    complex: lambda value: (_bits(value.real), _bits(value.imag)),
    Fraction: Fraction.as_integer_ratio,
    Decimal: Decimal.as_tuple,
    MPZ: int,
    MPQ: lambda value: (int(value.numerator), int(value.denominator)),
    MPFR: lambda value: (_exact_value(value), value.precision, value.rc),
    np.longdouble: _exact_value,
}


def tag(outcome: Any) -> Hashable:
    """Return what distinguishes an outcome from every other: its type and its bits, in tuples and frozen sets too.

    Raises:
        OpaqueOutcome: the outcome is not made of numbers, strings, bytes, None, members of enumerations, tuples, frozen
            sets and frozen dataclasses.
    """
    kind = type(outcome)
    if kind in _AS_IT_IS:
        return kind, outcome
    if kind is tuple:
        return kind, tuple(map(tag, outcome))
    reader = _READERS.get(kind)
    if reader is not None:
        return kind, reader(outcome)
    if isinstance(outcome, np.generic) and kind.__module__ == "numpy" and not outcome.dtype.hasobject:
        return kind, outcome.dtype.str, outcome.tobytes()
    if kind is frozenset:
        return kind, frozenset(map(tag, outcome))
    name = type_name(outcome)
    if isinstance(outcome, enum.Enum):
        return name, outcome.name
    attributes = getattr(outcome, "__dict__", {}).keys()
    if isinstance(outcome, tuple) and hasattr(outcome, "_fields"):
        _require_no_more(kind, attributes)
        return name, tuple(map(tag, outcome))
    if dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        _require_no_more(kind, attributes - {field.name for field in dataclasses.fields(kind)})
        return name, tuple(tag(getattr(outcome, field.name)) for field in dataclasses.fields(kind))
    raise OpaqueOutcome(
        f"an outcome must be made of numbers, strings, bytes, None and tuples, not of {kind.__name__}; "
        "return one of these"
    )


def with_python_numbers(outcome: Any) -> Any:
    """Return the outcome with Python's numbers in the place of numpy's scalars, in tuples too."""
    if isinstance(outcome, np.generic):
        return outcome.item()
    return tuple(map(with_python_numbers, outcome)) if type(outcome) is tuple else outcome


def _require_no_more(kind: type, attributes: Collection[str]) -> None:
    if attributes:
        shown = ", ".join(sorted(attributes))
        raise OpaqueOutcome(
            f"an outcome is a {kind.__name__} with attributes besides its fields: {shown}; leave them out"
        )


def type_name(outcome: Any) -> str:
    """Return the full name of the outcome's type, which is unique because the type belongs to a module.

    Raises:
        OpaqueOutcome: the type was made by a function.
    """
    kind = type(outcome)
    if "<locals>" in kind.__qualname__:
        raise OpaqueOutcome(f"an outcome is a {kind.__name__}, a type made by a function; define it in a module")
    return f"{kind.__module__}.{kind.__qualname__}"


def written(tagged: Hashable) -> str:
    """Return the tag of an outcome as text that is the same in every process.

    Raises:
        OpaqueOutcome: an integer has more digits than Python writes.
    """
    if isinstance(tagged, tuple):
        return f"({', '.join(map(written, tagged))})"
    if isinstance(tagged, frozenset):
        return f"{{{', '.join(sorted(map(written, tagged)))}}}"
    if isinstance(tagged, type):
        return f"{tagged.__module__}.{tagged.__qualname__}"
    try:
        return repr(tagged)
    except ValueError as error:
        raise OpaqueOutcome("an outcome of type int is too long to be written; return a shorter one") from error

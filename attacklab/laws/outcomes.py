"""Which outcomes are the same, and how outcomes are written as JSON.

Outcomes are the same if Python calls them equal. The exception is floats, which are the same if their bits are: the
sign of a zero and the payload of a NaN are outputs like any other.
"""

from __future__ import annotations

import math
import numbers
import struct
from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import numpy as np

from attacklab.laws.errors import UnhashableOutcome, UnwritableOutcome

_PLAIN = frozenset({int, bool, str, bytes, Fraction, type(None)})


class BitFloat(float):
    """A float that equals only a float with the same bits; stands for −0.0 and for NaN among outcomes."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and _bits(self) == _bits(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(_bits(self))


def _bits(value: float) -> bytes:
    return struct.pack(">d", value)


def canonical(outcome: Any) -> Hashable:
    """The outcome in the form in which a law holds it.

    Numbers of numpy and gmpy2 become Python's own, and −0.0 and NaN become `BitFloat`, in tuples and frozen sets too.
    Any other hashable outcome stays as it is.

    Raises:
        UnhashableOutcome: the outcome cannot be hashed.
    """
    if type(outcome) in _PLAIN:
        return outcome  # type: ignore[no-any-return]
    if isinstance(outcome, tuple):
        parts = map(canonical, outcome)
        return outcome._make(parts) if hasattr(outcome, "_make") else tuple(parts)  # a named tuple keeps its names
    if isinstance(outcome, frozenset):
        return frozenset(canonical(part) for part in outcome)
    if isinstance(outcome, numbers.Integral):
        return int(outcome)
    if isinstance(outcome, numbers.Rational):
        return Fraction(int(outcome.numerator), int(outcome.denominator))
    if isinstance(outcome, float | np.float32 | np.float16):
        value = float(outcome)
        special = value != value or (value == 0 and math.copysign(1, value) < 0)
        return BitFloat(value) if special else value
    if isinstance(outcome, np.bool_ | np.str_ | np.bytes_):
        return outcome.item()
    try:
        hash(outcome)
    except TypeError as error:
        raise UnhashableOutcome(
            f"an outcome must be hashable (a number, a string, or a tuple of these), not a {type(outcome).__name__}"
        ) from error
    return outcome  # type: ignore[no-any-return]


def encode(outcome: Hashable) -> Any:
    """The canonical outcome as JSON. Equal outcomes have equal forms, so True, 1 and 1.0 are all the integer 1.

    Raises:
        UnwritableOutcome: outcomes of this type, or integers of so many digits, cannot be written as JSON.
    """
    if outcome is None or isinstance(outcome, str):
        return outcome
    if isinstance(outcome, BitFloat):
        return {"bits": _bits(outcome).hex()}
    if isinstance(outcome, int | float | Fraction):
        return _encode_number(outcome)
    if isinstance(outcome, bytes):
        return {"bytes": outcome.hex()}
    if isinstance(outcome, tuple):
        return {"tuple": [encode(part) for part in outcome]}
    if isinstance(outcome, frozenset):
        return {"set": sorted((encode(part) for part in outcome), key=repr)}
    raise UnwritableOutcome(f"an outcome of type {type(outcome).__name__} cannot be written as JSON")


def _encode_number(value: float | Fraction) -> dict[str, str]:
    if isinstance(value, float) and math.isinf(value):
        return {"float": value.hex()}
    exact = Fraction(value)
    try:
        text = str(exact)
    except ValueError as error:  # the interpreter's limit on digits
        raise UnwritableOutcome(
            f"an outcome of {exact.numerator.bit_length()} bits cannot be written as JSON"
        ) from error
    if exact.denominator == 1:
        return {"int": text}
    is_float = isinstance(value, float) or (abs(exact) < 1 << 1023 and Fraction(float(exact)) == exact)
    return {"float": float(exact).hex()} if is_float else {"fraction": text}


def decode(form: Any) -> Hashable:
    """The outcome that `encode` wrote.

    Raises:
        ValueError: `form` is not what `encode` writes.
    """
    if form is None or isinstance(form, str):
        return form
    if not isinstance(form, dict) or len(form) != 1:
        raise ValueError(f"not an outcome: {form!r}")
    ((kind, value),) = form.items()
    match kind:
        case "int":
            return int(value)
        case "fraction":
            return Fraction(value)
        case "float":
            return float.fromhex(value)
        case "bits":
            return canonical(struct.unpack(">d", bytes.fromhex(value))[0])
        case "bytes":
            return bytes.fromhex(value)
        case "tuple":
            return tuple(decode(part) for part in value)
        case "set":
            return frozenset(decode(part) for part in value)
    raise ValueError(f"not an outcome: {form!r}")

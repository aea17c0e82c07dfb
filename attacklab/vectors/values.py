"""Writes and reads the values in test vectors, in a form from which any language can read every bit.

An integer is a decimal string, because JSON's numbers lose integers beyond 2^53 in many languages. A rational number is
"n/d" in lowest terms. A float is a hexadecimal string, or "inf", "-inf" or "nan". An enclosure of a real number is an
object with the rationals `lower` and `upper`. `true`, `false` and `null` (⊥, a failure or a missing value) are
JSON's own, and a list is a list of values.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from attacklab.laws import Bounds
from attacklab.model.errors import UsageError

_RATIONAL = re.compile(r"(-?(?:0|[1-9][0-9]*))(?:/([1-9][0-9]*))?", re.ASCII)
_FLOAT = re.compile(r"-?0x([01])(?:\.([0-9a-f]{1,13}))?p([+-][0-9]{1,4})|-?inf|nan", re.ASCII)

MOST_DIGITS = 4_000
"""The largest number of digits of an integer. Python reads no more than 4,300 by default."""


def written(value: Any) -> Any:
    """Return a value as JSON values, in the form above.

    Args:
        value: an integer, a rational number (`Fraction` or gmpy2's mpq), a float, a bool, None, `Bounds`, or a sequence
            or array of such values.

    Raises:
        UsageError: `value` is none of these.
    """
    match value:
        case None | bool():
            return value
        case np.bool_():
            return bool(value)
        case Bounds(lower, upper):
            return written(lower) if lower == upper else {"lower": written(lower), "upper": written(upper)}
        case float() | np.floating():
            return "nan" if math.isnan(value) else float(value).hex()
        case np.ndarray():
            return [written(item) for item in value]
        case Sequence() if not isinstance(value, (str, bytes)):
            return [written(item) for item in value]
    exact: Any = value
    if hasattr(exact, "denominator"):
        return str(Fraction(int(exact.numerator), int(exact.denominator)))
    raise UsageError(f"test vectors cannot hold a {type(value).__name__}: {value!r}; use numbers, bools and lists")


def read_value(text: Any) -> Any:
    """Read what `written` returns: an int, a `Fraction`, a float, `Bounds`, a bool, None or a list of these.

    A float must be a double exactly, without rounding.

    Raises:
        UsageError: `text` is not a value in this form.
    """
    if text is None or isinstance(text, bool):
        return text
    if isinstance(text, list):
        return [read_value(item) for item in text]
    if isinstance(text, dict) and text.keys() == {"lower", "upper"}:
        ends = Bounds(read_value(text["lower"]), read_value(text["upper"]))
        if all(isinstance(end, (int, Fraction)) for end in ends) and ends.lower <= ends.upper:
            return ends
    if isinstance(text, str) and (number := _number(text)) is not None:
        return number
    raise UsageError(f"{str(text)[:80]!r} is not a value of vectors; write a number as '7', '1/3' or '0x1.8p+0'")


def _number(text: str) -> int | float | Fraction | None:
    if (whole := _RATIONAL.fullmatch(text)) and len(text) <= MOST_DIGITS:
        numerator, denominator = whole.groups()
        return int(numerator) if denominator is None else Fraction(int(numerator), int(denominator))
    if parts := _FLOAT.fullmatch(text):
        return float.fromhex(text) if _is_binary64(text, *parts.groups()) else None
    return None


def _is_binary64(text: str, leading: str | None, digits: str | None, exponent: str | None) -> bool:
    if leading is None or exponent is None:
        return True
    exact = int(leading + (digits or ""), 16) * Fraction(2) ** (int(exponent) - 4 * len(digits or ""))
    return exact < 1 << 1024 and Fraction(abs(float.fromhex(text))) == exact

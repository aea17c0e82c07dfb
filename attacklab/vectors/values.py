"""How values are written in vectors, so that no reader in any language loses a bit.

An integer is a decimal string, because JSON's numbers lose integers beyond 2^53 in many languages. A rational number is
"n/d" in lowest terms. A float is a hexadecimal string, or "inf", "-inf" or "nan". An enclosure of a real number is an
object with the rationals `lower` and `upper`. `true`, `false` and `null` (⊥, a failure or a missing value) are
themselves, and a list is a list of values.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from attacklab.errors import UsageError
from attacklab.laws import Bounds

_RATIONAL = re.compile(r"(-?(?:0|[1-9][0-9]*))(?:/([1-9][0-9]*))?", re.ASCII)
_FLOAT = re.compile(r"-?0x[01](?:\.[0-9a-f]+)?p[+-][0-9]+|-?inf|nan", re.ASCII)


def written(value: Any) -> Any:
    """A value as vectors hold it.

    Args:
        value: an integer, a rational number (`Fraction` or gmpy2's mpq), a float, a bool, None, `Bounds`, or a sequence
            or array of such values.

    Raises:
        UsageError: it is none of these.
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
            return [written(one) for one in value]
        case Sequence() if not isinstance(value, (str, bytes)):
            return [written(one) for one in value]
    exact: Any = value
    if hasattr(exact, "denominator"):
        return str(Fraction(int(exact.numerator), int(exact.denominator)))
    raise UsageError(f"vectors hold no {type(value).__name__}: {value!r}")


def read_value(text: Any) -> Any:
    """The value that is written so: an int, a `Fraction`, a float, `Bounds`, a bool, None or a list of these.

    Raises:
        UsageError: no value is written so.
    """
    if text is None or isinstance(text, bool):
        return text
    if isinstance(text, list):
        return [read_value(one) for one in text]
    if isinstance(text, dict) and text.keys() == {"lower", "upper"}:
        return Bounds(read_value(text["lower"]), read_value(text["upper"]))
    if isinstance(text, str):
        if whole := _RATIONAL.fullmatch(text):
            numerator, denominator = whole.groups()
            return int(numerator) if denominator is None else Fraction(int(numerator), int(denominator))
        if _FLOAT.fullmatch(text):
            return float.fromhex(text)
    raise UsageError(f"{text!r} is not written as a value of vectors is")

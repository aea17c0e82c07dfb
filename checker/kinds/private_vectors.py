"""How mechanisms read what comes from a database: each number on its own, as the number that it is.

A theorem puts unknown numbers in the place of what is read. This file tries the reader itself, on numbers of every type
and size, each alone and beside every other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from importlib import import_module
from typing import Any

from checker.core.certificate import PACKAGE, Refused

REACH = 65536
"""A number of 2^65536 or more counts as infinite, one with a denominator of more bits as one just below it."""


def numbers() -> list[tuple[Any, Fraction | float]]:
    """Return numbers as a database may hold them, each with the value that it stands for."""
    wholes = [0, 1, -1, 7, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 + 1024, 2**63 + 1025, 10**400, -(10**400)]
    floats = [0.1, -0.0, 5e-324, -2.5e-310, 2.0**-1022, 1.0 + 2.0**-52, 1e308, -1.7976931348623157e308, 2.0**53]
    found: list[tuple[Any, Fraction | float]] = [(whole, Fraction(whole)) for whole in wholes]
    found += [(one, Fraction(one)) for one in floats]
    found += [(True, Fraction(1)), (Fraction(1, 3), Fraction(1, 3)), (Fraction(-(10**30), 7), Fraction(-(10**30), 7))]
    found += [(Decimal("0.1"), Fraction(1, 10)), (Decimal("-1e-400"), Fraction(-1, 10**400))]
    found += [(Decimal("NaN"), math.nan), (Decimal("-Infinity"), -math.inf), (Decimal("1e30000"), math.inf)]
    found += [(math.inf, math.inf), (-math.inf, -math.inf), (math.nan, math.nan), (None, math.nan)]
    found += [(2**REACH, math.inf), (1 - 2**REACH, Fraction(1 - 2**REACH)), (Fraction(1, 2**REACH), Fraction(0))]
    finest = Fraction(1, 2 ** (REACH - 1))
    found += [(finest, finest), (-finest / 2, -finest), (Fraction(1, 2) + finest / 3, Fraction(1, 2))]
    return found


def require_reading() -> int:
    """Check that vectors of numbers are read element by element, exactly.

    Returns:
        How many vectors were tried.

    Raises:
        Refused: one is read as something else.
    """
    return _require_reading(import_module(f"{PACKAGE}.private_numbers").exact_numbers)


@lru_cache(maxsize=1)
def _require_reading(reader: Callable[..., Any]) -> int:
    arrays = import_module("numpy")
    known = numbers()
    vectors: list[Any] = [[one] for one, _ in known]
    values = [[value] for _, value in known]
    for one, value in known:
        for other, beside in known:
            vectors.append((one, other))
            values.append([value, beside])
    vectors.append([one for one, _ in known])
    values.append([value for _, value in known])
    floats = [0.1, -0.0, 5e-324, 1e308, math.inf, -math.inf, math.nan]
    wholes = [0, 1, -1, 2**53 + 1, -(2**63), 2**63 - 1]
    vectors += [arrays.array(floats), arrays.array(floats)[::-1], arrays.array(wholes), arrays.array([True, False])]
    values += [[_value(one) for one in floats], [_value(one) for one in floats][::-1], list(map(Fraction, wholes))]
    values += [[Fraction(1), Fraction(0)]]
    vectors += [arrays.array([2**64 - 1, 3], dtype="uint64"), arrays.array([0.1, 2.5], dtype="float32")]
    values += [[Fraction(2**64 - 1), Fraction(3)], [Fraction(13421773, 2**27), Fraction(5, 2)]]
    vectors.append(arrays.ma.array([1.5, 2.5], mask=[False, True]))
    values.append([Fraction(3, 2), math.nan])
    for vector, expected in zip(vectors, values, strict=True):
        found = list(map(_value, reader("numbers", vector)))
        if len(found) != len(expected) or not all(map(_same, found, expected)):
            raise Refused(f"{vector!r:.200} is read as {found!r:.200}")
    return len(vectors)


def unknown_vectors(sizes: Sequence[int], make: Any) -> list[tuple[Any, ...]]:
    """Return vectors of unknown numbers of some sizes, and vectors in which each special value stands beside one."""
    found: list[tuple[Any, ...]] = [tuple(make(f"u{index}") for index in range(size)) for size in sizes]
    for special in (math.inf, -math.inf, math.nan):
        found += [(special,), (special, make("u0")), (make("u0"), special), (special, special)]
    return found


def _value(number: Any) -> Fraction | float:
    if isinstance(number, float):
        return Fraction(float(number)) if math.isfinite(number) else float(number)
    return Fraction(int(number.numerator), int(number.denominator))


def _same(one: Fraction | float, other: Fraction | float) -> bool:
    missing = isinstance(one, float) and isinstance(other, float) and math.isnan(one) and math.isnan(other)
    return missing or one == other

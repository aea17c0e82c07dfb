"""Doubles that a mechanism may compute with but not read: what it makes of them is kept as an expression.

An `OpaqueDouble` is a float whose stored value is a NaN and means nothing, so that what reads it by another way than
its operators gets nothing of the answer. Its operators write down what is computed. It can be compared with constants
that do not lie within its cell, a set of doubles for all of which each such comparison comes out alike. The expression
that the checker expects can be read, and then the value is one that the checker has chosen.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, Final

from checker.core.certificate import Refused

Expression = tuple[Any, ...]
Cell = tuple[float, float]
"""Two equal ends: that double (or NaN); otherwise the doubles between, without the ends."""

REFUSED: Final = (
    *("__abs__", "__bool__", "__ceil__", "__divmod__", "__float__", "__floor__", "__floordiv__", "__format__"),
    *("__int__", "__mod__", "__neg__", "__pos__", "__pow__", "__rdivmod__", "__rfloordiv__", "__rmod__"),
    *("__round__", "__rpow__", "__rsub__", "__rtruediv__", "__str__", "__sub__", "__truediv__", "__trunc__"),
    *("hex", "is_integer"),
)


def cells(bound: float) -> list[Cell]:
    """Return all doubles, infinities and NaN included, as cells on each side of ±bound."""
    ends = [-math.inf, -bound, bound, math.inf]
    return [(math.nan, math.nan), *((end, end) for end in ends), *pairwise(ends)]


def constant(value: float) -> Expression:
    """Return the expression of a known double."""
    return ("double", value.hex())


def operation(sign: str, one: Expression, other: Expression) -> Expression:
    """Return the expression of a sum or a product, in which the order does not matter."""
    return (sign, *sorted((one, other), key=repr))


class Reading:
    """What can be read, the same number in each of these forms, and the value that it is then said to have."""

    def __init__(self, expressions: tuple[Expression, ...], value: float) -> None:
        self.expressions, self.value = expressions, value


class OpaqueDouble(float):
    """An unknown double.

    Args:
        expression: what it is.
        reading: what can be read.
        cell: where it lies; None if it must not be compared.
    """

    __hash__ = None  # type: ignore[assignment] # a look-up would be a look
    __array_ufunc__ = None

    def __new__(cls, *_: Any) -> OpaqueDouble:
        """Store a NaN."""
        return super().__new__(cls, math.nan)

    def __init__(self, expression: Expression, reading: Reading, cell: Cell | None = None) -> None:
        self.expression, self.reading, self.cell = expression, reading, cell

    def _computed(self, sign: str, other: Any) -> OpaqueDouble:
        if isinstance(other, OpaqueDouble):
            known = other.expression
        elif type(other) is float or (type(other) is int and abs(other) <= 1 << 53):
            known = constant(float(other))
        else:
            raise Refused(f"{self!r} is computed with a {type(other).__name__}")
        return OpaqueDouble(operation(sign, self.expression, known), self.reading)

    def __add__(self, other: Any) -> OpaqueDouble:
        return self._computed("+", other)

    def __mul__(self, other: Any) -> OpaqueDouble:
        return self._computed("*", other)

    __radd__, __rmul__ = __add__, __mul__

    def _side(self, other: Any) -> int | None:
        """Return the sign of the difference from another double; None if either is NaN."""
        if self.cell is None or (type(other) not in (float, int) and other is not self):
            raise Refused(f"{self!r} is compared")
        low, high = self.cell
        if other is self:
            return None if math.isnan(low) else 0
        if math.isnan(low) or math.isnan(other):
            return None
        if low == high:
            return int(low > other) - int(low < other)
        if low < other < high:
            raise Refused(f"{self!r} is compared with {other!r}")
        return 1 if low >= other else -1

    def __eq__(self, other: object) -> bool:
        return self._side(other) == 0

    def __ne__(self, other: object) -> bool:
        return self._side(other) != 0

    def __lt__(self, other: Any) -> bool:
        return self._side(other) == -1

    def __gt__(self, other: Any) -> bool:
        return self._side(other) == 1

    def __le__(self, other: Any) -> bool:
        return self._side(other) in (-1, 0)

    def __ge__(self, other: Any) -> bool:
        return self._side(other) in (1, 0)

    def as_integer_ratio(self) -> tuple[int, int]:
        """Read the chosen value, if this is the expression that may be read."""
        if self.expression not in self.reading.expressions:
            raise Refused(f"{self.expression} is read, not {self.reading.expressions[0]}")
        return self.reading.value.as_integer_ratio()

    def __repr__(self) -> str:
        return f"the double {self.expression}"


def _refuse(name: str) -> Any:
    def refused(self: OpaqueDouble, *_: Any) -> Any:
        raise Refused(f"{name} of {self!r}")

    return refused


for _name in REFUSED:
    setattr(OpaqueDouble, _name, _refuse(_name))

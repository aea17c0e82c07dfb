"""Cells of integers by the leading bits of their doubles: what a filter looks up, and which integers lead there.

An integer is rounded to a double f. The leading bits of f are the number of a cell; the same bits and then half of what
can follow are its middle c. So all f of a cell lie between its first and its last double, and c among them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from checker.core.certificate import Refused
from checker.kinds.trace import Traced

UNIT = Fraction(1, 1 << 53)
"""The relative error u of one operation on doubles, rounded to nearest."""

_TOP = 1 << 63
_NAMES = ("shift", "first", "mask", "half")


@dataclass(frozen=True)
class Cell:
    """The integers of one cell.

    Attributes:
        place: in the tables.
        middle: c, an integer below 2^63.
        low: the least f.
        high: the greatest f; an integer may be as far from its f as u times this.
    """

    place: int
    middle: int
    low: Fraction
    high: Fraction

    @property
    def least(self) -> Fraction:
        """At most the least integer."""
        return self.low - self.high * UNIT

    @property
    def greatest(self) -> Fraction:
        """At least the greatest integer."""
        return self.high + self.high * UNIT

    @property
    def radius(self) -> Fraction:
        """At least the distance of any of its integers from the middle.

        Raises:
            Refused: it is more than 2^53, and not all such distances are doubles.
        """
        radius = max(self.greatest - self.middle, self.middle - self.least)
        if radius > 1 << 53:
            raise Refused(f"cell {self.place} is so wide that distances from its middle are rounded")
        return radius


def located(integers: Traced) -> tuple[Traced, Traced, Traced]:
    """Return the expressions of f, of the cell's place and of its middle, but for constants; see `constants_of`."""
    shift, first, mask, half = (Traced.unknown(f"?{name}", "int64") for name in _NAMES)
    rounded = integers.astype("float64")
    bits = rounded.view("int64")
    return rounded, (bits >> shift) - first, ((bits & mask) | half).view("float64")


def constants_of(matched: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the constants of `located`, as `cells` takes them."""
    return tuple(matched[name] for name in _NAMES)


def cells(constants: tuple[int, ...], is_open: Sequence[bool]) -> Iterator[Cell]:
    """Yield the cells whose integers may be decided; places beyond the ends go to these, which must decide nothing.

    Args:
        constants: how bits are shifted to a cell's place, what is taken from it, and which bits make c.
        is_open: which places of the tables decide nothing.

    Raises:
        Refused: an end decides something, or a middle is not made so.
    """
    shift, first, mask, half = constants
    if not 0 < shift < 52 or mask != -(1 << shift) or half != 1 << shift - 1:
        raise Refused("the middle of a cell is not made of its leading bits")
    if not is_open or not is_open[0] or not is_open[-1]:
        raise Refused("what lies beyond the ends of the tables is decided")
    for place in range(1, len(is_open) - 1):
        if is_open[place]:
            continue
        least = (place + first) << shift
        if least < 0:
            raise Refused(f"cell {place} has integers below 0")
        middle, low, high = (_double(least + more) for more in (half, 0, (1 << shift) - 1))
        if middle.denominator != 1 or not 1 <= middle < _TOP:
            raise Refused(f"the middle of cell {place} is {float(middle)}")
        yield Cell(place, middle.numerator, low, high)


def _double(pattern: int) -> Fraction:
    return Fraction(struct.unpack(">d", pattern.to_bytes(8, "big"))[0])

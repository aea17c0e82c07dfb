"""⌊offset ± scale·E⌋ for E = −ln U by binary64, from 63 bits of U, where an error bound decides it.

The integer k of the bits is looked up in tables by the leading bits of its double: a point P = C + ½ near it, 1/P, and
scale·(−ln(P/2^63)) as a whole number and a fraction; a polynomial of (k − C)/P adds the rest. The checker reads the
tables from the expression and finds a bound of its own for every cell, for all its words and for all offsets of [0, 1]:
the offset stays an unknown number.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from checker.core.certificate import Refused
from checker.enclosures.elementary import Enclosure, ln
from checker.kinds.trace import Traced, apply, look_up, number

FIRST_BITS = 63
"""The bits of U that the filter sees."""

UNIT = Fraction(1, 1 << 53)
"""The relative error u of one operation on doubles, rounded to nearest."""

_LEAST_SCALE, _GREATEST_SCALE = Fraction(1, 1 << 900), 1 << 46
_FOUR_TERMS_UP_TO = 1 << 30
_TABLES = {
    "centres": "int64",
    "reciprocals": "float64",
    "fractions": "float64",
    "wholes": "float64",
    "bounds": "float64",
}
_BITS = 140
_TINY = Fraction(1, 1 << 1000)
"""More than all products that underflow can add."""


def _terms(scale: Fraction) -> int:
    return 4 if scale <= _FOUR_TERMS_UP_TO else 6


def floors_by_filter(leading: Traced, signs: Traced, offset: Traced | float, scale: Fraction) -> tuple[Traced, Traced]:
    """Return the expressions of the floors, and of which are undecided, but for constants and tables.

    Args:
        leading: the first 63 bits of U, as int64.
        signs: words whose top bit says that the sign is −.
        offset: doubles, or one for all.
        scale: which says how many terms the polynomial has; see `require_bounds` for the constants.
    """
    shift, first = (Traced.unknown(name, "int64") for name in ("?shift", "?first"))
    index = (leading.astype("float64").view("int64") >> shift) - first
    centre, reciprocal, fraction, whole, bound = (
        look_up(Traced.unknown(f"?{name}", kind).step, index) for name, kind in _TABLES.items()
    )
    ratio = (leading - centre).astype("float64") * reciprocal
    *lower, highest = (Traced.unknown(f"?{term}", "float64") for term in range(1, _terms(scale) + 1))
    value = highest * ratio
    for coefficient in lower[:0:-1]:
        value = (value + coefficient) * ratio
    value = (value + lower[0]) * ratio + fraction
    negative = signs & number(1 << 63, "uint64")
    signed, whole = ((one.view("uint64") ^ negative).view("float64") for one in (value, whole))
    signed = signed + offset
    distance = abs(signed - apply("rint", signed))
    return apply("floor", signed) + whole, distance <= bound


def require_bounds(constants: Mapping[str, Any], scale: Fraction) -> int:
    """Check that the filter calls nothing decided that is not, for every word, every offset of [0, 1] and both signs.

    An offset is off by 2u at most: it is a number of [−½, ½], rounded, and ½, added with one rounding. In a cell, let
    k be one of its integers, t = k − C, P = C + ½, and ρ at least |t/P| and its computed value, for all cells:

    1. U lies in [k, k + 1]·2^−63, so E is within 1/2k of −ln((k + ½)/2^63) = −ln(P/2^63) − ln(1 + t/P).
    2. Whole number and fraction differ from scale·(−ln(P/2^63)) by what an enclosure says.
    3. t, the reciprocal (compared with 1/P), and their product are rounded; ln(1 + r) moves by 1/(1 − ρ) as much.
    4. The series leaves out ρ^(d+1)/((d + 1)(1 − ρ)) at most; coefficients differ from the true ones as they do.
    5. Horner's rule, the sum with the fraction and that with the offset are rounded, each by u times its result.

    Where the computed value is farther than all this from the nearest integer, no integer lies between it and the
    truth; a word of a cell whose bound is ½ or more is never decided. The whole number is added without rounding.

    Returns:
        The number of cells in which words are decided.

    Raises:
        Refused: a bound is too small, or the scale is out of range.
    """
    if not _LEAST_SCALE <= scale <= _GREATEST_SCALE:
        raise Refused(f"a scale of {float(scale)} steps is out of the filter's range")
    tables = tuple(tuple(constants[name]) for name in _TABLES)
    coefficients = tuple(Fraction(constants[str(term)]) for term in range(1, _terms(scale) + 1))
    return _require_cells(constants["shift"], constants["first"], tables, coefficients, scale)


@lru_cache(maxsize=8)
def _require_cells(
    shift: int, first: int, tables: Sequence[Sequence[Any]], coefficients: Sequence[Fraction], scale: Fraction
) -> int:
    rows = list(zip(*tables, strict=True))
    if not 0 <= shift < 52 or not all(math.isfinite(one) for row in rows for one in row[:4]):
        raise Refused("the filter's tables are not of finite numbers, or not looked up by a leading part")
    cells = [(row, *_span(place, place + 1 == len(rows), shift, first)) for place, row in enumerate(rows)]
    decided = [cell for cell in cells if cell[0][4] < 0.5 and cell[1] <= cell[2]]
    if any(row[0] < 1 or low < 1 for row, low, _ in decided) or any(abs(row[1]) > 1 for row in rows):
        raise Refused("a cell's middle or its words are not above 0, or its reciprocal is above 1")
    ratios = [_ratio(row, low, high) for row, low, high in decided]
    greatest = max((size for size, _ in ratios), default=Fraction(0))
    if greatest >= Fraction(1, 64):
        raise Refused(f"the filter's cells reach to {float(greatest)} of their middles")
    polynomial, largest = _polynomial(coefficients, greatest, scale)
    for (row, low, _), (_, moved) in zip(decided, ratios, strict=True):
        tabled = _tabled(row, scale)
        error = scale * (Fraction(1, 2 * low) + moved / (1 - greatest)) + tabled + polynomial
        error += UNIT * (abs(Fraction(row[2])) + largest) * (1 + UNIT)
        error += 2 * UNIT + UNIT * (2 + abs(Fraction(row[2])) + 2 * largest) + _TINY
        if Fraction(row[4]) < error:
            raise Refused(f"the filter's bound {row[4]} is below the error that is possible, {float(error)}")
    return len(decided)


def _span(place: int, is_last: bool, shift: int, first: int) -> tuple[int, int]:
    """Return the least and the greatest k < 2^63 whose doubles lead to a cell, or some below and above them."""
    greatest = _pattern(float(1 << FIRST_BITS))
    low = max((place + first) << shift, 0) if place else 0
    high = greatest if is_last else min(((place + 1 + first) << shift) - 1, greatest)
    if low > high:
        return 1, 0
    least, most = _double(low), _double(high)
    return max(math.ceil(least / (1 + UNIT)), 0), min(math.floor(most / (1 - UNIT)), (1 << FIRST_BITS) - 1)


def _pattern(value: float) -> int:
    return int.from_bytes(struct.pack(">d", value), "big")


def _double(pattern: int) -> Fraction:
    return Fraction(struct.unpack(">d", pattern.to_bytes(8, "big"))[0])


def _ratio(row: Sequence[Any], low: int, high: int) -> tuple[Fraction, Fraction]:
    """Return bounds of |t/P| and of its computed value, and of their difference."""
    centre, reciprocal = row[0], Fraction(row[1])
    point = centre + Fraction(1, 2)
    exact = max(abs(low - centre), abs(high - centre)) / point
    moved = exact * ((1 + UNIT) ** 2 * (1 + abs(reciprocal * point - 1)) - 1)
    return exact + moved, moved


def _tabled(row: Sequence[Any], scale: Fraction) -> Fraction:
    """Bound the difference of a cell's whole number and fraction from scale·(−ln(P/2^63)), and check the whole number.

    ln P = ln C + ln(1 + 1/2C), and x − x² < ln(1 + x) < x.
    """
    centre, fraction, whole = int(row[0]), float(row[2]), float(row[3])
    if whole != int(whole) or abs(whole) >= 1 << 52:
        raise Refused(f"the filter adds {whole}, which is not a whole number of 52 bits")
    little, places = Fraction(1, 2 * centre), centre.bit_length() - 1
    low, high = _mantissa(Fraction(centre, 1 << places))
    two_low, two_high = _ln_2()
    left = FIRST_BITS - places
    ends = (left * two_low - high - little, left * two_high - low - little + little**2)
    tabled = Fraction(whole) + Fraction(fraction)
    low_end, high_end = (abs(tabled - scale * end) for end in ends)
    return low_end if low_end > high_end else high_end


@lru_cache(maxsize=1 << 12)
def _mantissa(value: Fraction) -> Enclosure:
    return ln(value, _BITS)


@lru_cache(maxsize=1)
def _ln_2() -> Enclosure:
    return ln(Fraction(2), _BITS)


def _polynomial(coefficients: Sequence[Fraction], size: Fraction, scale: Fraction) -> tuple[Fraction, Fraction]:
    """Bound the error of the polynomial against −scale·ln(1 + r), and its modulus, for |r| ≤ `size`."""
    terms = len(coefficients)
    error = scale * size ** (terms + 1) / ((terms + 1) * (1 - size))
    magnitude = rounding = Fraction(0)
    for term in range(terms, 0, -1):
        coefficient = coefficients[term - 1]
        error += abs(coefficient - Fraction((-1) ** term, term) * scale) * size**term
        product = size * (magnitude + rounding)
        rounding = size * rounding + UNIT * product
        magnitude = abs(coefficient) + size * magnitude
        rounding += UNIT * (magnitude + rounding)
    product = size * (magnitude + rounding)
    rounding = size * rounding + UNIT * product
    return error + rounding, product * (1 + UNIT)

"""The binary64 filter that rounds normal noise: what it decides, it decides rightly, for every word of 64 bits.

A word w is the first 64 bits of a uniform U, and Z has P[Z > Z(U)] = U. With m = min(w, 2^64 − 1 − w) the smaller tail
p lies in [m, m + 1]·2^−64. A filter finds a cell by the leading bits of f = fl(m), whose middle c has the same leading
bits and then half of what can follow; it looks up a polynomial and evaluates it at t = f − c, gives it the word's sign,
scales, shifts and rounds it. The expressions are matched, constants and tables are read from them, and the cells are
looked at one by one:

- f takes every double whose leading bits lead to the cell, and t is exact;
- v is what the cell has for t = 0 and C = 2^64·P[Z > v], enclosed. As a function of h = 1 − 2^64·p/C, the quantile z
  has z(0) = v, z' = C/(2^64·φ(z)) and z″ = z·z'²; so all its Taylor coefficients are positive and grow with |z| and
  with z'(0), and those at the least tail of the cell, where z is at most `farthest`, bound the remainder (Lagrange);
- coefficients differ from the true ones, and the difference is computed exactly;
- Horner's rule rounds each product and each sum by one part in 2^53;
- 2^64·p differs from C + t by at most ½ for the bits that are not known, by C − c − ½, and by the rounding of m.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from checker.core.certificate import Refused
from checker.enclosures import normal
from checker.enclosures.elementary import Enclosure
from checker.kinds.cells import UNIT, Cell, cells, constants_of, located
from checker.kinds.trace import Traced, apply, flatnonzero, look_up, matched

WORD = 1 << 64
SUBNORMAL = Fraction(1, 1 << 1074)
"""More than the least number rounds by."""

_DEGREES = ((1 << 4, 1), (1 << 14, 2), (1 << 24, 3))
_BITS = 96
_ONE = 1 << _BITS
_ROUGH = 40


@dataclass(frozen=True)
class Thresholds:
    """Between which numbers noise is rounded.

    Attributes:
        scale: what Z is multiplied by.
        slack: how far from n + ½ thresholds may lie.
        shift_error: how far what is added may be from the shift, which is at most ½ in modulus.
    """

    scale: Fraction
    slack: Fraction
    shift_error: Fraction


@dataclass(frozen=True)
class _Point:
    """A number z with enclosures of φ(z) and P[Z > z]."""

    z: Fraction
    density: Enclosure
    tail: Enclosure


@dataclass(frozen=True)
class _Sum:
    """The polynomial of a cell without its constant.

    Attributes:
        error: the greatest difference of v and the polynomial from z.
        largest: the polynomial's greatest modulus.
        farthest: at least the greatest z.
        middle: v, but for 2^−`_BITS`.
    """

    error: Fraction
    largest: Fraction
    farthest: Fraction
    middle: _Point


def require_normal_filter(
    words: Traced, noise: object, undecided: object, shifts: Traced | float, wanted: Thresholds
) -> tuple[int, Fraction]:
    """Check that shift + scale·Z is rounded to the nearest integer, or left open, for every word and every shift.

    Args:
        words: the traced words.
        noise: what the filter gives for the noise.
        undecided: what it gives for the places that it leaves open.
        shifts: what it is to add.
        wanted: what it is to round.

    Returns:
        How many cells have values, and the greatest |z| in them.

    Raises:
        Refused: it is another expression, or a word may be decided wrongly.
    """
    constants = matched((noise, undecided), _expected(words, shifts, wanted.scale), "the noise")
    if Fraction(constants["scale"]) <= 0:
        raise Refused("the filter's scale is not above 0")
    return _require_distances(constants, wanted)


def _degree(scale: Fraction) -> int:
    known = [degree for greatest, degree in _DEGREES if scale <= greatest]
    if not known:
        raise Refused(f"normal noise of {float(scale)} steps is rounded by binary64, which does not show so many")
    return known[0]


def _tabled(name: str, index: Traced) -> Traced:
    return look_up(Traced.unknown(f"?{name}", "float64").step, index)


def _horner(index: Traced, argument: Traced, degree: int) -> Traced:
    value = _tabled(str(degree), index)
    for order in range(degree - 1, -1, -1):
        value = value * argument + _tabled(str(order), index)
    return value


def _expected(words: Traced, shifts: Traced | float, scale: Fraction) -> tuple[Traced, Traced]:
    """Return the expressions of the noise and of what is undecided, but for constants and tables."""
    signed = words.view("int64")
    rounded, index, middle = located(signed ^ (signed >> 63))
    value = _horner(index, rounded - middle, _degree(scale))
    bits = value.view("int64") ^ (signed & -(1 << 63))
    value = bits.view("float64") * Traced.unknown("?scale", "float64") + shifts
    nearest = apply("rint", value)
    return nearest, flatnonzero(~(abs(value - nearest) <= Traced.unknown("?greatest", "float64")))


def _require_distances(constants: Mapping[str, Any], wanted: Thresholds) -> tuple[int, Fraction]:
    """Check that if y is near enough to n, |shift + scale·Z − n| < ½ − slack, for the worst of all cells.

    y differs from shift + scale·Z by the error of z, and by the roundings of the scale, the shift, the product and the
    sum. y − n is exact, n being the integer nearest to y.
    """
    columns = tuple(tuple(constants[str(order)]) for order in range(_degree(wanted.scale) + 1))
    error, reach, count = _errors(constants_of(constants), columns)
    scale, greatest = Fraction(constants["scale"]), Fraction(constants["greatest"])
    product = scale * reach
    rounding = UNIT * product + SUBNORMAL
    rounding += UNIT * (product + rounding + Fraction(1, 2) + wanted.shift_error) + SUBNORMAL
    off = scale * error + abs(scale - wanted.scale) * (reach + error) + wanted.shift_error + rounding
    if greatest < 0 or not greatest + off + wanted.slack < Fraction(1, 2):
        raise Refused(
            f"values up to {float(greatest)} from an integer are rounded to it, but they may be off by "
            f"{float(off)}, and thresholds by {float(wanted.slack)}"
        )
    return count, reach


@lru_cache(maxsize=4)
def _errors(places: tuple[int, ...], columns: tuple[tuple[float, ...], ...]) -> tuple[Fraction, Fraction, int]:
    """Look at every cell; whatever is computed of NaN is NaN, and no comparison with it is true.

    Returns:
        The greatest error, the greatest |z|, and how many cells have values.
    """
    error = reach = Fraction(0)
    count, before = 0, None
    rows = list(zip(*columns, strict=True))
    for cell in cells(places, [any(map(math.isnan, row)) for row in rows]):
        value, *series = rows[cell.place]
        found = _polynomial(cell, Fraction(value), series, before)
        before = found.middle
        cell_error = found.error + UNIT * (abs(Fraction(value)) + found.largest)
        error, reach, count = max(error, cell_error), max(reach, found.farthest + cell_error), count + 1
    return error, reach, count


def _polynomial(cell: Cell, value: Fraction, series: Sequence[float], before: _Point | None) -> _Sum:
    """Bound the error of the polynomial without its constant, for all words of a cell.

    The coefficient of order k is taken times c^k, and t is taken in parts of c, so that all numbers are near 1; they
    are kept as multiples of 2^−`_BITS`.

    Args:
        cell: the cell.
        value: v.
        series: a_1, …, a_n.
        before: the middle of the cell before this one, if that was looked at.
    """
    centre, degree = cell.middle, len(series)
    if value < 0 or not all(map(math.isfinite, series)):
        raise Refused(f"cell {cell.place} has the value {float(value)} and the coefficients {series}")
    radius = cell.radius
    v = value.numerator * _ONE // value.denominator  # v is moved to a multiple of 2^−_BITS, and counted as off by that
    middle = _point(Fraction(v, _ONE), _BITS)
    tail = middle.tail
    off_centre = max(WORD * tail[1] - centre - Fraction(1, 2), centre + Fraction(1, 2) - WORD * tail[0])
    unknown = Fraction(1, 2) + off_centre + cell.high * UNIT  # of 2^64·p against C + t
    least_tail = (cell.least - unknown - off_centre) / WORD
    if least_tail <= 0:
        raise Refused(f"the cell from {float(cell.low)} on reaches tails of 0")
    is_beyond = before is not None and before.tail[1] <= least_tail
    farthest = before if before is not None and is_beyond else _farthest(middle.z, series, cell, least_tail)
    steepest = 1 / farthest.density[0]  # |dz/dp| at most
    relative, whole_relative = _up(radius / centre), _up((radius + unknown) / (WORD * tail[0]))
    following = _coefficients(_up(farthest.z), _up(tail[1] * steepest), degree + 1, towards=1)[-1]
    error = _power(whole_relative, degree + 1, following) + _up(unknown * steepest / WORD) + 1
    least = _coefficients(v, _up(tail[0] / middle.density[1]) - 1, degree, towards=-1)
    most = _coefficients(v, _up(tail[1] / middle.density[0]), degree, towards=1)
    ratio_low, ratio_high = (_up(centre / (WORD * one)) for one in tail[::-1])
    magnitude = rounding = 0
    for order in range(degree, 0, -1):
        given = _scaled(series[order - 1] if order % 2 == 0 else -series[order - 1], centre, order)
        below = least[order] * (ratio_low - 1) ** order >> _BITS * order
        above = _power(ratio_high, order, most[order])
        error += _power(relative, order, max(given[1] - below, above - given[0], 0))
        size = max(map(abs, given))
        if order < degree:
            product = _times(relative, magnitude + rounding)
            rounding = _times(relative, rounding) + (product >> 53) + 2
            rounding += (size + product + (product >> 53) >> 53) + 2
        magnitude = size + _times(relative, magnitude)
    product = _times(relative, magnitude + rounding)
    rounding = _times(relative, rounding) + (product >> 53) + 2
    return _Sum(Fraction(error + rounding, _ONE), Fraction(product + rounding, _ONE), farthest.z, middle)


def _point(z: Fraction, bits: int) -> _Point:
    return _Point(z, *normal.density_and_tail(z, bits))


def _farthest(near: Fraction, series: Sequence[float], cell: Cell, least_tail: Fraction) -> _Point:
    """Return a short number z with P[Z > z] ≤ `least_tail`; the polynomial says where to look."""
    distance = float(cell.low) - cell.middle
    guess = float(near) + sum(one * distance**order for order, one in enumerate(series, start=1))
    farthest = _point(Fraction(math.ceil(max(guess, 0.0) * 2**18) + 4, 1 << 18), _ROUGH)
    if farthest.tail[1] > least_tail:
        raise Refused(f"the polynomial of the cell from {float(cell.low)} on does not come near the quantile")
    return farthest


def _coefficients(value: int, slope: int, degree: int, *, towards: int) -> list[int]:
    """Return the Taylor coefficients of the solution of z″ = z·z'² with z(0), z'(0) ≥ 0 given, up to a degree.

    Args:
        value: z(0).
        slope: z'(0).
        degree: the last one.
        towards: 1 to round each up, −1 to round it down.
    """
    z, derivative, squares = [value, slope], [slope], []
    for k in range(degree - 1):
        squares.append(sum(derivative[i] * derivative[k - i] for i in range(k + 1)))
        total = sum(z[k - j] * squares[j] for j in range(k + 1))
        z.append(towards * -(-towards * total // ((k + 1) * (k + 2) << 2 * _BITS)))
        derivative.append((k + 2) * z[-1])
    return z


def _up(x: Fraction) -> int:
    """Return a number of at least 0 as a multiple of 2^−`_BITS`, rounded up."""
    return -((-x.numerator << _BITS) // x.denominator)


def _times(one: int, other: int) -> int:
    """Multiply, rounding up."""
    return (one * other >> _BITS) + 1


def _power(base: int, order: int, factor: int) -> int:
    """Return factor·base^order, rounded up."""
    raised: int = base**order
    return (factor * raised >> _BITS * order) + 1


def _scaled(coefficient: float, centre: int, order: int) -> tuple[int, int]:
    """Enclose coefficient·centre^order."""
    top, bottom = coefficient.as_integer_ratio()
    whole = (top * centre**order << _BITS) // bottom
    return whole, whole + 1

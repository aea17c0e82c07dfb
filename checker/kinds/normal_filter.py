"""The binary64 filter that rounds normal noise: what it decides, it decides rightly, for every word of 64 bits.

A word w is the first 64 bits of a uniform U, and Z has P[Z > Z(U)] = U. With m = min(w, 2^64 − 1 − w) the smaller tail
p lies in [m, m + 1]·2^−64. The filter looks up a polynomial by the leading bits of f = fl(m), evaluates it at
t = f − c, c from a table, gives it the word's sign, scales, shifts and rounds it; `traced_filter` takes the traced
expression apart and compares it with that, step by step. The cells of the table are looked at one by one:

- f takes every double whose leading bits lead to the cell, and t is exact (Sterbenz);
- v is the constant coefficient and C = 2^64·P[Z > v], enclosed. As a function of h = 1 − 2^64·p/C, the quantile z has
  z(0) = v, z' = C/(2^64·φ(z)) and z″ = z·z'²; so all its Taylor coefficients are positive and grow with |z| and with
  z'(0), and those at the least tail of the cell, where z is at most `farthest`, bound the remainder (Lagrange);
- coefficients differ from the true ones, and the difference is computed exactly;
- Horner's rule rounds each product and each sum by one part in 2^53;
- 2^64·p differs from C + t by at most 1 for the bits that are not known, by the rounding of m, and by C − c.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from checker.core.certificate import Refused
from checker.enclosures import normal
from checker.kinds.steps import integer, number, operands, require_step, step_of_result
from checker.kinds.trace import Step, Traced, entries

UNIT = Fraction(1, 1 << 53)
WORD = 1 << 64
SUBNORMAL = Fraction(1, 1 << 1074)
"""More than the least number rounds by."""

_BITS = 112
_ONE = 1 << _BITS
_ROUGH = 40


@dataclass(frozen=True)
class Rounding:
    """What a filter was found to compute: rint(scale·z + shift), decided where that is near enough to an integer.

    Args:
        scale: the float that z is multiplied by.
        shift: what is added, a number or the step of an array of them.
        greatest_distance: how far the sum may be from the integer.
        error: the greatest distance of z from Z, over all words that have a value.
        reach: the greatest |z|.
        cells: how many cells have values.
    """

    scale: Fraction
    shift: float | Step
    greatest_distance: Fraction
    error: Fraction
    reach: Fraction
    cells: int


def traced_filter(words: Traced, noise: object, undecided: object) -> Rounding:
    """Take apart what a filter computed of an array of words, and check its table.

    Args:
        words: the traced words.
        noise: what it gives for the noise.
        undecided: what it gives for the places that it leaves open.

    Raises:
        Refused: it is another expression, or a cell's error cannot be bounded.
    """
    nearest = step_of_result(noise, "the noise")
    (value,) = operands(nearest, "rint")
    (condition,) = operands(step_of_result(undecided, "what is undecided"), "flatnonzero", "invert")
    apart, greatest = operands(condition, "less_equal")
    if operands(apart, "absolute", "subtract") != (value, nearest):
        raise Refused(f"the distance from the integer is computed as {apart!r:.200}")
    product, shift = operands(value, "add")
    signed_value, scale = operands(product, "multiply")
    pattern, sign = operands(signed_value, "view", "bitwise_xor")
    signed = words.view("int64")
    require_step(sign, signed & -(1 << 63), "the sign")
    argument, coefficients = _horner(operands(pattern, "view")[0])
    rounded = (signed ^ (signed >> 63)).astype("float64")
    error, reach, cells = _errors(*_tables(coefficients, rounded, argument))
    added = number(shift) if shift.operation == "constant" else shift
    return Rounding(Fraction(number(scale)), added, Fraction(number(greatest)), error, reach, cells)


def require_decisions(found: Rounding, scale: Fraction, shift_error: Fraction, slack: Fraction) -> None:
    """Check that no word is decided wrongly: if |y − n| is small enough, |shift + scale·Z − n| < ½ − slack.

    y differs from shift + scale·Z by the error of z, and by the roundings of the scale, the shift, the product and the
    sum. y − n is exact, n being the integer nearest to y.

    Args:
        found: what the filter computes.
        scale: what Z is to be multiplied by.
        shift_error: the greatest distance of the float that is added from the shift, which is at most ½ in modulus.
        slack: how far from n + ½ thresholds may lie.
    """
    if found.scale <= 0 or found.greatest_distance < 0:
        raise Refused("the filter's scale or its distance is not above 0")
    product = found.scale * found.reach
    rounding = UNIT * product + SUBNORMAL
    rounding += UNIT * (product + rounding + Fraction(1, 2) + shift_error) + SUBNORMAL
    error = found.scale * found.error + abs(found.scale - scale) * (found.reach + found.error) + shift_error + rounding
    if not found.greatest_distance + error + slack < Fraction(1, 2):
        raise Refused(
            f"values up to {float(found.greatest_distance)} from an integer are rounded to it, but they may be off by "
            f"{float(error)}, and thresholds by {float(slack)}"
        )
    if product + 1 >= 1 << 52:
        raise Refused("the noise may have more steps than binary64 has integers")


def _horner(step: Step) -> tuple[Step, list[Step]]:
    """Take Horner's rule apart: (…((a_n·t + a_{n−1})·t + …)·t + a_0.

    Returns:
        The argument t, and the look-ups of a_0, …, a_n.
    """
    coefficients, arguments = [], []
    while step.operation == "add":
        product, coefficient = operands(step, "add")
        step, argument = operands(product, "multiply")
        coefficients.append(coefficient)
        arguments.append(argument)
    coefficients.append(step)
    if not arguments or any(one is not arguments[0] for one in arguments):
        raise Refused("the polynomial is not evaluated by Horner's rule")
    return arguments[0], coefficients


def _tables(coefficients: Sequence[Step], rounded: Traced, argument: Step) -> tuple[int, int, tuple[Step, ...]]:
    """Find the tables of c, a_0, …, a_n, and how they are looked up: at (bits of f >> shift) − first.

    Args:
        coefficients: the look-ups of a_0, …, a_n.
        rounded: f.
        argument: the step of t.
    """
    minuend, centre = operands(argument, "subtract")
    require_step(minuend, rounded, "the argument of the polynomial")
    tables, indices = zip(*(operands(one, "take") for one in [centre, *coefficients]), strict=True)
    shifted, first = operands(indices[0], "subtract")
    shift = integer(operands(shifted, "right_shift")[1])
    for index in indices:
        require_step(index, (rounded.view("int64") >> shift) - integer(first), "the index of a table")
    return shift, integer(first), tables


@lru_cache(maxsize=4)
def _errors(shift: int, first: int, tables: tuple[Step, ...]) -> tuple[Fraction, Fraction, int]:
    """Look at every cell.

    Returns:
        The greatest error, the greatest |z|, and how many cells have values.
    """
    columns = [entries(one) for one in tables]
    last = len(columns[0]) - 1
    if not 0 <= shift < 52 or any(len(one) != last + 1 for one in columns):
        raise Refused("the tables are not of one length")
    error = reach = Fraction(0)
    cells = 0
    for place, numbers in enumerate(zip(*columns, strict=True)):
        span = _span(place, place == last, shift, first)
        if span is None or any(map(math.isnan, numbers)):
            continue  # whatever is computed of NaN is NaN, and no comparison with it is true
        if not all(map(math.isfinite, numbers)):
            raise Refused(f"cell {place} has infinite numbers")
        cell_error, cell_reach = _cell(numbers[0], numbers[1:], *span)
        error, reach, cells = max(error, cell_error), max(reach, cell_reach), cells + 1
    return error, reach, cells


def _span(place: int, is_last: bool, shift: int, first: int) -> tuple[Fraction, Fraction] | None:
    """Return the least and the greatest double f ≤ 2^63 that leads to a cell; indices beyond the ends go to them."""
    most = _pattern(float(WORD // 2))
    low = max((place + first) << shift, 0) if place else 0
    high = most if is_last else min(((place + 1 + first) << shift) - 1, most)
    return (_double(low), _double(high)) if low <= high else None


def _pattern(value: float) -> int:
    return int.from_bytes(struct.pack(">d", value), "big")


def _double(pattern: int) -> Fraction:
    return Fraction(struct.unpack(">d", pattern.to_bytes(8, "big"))[0])


def _cell(centre: float, series: Sequence[float], low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
    """Bound the error of a cell, and |z| in it.

    The coefficient of order k is taken times c^k, and t is taken in parts of c, so that all numbers are near 1; they
    are kept as multiples of 2^−`_BITS`.

    Args:
        centre: c.
        series: a_0, …, a_n.
        low: the least f.
        high: the greatest f.
    """
    value, degree, exact_centre = Fraction(series[0]), len(series) - 1, Fraction(centre)
    if value < 0 or not 1 <= exact_centre <= WORD or not exact_centre / 2 <= low <= high <= 2 * exact_centre:
        raise Refused(f"the cell from {float(low)} to {float(high)} is too wide, or lies on the other side of 0")
    radius = max(high - exact_centre, exact_centre - low)
    tail, slope = normal.tail(value, _BITS), normal.density(value, _BITS)
    off_centre = max(WORD * tail[1] - exact_centre, exact_centre - WORD * tail[0])
    unknown = 1 + high * UNIT + off_centre  # of 2^64·p against C + t
    least_tail = (low - unknown - off_centre) / WORD
    if least_tail <= 0:
        raise Refused(f"the cell from {float(low)} on reaches tails of 0")
    farthest = _farthest(series, centre, low, least_tail)
    steepest = 1 / normal.density(farthest, _ROUGH)[0]  # |dz/dp| at most
    relative, whole_relative = _up(radius / exact_centre), _up((radius + off_centre) / (WORD * tail[0]))
    following = _coefficients(_up(farthest), _up(tail[1] * steepest), degree + 1, towards=1)[-1]
    error = _power(whole_relative, degree + 1, following) + _up(unknown * steepest / WORD)
    least = _coefficients(_up(value) - 1, _up(tail[0] / slope[1]) - 1, degree, towards=-1)
    most = _coefficients(_up(value), _up(tail[1] / slope[0]), degree, towards=1)
    ratio_low, ratio_high = _up(exact_centre / (WORD * tail[1])) - 1, _up(exact_centre / (WORD * tail[0]))
    given = [_scaled(one if order % 2 == 0 else -one, centre, order) for order, one in enumerate(series)]
    magnitude = rounding = 0
    for order in range(degree, -1, -1):
        if order:
            below = least[order] * ratio_low**order >> _BITS * order
            above = _power(ratio_high, order, most[order])
            error += _power(relative, order, max(given[order][1] - below, above - given[order][0], 0))
        size = max(map(abs, given[order]))
        if order < degree:
            product = _times(relative, magnitude + rounding)
            rounding = _times(relative, rounding) + (product >> 53) + 2
            rounding += (size + product + (product >> 53) >> 53) + 2
        magnitude = size + _times(relative, magnitude)
    whole_error = Fraction(error + rounding, _ONE)
    return whole_error, farthest + whole_error


def _farthest(series: Sequence[float], centre: float, low: Fraction, least_tail: Fraction) -> Fraction:
    """Return a short number z with P[Z > z] ≤ `least_tail`; the polynomial says where to look."""
    guess = sum(one * (float(low) - centre) ** order for order, one in enumerate(series))
    farthest = Fraction(math.ceil(max(guess, 0.0) * 2**14) + 4, 1 << 14)
    if normal.tail(farthest, _ROUGH)[1] > least_tail:
        raise Refused(f"the polynomial of the cell from {float(low)} on does not come near the quantile")
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


def _scaled(coefficient: float, centre: float, order: int) -> tuple[int, int]:
    """Enclose coefficient·centre^order."""
    (top, bottom), (centre_top, centre_bottom) = coefficient.as_integer_ratio(), centre.as_integer_ratio()
    whole = (top * centre_top**order << _BITS) // (bottom * centre_bottom**order)
    return whole, whole + 1

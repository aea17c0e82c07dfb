"""⌊offset ± (scale·E + shift)⌋ for E = −ln U by binary64, from 63 bits of U, where an error bound decides it.

The integer k of the bits leads to a cell, whose middle is c; a polynomial of t/c, t near k − c, stands for
−scale·ln(1 + t/c), and a table has scale·(−ln(c/2^63)) plus the shift, which is public. A coarse filter takes
t = fl(k) − c and adds the two up. A fine one takes t = k − c and has the tabled number as a whole number and a
fraction. The checker reads the tables from the expression and finds a bound of its own for every cell, all its words
and all offsets of [0, 1]: the offset stays an unknown number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from checker.core.certificate import Refused
from checker.enclosures.elementary import Enclosure, ln
from checker.kinds.cells import UNIT, cells, constants_of, located
from checker.kinds.trace import Traced, apply, look_up, number

FIRST_BITS = 63
"""The bits of U that the filter sees."""

_LEAST_SCALE, _GREATEST_SCALE = Fraction(1, 1 << 900), 1 << 46
_COARSE_UP_TO = 1 << 24
_TERMS = ((_COARSE_UP_TO, 3), (1 << 38, 4))
_MOST_TERMS = 5
_BITS = 140
_NO_SHIFT: Enclosure = (Fraction(0), Fraction(0))
_TINY = Fraction(1, 1 << 1000)
"""More than all products that underflow can add."""


def _terms(scale: Fraction) -> int:
    return next((terms for greatest, terms in _TERMS if scale <= greatest), _MOST_TERMS)


def floors_by_filter(leading: Traced, signs: Traced, offset: Traced | float, scale: Fraction) -> tuple[Traced, Traced]:
    """Return the expressions of the floors, and of which are undecided, but for constants and tables.

    Args:
        leading: the first 63 bits of U, as int64.
        signs: words whose top bit says that the sign is −.
        offset: doubles, or one for all.
        scale: which says which filter it is, and how many terms its polynomial has; see `require_bounds`.
    """
    rounded, index, middle = located(leading)
    negative = signs & number(1 << 63, "uint64")

    def tabled(name: str) -> Traced:
        return look_up(Traced.unknown(f"?{name}", "float64").step, index)

    def signed(value: Traced) -> Traced:
        bits: Traced = value.view("uint64") ^ negative
        return bits.view("float64")

    if scale <= _COARSE_UP_TO:
        value = signed(_polynomial_of((rounded - middle) / middle, scale) + tabled("terms")) + offset
        distance = abs(value - apply("rint", value))
        return apply("floor", value), ~(distance > Traced.unknown("?bound", "float64"))
    exact = (leading - middle.astype("int64")).astype("float64")
    value = signed(_polynomial_of(exact / middle, scale) + tabled("fractions")) + offset
    distance = abs(value - apply("rint", value))
    return apply("floor", value) + signed(tabled("wholes")), ~(distance > tabled("bounds"))


def _polynomial_of(ratio: Traced, scale: Fraction) -> Traced:
    *lower, highest = (Traced.unknown(f"?{term}", "float64") for term in range(1, _terms(scale) + 1))
    value: Traced = highest * ratio
    for coefficient in lower[::-1]:
        value = (value + coefficient) * ratio
    return value


def require_bounds(constants: Mapping[str, Any], scale: Fraction, shift: Enclosure = _NO_SHIFT) -> int:
    """Check that the filter calls nothing decided that is not, for every word, every offset of [0, 1] and both signs.

    An offset is off by 2u at most: it is a number of [−½, ½], rounded, and ½, added with one rounding. In a cell, let
    k be one of its integers, c its middle, and ρ at least |(k − c)/c|, |t/c| and its computed value, for all cells:

    1. U lies in [k, k + 1]·2^−63, so E is within 1/k of −ln(k/2^63) = −ln(c/2^63) − ln(1 + (k − c)/c), and below it;
       so it is within 1/2k + d of that less any number within d of 1/2k, such as 1/2c.
    2. What is tabled differs from scale·(−ln(c/2^63) − 1/2c) + shift by no more than enclosures show.
    3. t may be off by the rounding of k, and t/c is rounded; ln(1 + r) moves by 1/(1 − ρ) as much.
    4. The series leaves out ρ^(d+1)/((d + 1)(1 − ρ)) at most; coefficients differ from the true ones as they do.
    5. Horner's rule, the sum with what is tabled and that with the offset are rounded, each by u times its result.

    Where the computed value is farther than all this from the nearest integer, no integer lies between it and the
    truth; a word of a cell whose bound is ½ or more, or that has NaN, is never decided. The whole number is added
    without rounding.

    Args:
        constants: those of `floors_by_filter`.
        scale: of the noise.
        shift: an enclosure of what is added to scale·E.

    Returns:
        The number of cells in which words are decided.

    Raises:
        Refused: a bound is too small, or the scale is out of range.
    """
    if not _LEAST_SCALE <= scale <= _GREATEST_SCALE:
        raise Refused(f"a scale of {float(scale)} steps is out of the filter's range")
    if scale <= _COARSE_UP_TO:
        bound = constants["bound"]
        rows = tuple(
            (math.nan, math.nan, bound) if math.isnan(term) else (0.0, term, bound)  # one NaN, which equals itself
            for term in constants["terms"]
        )
    else:
        rows = tuple(zip(*(constants[name] for name in ("wholes", "fractions", "bounds")), strict=True))
    coefficients = tuple(Fraction(constants[str(term)]) for term in range(1, _terms(scale) + 1))
    return _require_cells(constants_of(constants), rows, coefficients, scale, shift)


@lru_cache(maxsize=8)
def _require_cells(
    places: tuple[int, ...],
    rows: Sequence[Sequence[float]],
    coefficients: Sequence[Fraction],
    scale: Fraction,
    shift: Enclosure,
) -> int:
    decided = list(cells(places, [math.isnan(whole) or not bound < 0.5 for whole, _, bound in rows]))
    is_coarse = scale <= _COARSE_UP_TO
    ratios = [cell.radius / cell.middle for cell in decided]
    greatest = max(ratios, default=Fraction(0)) * (1 + 2 * UNIT)
    if greatest >= Fraction(1, 64):
        raise Refused(f"the filter's cells reach to {float(greatest)} of their middles")
    polynomial, largest = _polynomial(coefficients, greatest, scale)
    for cell in decided:
        whole, tabled, bound = rows[cell.place]
        argument = UNIT * (greatest + (cell.greatest / cell.middle if is_coarse else 0)) * (1 + 2 * UNIT)
        halves = abs(1 / cell.least - 1 / cell.greatest) / 2
        error = scale * (1 / (2 * cell.least) + halves + argument / (1 - greatest)) + polynomial
        error += _tabled(cell.middle, whole, tabled, scale, shift)
        size = abs(Fraction(tabled))
        error += UNIT * (size + largest) * (1 + UNIT) + 2 * UNIT + UNIT * (2 + size + 2 * largest) + _TINY
        if Fraction(bound) < error:
            raise Refused(f"the filter's bound {bound} is below the error that is possible, {float(error)}")
    return len(decided)


def _tabled(middle: int, whole: float, fraction: float, scale: Fraction, shift: Enclosure) -> Fraction:
    """Bound the difference of what is tabled from scale·(−ln(c/2^63) − 1/2c) + shift, and check the whole number."""
    if whole != math.floor(whole) or abs(whole) >= 1 << 52 or not math.isfinite(fraction):
        raise Refused(f"the filter adds {whole}, which is not a whole number of 52 bits, or {fraction}")
    places = middle.bit_length() - 1
    low, high = _mantissa(Fraction(middle, 1 << places))
    two_low, two_high = _ln_2()
    left = FIRST_BITS - places
    half = Fraction(1, 2 * middle)
    ends = (left * two_low - high - half, left * two_high - low - half)
    tabled = Fraction(whole) + Fraction(fraction)
    low_end, high_end = (abs(tabled - scale * end - by) for end, by in zip(ends, shift, strict=True))
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

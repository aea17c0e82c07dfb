"""The logarithm of doubles by +, −, × and ÷: the expression, and the checker's own bound of its error.

x = 2^e·m with m in [m₀, 2·m₀), m₀ ≈ √½, and ln x = e·ln 2 + 2·artanh((m − 1)/(m + 1)) by ten terms of the series. The
reduction is classical. All terms of the series are positive, so that relative errors can be carried from step to step:
in a sum each part brings its own relative error, by its share of the sum.
"""

from __future__ import annotations

import struct
from fractions import Fraction
from functools import lru_cache
from math import isqrt

from checker.enclosures.elementary import ln, up
from checker.kinds.trace import Traced

UNIT = Fraction(1, 1 << 53)
"""The relative error u of one operation on doubles, rounded to nearest."""

TERMS = 10
COEFFICIENTS = tuple(float(Fraction(1, 2 * k + 1)) for k in range(TERMS))
LN_2 = float(sum(ln(Fraction(2), 120)) / 2)


@lru_cache(maxsize=1)
def least_mantissa() -> tuple[int, float]:
    """Return m₀, the least double whose square is at least ½: its bits and its value."""
    steps = isqrt(1 << 105)  # √½ in steps of 2^−53
    value = (steps + (steps * steps < 1 << 105)) * 2.0**-53
    return struct.unpack("<q", struct.pack("<d", value))[0], value


def ln_of_doubles(x: Traced) -> Traced:
    """Return the expression of ln x, for an array of normal positive doubles."""
    pattern = x.view("int64")
    exponent = (pattern - least_mantissa()[0]) >> 52
    m = (pattern - (exponent << 52)).view("float64")
    s = (m - 1.0) / (m + 1.0)
    y = s * s
    series = COEFFICIENTS[-1] * y
    for coefficient in COEFFICIENTS[-2:0:-1]:
        series = (series + coefficient) * y
    series = series + COEFFICIENTS[0]
    result: Traced = series * (s + s) + exponent * LN_2
    return result


@lru_cache(maxsize=1)
def ln_error() -> Fraction:
    """Bound |computed − ln x|/|ln x|, for every normal positive x.

    1. m − 1 is exact (½ ≤ m ≤ 2: Sterbenz); m + 1 and the quotient are rounded once each.
    2. y, the products and the sums of Horner's rule: a factor 1 + u each, beside the errors of the operands. In c + a,
       with 0 ≤ a ≤ A, the share of a is at most A/(c + A).
    3. The coefficients and what the series leaves out move Σ y^k/(2k + 1) ≥ 1 by so much in absolute terms, at most.
    4. For e = 0 nothing is added. Otherwise |e|·ln 2 and |ln m| are at most so many times |ln x|, as |ln m| ≤ M < ln 2.
    """
    one = 1 + UNIT
    m = Fraction(least_mantissa()[1])
    largest = max((1 - m) / (1 + m), (2 * m - 1) / (2 * m + 1))
    y = largest**2
    s_factor = one / (1 - UNIT)
    y_factor = s_factor**2 * one
    high, factor = Fraction(COEFFICIENTS[-1]) * y, y_factor * one
    for coefficient in map(Fraction, COEFFICIENTS[-2::-1]):
        share = high / (coefficient + high)
        high, factor = coefficient + high, up((1 + share * (factor - 1)) * one, 200)
        if coefficient != COEFFICIENTS[0]:
            high, factor = high * y, factor * y_factor * one
    coefficients = [Fraction(c) - Fraction(1, 2 * k + 1) for k, c in enumerate(COEFFICIENTS)]
    moved = sum((abs(difference) * y**k for k, difference in enumerate(coefficients)), Fraction(0))
    moved += y**TERMS / ((2 * TERMS + 1) * (1 - y))
    mantissa = factor * s_factor * one * (1 + moved) - 1
    (ln_2, above), greatest = ln(Fraction(2), 120), max(ln(2 * m, 120)[1], -ln(m, 120)[0])
    multiple = (1 + max(abs(Fraction(LN_2) - ln_2), abs(Fraction(LN_2) - above)) / ln_2) * one - 1
    rest = ln_2 - greatest
    whole = (1 + multiple * above / rest + mantissa * greatest / rest) * one - 1
    return up(max(mantissa, whole), 120)

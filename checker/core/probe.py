"""A probe of what the checker trusts of Python and of the machine: integers, and binary64 rounded to nearest."""

from __future__ import annotations

import sys
from fractions import Fraction

from checker.core.certificate import Refused


def require_arithmetic() -> None:
    """Check the formats and the rounding mode.

    Raises:
        Refused: a double is not IEEE 754's binary64, or it is not rounded to nearest, ties to even.
    """
    if (sys.float_info.mant_dig, sys.float_info.max_exp, sys.float_info.min_exp) != (53, 1024, -1021):
        raise Refused("floats are not binary64")
    one, unit, least = float(1), 2.0**-53, 2.0**-1074
    to_nearest = one + unit == one and one + 3 * unit == one + 4 * unit and -one - unit == -one
    if not to_nearest or least / 2 != 0 or 3 * least / 2 != 2 * least:
        raise Refused("floats are not rounded to nearest, ties to even")
    if Fraction(1, 3) - Fraction(float(Fraction(1, 3))) != Fraction(1, 3 << 54):
        raise Refused("a rational is not rounded to the nearest float")

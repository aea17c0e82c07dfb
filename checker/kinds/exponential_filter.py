"""⌊offset ± scale·E⌋ for E = −ln U by binary64, from 63 bits of U, where an error bound decides it.

The checker finds the error bound itself, for all words and for all offsets of [0, 1): the offset stays an unknown
number.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from checker.core.certificate import Refused
from checker.kinds.logarithm import UNIT, ln_error, ln_of_doubles
from checker.kinds.trace import Traced, apply, number

FIRST_BITS = 63
"""The bits of U that the filter sees."""

_LEAST_SCALE, _GREATEST_SCALE = Fraction(1, 1 << 900), 1 << 54


def floors_by_filter(leading: Traced, signs: Traced | None, offset: Traced | float) -> tuple[Traced, Traced]:
    """Return the expressions of the floors, and of which are undecided, but for four constants; see `require_bounds`.

    Args:
        leading: the first 63 bits of U, as int64.
        signs: words whose top bit says that the sign is −; None if all are +.
        offset: a double.
    """
    relative, absolute, leftover, slope = (
        Traced.unknown(name, "float64") for name in ("?relative", "?absolute", "?leftover", "?slope")
    )
    x = apply("maximum", leading, 1).astype("float64") * 2.0**-FIRST_BITS
    magnitude = ln_of_doubles(x) * slope
    bound = magnitude * relative + absolute + leftover / x
    if signs is not None:
        magnitude = (magnitude.view("uint64") | (signs & number(1 << 63, "uint64"))).view("float64")
    value = magnitude + offset
    distance = abs(value - apply("rint", value))
    undecided = (leading == 0) | (distance <= bound)
    return apply("floor", value).astype("int64"), undecided


def require_bounds(constants: Mapping[str, float], scale: Fraction) -> None:
    """Check that the filter calls nothing decided that is not, for every word, every offset of [0, 1) and both signs.

    Let k ≥ 1 be the 63 bits, x the double of k·2^−63 (one rounding: k·2^−63 is within u of it, relatively), and p the
    computed magnitude of scale·(−ln x), with a rounded scale, the logarithm's error λ and a rounded product:

    1. scale·(−ln x) lies within R·p of p, R = 1/((1 − λ)(1 − u)²) − 1.
    2. U lies in [k, k + 1]·2^−63, so E is within 1/k + u/(1 − u) of −ln x, and 1/k ≤ (1 + u)/(2^63·x).
    3. The offset is rounded by at most u, and the sum by at most u·(p + 1).

    The bound is evaluated by three roundings after the constants', none of which underflows for such scales. If the
    computed value is farther than the error from the nearest integer, no integer lies between it and the truth.

    Raises:
        Refused: a constant is too small, or the scale is out of range.
    """
    if not _LEAST_SCALE <= scale <= _GREATEST_SCALE:
        raise Refused(f"a scale of {float(scale)} steps is out of the filter's range")
    slope, relative, absolute, leftover = (
        Fraction(constants[name]) for name in ("slope", "relative", "absolute", "leftover")
    )
    if abs(-slope - scale) > UNIT * scale:
        raise Refused(f"the filter's slope is {slope}, not {-scale}")
    rounded = (1 - UNIT) ** 3
    least_relative = 1 / ((1 - ln_error()) * (1 - UNIT) ** 2) - 1 + UNIT
    least_absolute = scale * UNIT / (1 - UNIT) + 2 * UNIT
    least_leftover = scale * (1 + UNIT) / (1 << FIRST_BITS)
    for name, given, least in (
        ("relative", relative, least_relative),
        ("absolute", absolute, least_absolute),
        ("leftover", leftover, least_leftover),
    ):
        if given * rounded < least:
            raise Refused(
                f"the filter's {name} bound {float(given)} is below the error that is possible, {float(least)}"
            )

"""⌊a + b·E⌋ for a standard exponential variate E = −log U, exactly, one at a time or a whole array at once.

U is a real number uniform in (0, 1) whose bits are drawn as they are needed: the integer is decided as soon as every
continuation of the bits so far gives the same. Both discrete Laplace noise by inversion (⌊s·E⌋ is geometric) and the
correctly rounded ideal Laplace mechanism (⌊f + ½ ± s·E⌋) are such integers.

- Reference: the logarithms of both ends of U's interval are enclosed by MPFR with directed rounding, the rest is
  rational arithmetic; where the ends disagree, more bits of U are drawn.
- Filter (`mechanisms.laplace.floor_filter`): 63 bits of U at once, in binary64 with a proven bound. It leaves the draws
  that it can't decide to the reference, which draws more bits of the same U. So both are the same function of the
  bits of U, and which of them decided can't be seen in the outputs.

The idea of deciding most cases by floating point with a proven bound is the floating-point filter of exact
geometric predicates: J. Shewchuk 1997, 'Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric
Predicates', section 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import gmpy2

from mechanisms.randomness import RandomBits
from mechanisms.rounding import rounding

_GUARD = 64  # bits of precision beyond those drawn, so that rounding widens an enclosure by a 2^−64th of its width


def minus_log(numerator: int, length: int, *, upward: bool) -> Any:
    """Round −log(numerator/2^length) to a rational (gmpy2.mpq) above it (`upward`) or below it."""
    down, up = rounding(length + _GUARD)
    context = down if upward else up
    above, below = context.log(context.div(numerator, 1 << length)).as_integer_ratio()  # the quotient is exact
    return gmpy2.mpq(-above, below)


def decide_monotone(
    value_at: Callable[[Any], Any], least_decidable: int, leading: int, length: int, bits: RandomBits
) -> Any:
    """Find the value of a monotone function at E, for a U whose first bits are known.

    Args:
        value_at: the function, of a rational number (gmpy2.mpq) to integers. Where it has one value at two numbers with
            E between them, it has that value at E.
        least_decidable: leading bits that make a smaller integer are not looked at; at least 1.
        leading: the known bits, as an integer; U lies in [leading, leading + 1]/2^length.
        length: how many there are.
        bits: the source of the bits that follow, drawn only if they are needed.
    """
    while True:
        if leading >= least_decidable:
            decided = value_at(minus_log(leading, length, upward=True))
            if decided == value_at(minus_log(leading + 1, length, upward=False)):
                return decided
        leading = leading << 1 | bits.take(1)
        length += 1


def decide_floor(offset: Fraction, slope: Fraction, leading: int, length: int, bits: RandomBits) -> int:
    """Find ⌊offset + slope·E⌋ for a U whose first bits are known.

    Args:
        offset: a rational number.
        slope: a rational number, of either sign.
        leading: the known bits, as an integer; U lies in [leading, leading + 1]/2^length.
        length: how many there are.
        bits: the source of the bits that follow, drawn only if they are needed.
    """
    exact_slope = gmpy2.mpq(slope)

    def value_at(exponential: Any) -> Any:
        return math.floor(exact_slope * exponential + offset)

    # E's interval is longer than 1/(leading + 1): where its image is longer than 1, it need not be looked at.
    return int(decide_monotone(value_at, max(1, math.floor(abs(slope))), leading, length, bits))


def floor_of_exponential(offset: Fraction, slope: Fraction, bits: RandomBits) -> int:
    """Draw ⌊offset + slope·E⌋, E a standard exponential variate; see `decide_floor`."""
    return decide_floor(offset, slope, 0, 0, bits)

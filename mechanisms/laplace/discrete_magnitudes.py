"""|N| of discrete Laplace noise N from one uniform, given N's sign: ⌊s·E + c⌋ for a standard exponential E = −log U.

With q = e^(−1/s), P[N ≥ k] = P[N ≤ −k] = q^k/(1 + q) for k ≥ 1. Were the sign a fair coin and |N| independent of it,
P[|N| ≥ k] would have to be 2q^k/(1 + q); and P[s·E + c ≥ k] = e^(−(k − c)/s) is just that for

    c = s·ln(2/(1 + q)).

Both signs lead to 0, each with half of its probability. c lies between 0 and ½, as it is ½ − s·ln cosh(1/2s). A sum of
a rational number and c is never an integer: e^r + e^(r − 1/s) = 2 for a rational r would contradict the theorem of
Lindemann and Weierstrass. So its floor is found by enclosing c, the more finely the nearer the sum is to an integer.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import gmpy2

from mechanisms.laplace.exact_randomized_response import enclose_logistic
from mechanisms.laplace.exponential_variates import decide_monotone
from mechanisms.randomness import RandomBits
from mechanisms.rounding import rounding

OFFSET_BITS = 128
"""The precision at which c is enclosed first: all but one sum in 2^70 is decided by that."""

Ends = tuple[Any, Any]
"""Rationals (gmpy2.mpq) below and above a number."""


def enclose_offset(scale: Fraction, precision: int) -> Ends:
    """Enclose c = scale·ln(2/(1 + e^(−1/scale))).

    Nothing is kept for the next call: a scale can depend on private data.

    Args:
        scale: a rational number, above 0.
        precision: of the logarithm, in bits.
    """
    down, up = rounding(precision)
    below, above = (2 * share for share in enclose_logistic(1 / scale, precision))
    least = down.log(down.div(below.numerator, below.denominator))
    greatest = up.log(up.div(above.numerator, above.denominator))
    exact_scale = gmpy2.mpq(scale)
    return exact_scale * gmpy2.mpq(least), exact_scale * gmpy2.mpq(greatest)


def floor_with_offset(number: Any, scale: Fraction, ends: Ends) -> int:
    """Return ⌊number + c⌋ for a rational number (gmpy2.mpq) and an enclosure of c, which is made finer if need be."""
    precision = OFFSET_BITS
    while True:
        below, above = ends
        floor: int = math.floor(number + below)
        if floor == math.floor(number + above):
            return floor
        precision *= 2
        ends = enclose_offset(scale, precision)


def decide_magnitude(scale: Fraction, ends: Ends, leading: int, length: int, bits: RandomBits) -> int:
    """Find ⌊scale·E + c⌋ for a U whose first bits are known.

    Args:
        scale: a rational number, above 0.
        ends: an enclosure of c, such as `enclose_offset` of `OFFSET_BITS`.
        leading: the known bits, as an integer; U lies in [leading, leading + 1]/2^length.
        length: how many there are.
        bits: the source of the bits that follow, drawn only if they are needed.
    """
    exact_scale = gmpy2.mpq(scale)

    def value_at(exponential: Any) -> int:
        return floor_with_offset(exact_scale * exponential, scale, ends)

    return int(decide_monotone(value_at, max(1, math.floor(scale)), leading, length, bits))

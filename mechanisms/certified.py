"""Polynomials of whole arrays in binary64, with a proven error bound.

Fast paths filter with them: where the proven bound decides a draw, the draw needs no exact
arithmetic. The bound rests on IEEE 754 alone, on round-to-nearest + and × of normal numbers; neither a libm's
nor numpy's accuracy is trusted. It is computed in rational arithmetic and from the very coefficients that are used, by
the argument written beside it.

Notation: u = 2^−53, so that a correctly rounded operation multiplies the true result by 1 + d, |d| ≤ u.
Arrays of about `CHUNK` elements keep the temporaries in a core's cache, which is most of the speed.

Source: N. Higham 2002, 'Accuracy and Stability of Numerical Algorithms', chapter 2 and section 5.1 (the error of
Horner's rule).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

CHUNK = 16384
"""Elements whose temporaries (128 KiB each) stay in a core's second cache; numpy's calls cost less than their work."""

UNIT = Fraction(1, 2**53)
"""The relative error u of a correctly rounded binary64 operation."""


def round_up(value: Fraction) -> float:
    """Return the least binary64 that is at least a rational above 0; it may be infinite."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def horner(coefficients: Sequence[float], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Evaluate Σ coefficients[k]·x^k by Horner's rule, for two coefficients or more."""
    result = coefficients[-1] * x
    for coefficient in coefficients[-2:0:-1]:
        result += coefficient
        result *= x
    result += coefficients[0]
    return result


def horner_error(coefficients: Sequence[float], largest: Fraction) -> Fraction:
    """Bound the absolute error of `horner` for |x| ≤ `largest`.

    The error is that of the result against Σ a_k·x^k, where every coefficient is its a_k correctly rounded. With
    q_k = a_k + x·q_{k+1}, |q_k| ≤ M_k and the error e_{k+1} already bounded, the product is off by x·e_{k+1}
    and by its rounding u·x·(M_{k+1} + e_{k+1}), the coefficient by u·|a_k|, and the sum of the two by its
    rounding, u times the largest it can be.
    """
    magnitude = error = Fraction(0)
    for coefficient in reversed(coefficients):
        exact_coefficient = abs(Fraction(coefficient)) / (1 - UNIT)
        product_error = largest * error + UNIT * largest * (magnitude + error)
        magnitude = exact_coefficient + largest * magnitude
        error = product_error + UNIT * exact_coefficient
        error += UNIT * (magnitude + error)
    return error

"""The logarithm of whole arrays in binary64, with a proven error bound.

Fast paths filter with it: where the proven bound decides a draw, the draw needs no exact
arithmetic. The bound rests on IEEE 754 alone, on round-to-nearest +, −, × and ÷ of normal numbers; neither a libm's
nor numpy's accuracy is trusted. It is computed when this module is imported, in rational arithmetic and from the
very coefficients that are used, by the argument written beside it.

Notation: u = 2^−53, so that a correctly rounded operation multiplies the true result by 1 + d, |d| ≤ u.
Arrays of about `CHUNK` elements keep the temporaries in a core's cache, which is most of the speed.

Source: N. Higham 2002, 'Accuracy and Stability of Numerical Algorithms', chapter 2 and section 5.1 (the error of
Horner's rule); the reduction of the logarithm to 2·artanh((m − 1)/(m + 1)) is classical.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import gmpy2
import numpy as np
from numpy.typing import NDArray

CHUNK = 8192
"""Elements whose temporaries (64 KiB each) stay in a core's cache."""

UNIT = Fraction(1, 2**53)
"""The relative error u of a correctly rounded binary64 operation."""

_LOG_TERMS = 10

_SQRT_HALF_BITS = np.int64(0x3FE6A09E667F3BCD)  # of the least binary64 above √½
_NEAREST = gmpy2.context(precision=53)  # rounds so whatever the mode of this process is when the module is imported
_LN_2 = float(_NEAREST.const_log2())
_ARTANH_COEFFICIENTS = tuple(float(_NEAREST.div(1, 2 * k + 1)) for k in range(_LOG_TERMS))


def round_up(value: Fraction) -> float:
    """Return the least binary64 that is at least a rational above 0; it may be infinite."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def _horner(coefficients: Sequence[float], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Evaluate Σ coefficients[k]·x^k by Horner's rule."""
    result = coefficients[-1] * x
    for coefficient in coefficients[-2:0:-1]:
        result += coefficient
        result *= x
    result += coefficients[0]
    return result


def _horner_error(coefficients: Sequence[float], largest: Fraction) -> Fraction:
    """Bound the absolute error of `_horner` for 0 ≤ x ≤ `largest`.

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


def _log_error() -> Fraction:
    """Bound the relative error of `log`.

    Write x = 2^e·m with √½ < m < √2, and s = (m − 1)/(m + 1), so that |s| < 0.1716.

    1. m − 1 is exact, m + 1 and the quotient are rounded: s is off by a factor (1 ± u)/(1 ∓ u).
       Since artanh'(s) = 1/(1 − s²) and artanh(s) ≥ s, artanh is off by at most 1/(1 − s²) times as much.
    2. With y = s², artanh(s)/s = Σ y^k/(2k + 1) ≥ 1. The terms that are left out come to y^K/((2K + 1)(1 − y)) at
       most; rounding y moves the sum by at most u·y·Σ k·y^(k−1)/(2k + 1) ≤ u·y/(2(1 − y)²); Horner's rule adds
       its own error.
    3. The product with 2s (a doubling is exact) is rounded once. That is log m, relative error ρ.
    4. e·ln 2 carries the rounding of the constant and of the product, λ = (1 + u)² − 1. For e = 0 nothing is
       added and ρ is all. Otherwise |log x| ≥ |e|·ln 2 − ½·ln 2, so |e|·ln 2 ≤ 2·|log x| and |log m| ≤ |log x|:
       before the last rounding the sum is off by at most 2λ + ρ.
    """
    s = Fraction(1716, 10_000)
    y = s * s * (1 + UNIT)
    quotient = ((1 + UNIT) / (1 - UNIT) - 1) / (1 - y)
    left_out = y**_LOG_TERMS / ((2 * _LOG_TERMS + 1) * (1 - y))
    series = left_out + UNIT * y / (2 * (1 - y) ** 2) + _horner_error(_ARTANH_COEFFICIENTS, y)
    mantissa = (1 + quotient) * (1 + series) * (1 + UNIT) - 1
    multiple_of_ln_2 = (1 + UNIT) ** 2 - 1
    return (1 + 2 * multiple_of_ln_2 + mantissa) * (1 + UNIT) - 1


LOG_ERROR = round_up(_log_error())
"""`log(x)` lies within LOG_ERROR·|log x| of log x."""


def log(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Approximate the natural logarithm.

    Args:
        x: normal, positive, finite numbers (this is not checked).

    Returns:
        log x, elementwise, within the relative error `LOG_ERROR` (0 exactly where x = 1).
    """
    pattern = x.view(np.int64)
    exponent = (pattern - _SQRT_HALF_BITS) >> 52
    m = (pattern - (exponent << 52)).view(np.float64)
    s = m - 1.0
    m += 1.0
    s /= m
    result = _horner(_ARTANH_COEFFICIENTS, s * s)
    s += s
    result *= s
    result += exponent * _LN_2
    return result

"""The normal quantile of whole arrays of 64-bit words in binary64, with a proven error bound.

A word w stands for a uniform U of which 64 bits are known, U ∈ [w, w + 1]·2^−64, and Z with P[Z > z] = U is wanted. The
Gaussians' fast paths round Z to a grid by this approximation wherever its bound decides the rounding.

The range of the smaller tail p = min(U, 1 − U) is cut into 2^6 cells a binade, and on each Z is a polynomial of degree
6: its Taylor series in p, whose terms follow from dz/dp = −1/φ(z). The bound rests on MPFR, which makes the
coefficients, and on IEEE 754's + and ×, which evaluate them; README.md has the analysis. Below p = 2^−18 there are no
cells, and the result is NaN.

The recurrence of the derivatives is in Steinbrecher and Shaw 2008, 'Quantile mechanics'; the table with a
bound that covers the unknown rest of the uniform is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import factorial
from statistics import NormalDist

import gmpy2
import numpy as np
from gmpy2 import mpfr, mpq
from numpy.typing import NDArray

from mechanisms.certified import UNIT

REACH = 4.5
"""No word that has a cell stands for |Z| as large as this: P[Z > 4.5] < 2^−18."""

_BINADES = 17
_CELL_BITS = 6
_DEGREES = (4, 5, 6)
_DEGREE = 6
_CELLS = _BINADES << _CELL_BITS
_PRECISION = 96

_INDEX_SHIFT = np.int64(52 - _CELL_BITS)
_FIRST_INDEX = np.int64(((1023 + 63 - _BINADES) << _CELL_BITS) - 1)
_STANDARD = NormalDist()
_SIGN_BIT = np.int64(-(2**63))


@dataclass(frozen=True)
class _Table:
    """One Taylor polynomial a cell, after a cell of NaN for what lies below, and the last one twice for p = ½ itself.

    Attributes:
        centres: 2^64·p at the cells' centres, shape (cells + 2,).
        coefficients: of the powers of 2^64·(p − centre), shape (degree + 1, cells + 2).
        bounds: the greatest error of any cell, by the degree of what is evaluated.
    """

    centres: NDArray[np.float64]
    coefficients: NDArray[np.float64]
    bounds: dict[int, float]


def normal_quantile(words: NDArray[np.uint64], degree: int = _DEGREE) -> NDArray[np.float64]:
    """Approximate Z for uniforms of which 64 bits are known.

    Args:
        words: the known bits, shape (n,); about `certified.CHUNK` of them are fastest.
        degree: of the polynomials, from 4 to 6; the lower, the faster.

    Returns:
        The values, shape (n,), NaN where a tail is below 2^−18; any other is within `quantile_bound` of Z, whatever the
        remaining bits of the uniform are.
    """
    table = _table()
    signed = words.view(np.int64)
    offset = (signed ^ (signed >> 63)).astype(np.float64)
    index = offset.view(np.int64) >> _INDEX_SHIFT
    index -= _FIRST_INDEX
    entry = np.empty_like(offset)
    offset -= np.take(table.centres, index, out=entry, mode="clip")
    value = np.take(table.coefficients[degree], index, out=np.empty_like(offset), mode="clip")
    for power in range(degree - 1, -1, -1):
        value *= offset
        value += np.take(table.coefficients[power], index, out=entry, mode="clip")
    value.view(np.int64)[:] ^= signed & _SIGN_BIT
    return value


def quantile_bound(degree: int = _DEGREE) -> float:
    """Return the greatest error of `normal_quantile`, about 2^−47.5 for degree 6."""
    return _table().bounds[degree]


def rough_quantile(uniform: float | mpq) -> float:
    """Approximate Z for one uniform in (0, 1), for guesses that are checked afterwards."""
    return -_STANDARD.inv_cdf(float(uniform)) if uniform < 0.5 else _STANDARD.inv_cdf(float(1 - uniform))


@cache
def _table() -> _Table:
    edges = [
        mpq(2) ** (63 - _BINADES + binade) * (1 + mpq(part, 1 << _CELL_BITS))
        for binade in range(_BINADES)
        for part in range(1 << _CELL_BITS)
    ] + [mpq(2) ** 63]
    cells = list(pairwise(edges))
    values = [REACH, *(rough_quantile((low + high) / 2**65) for low, high in cells), 0.0]
    centres = np.full(_CELLS + 2, np.nan)
    coefficients = np.full((_DEGREE + 1, _CELLS + 2), np.nan)
    bounds = dict.fromkeys(_DEGREES, mpfr(0))
    for cell, (low, high) in enumerate(cells, start=1):
        centre, series = _taylor_series(values[cell])
        if not low < mpq(centre) < high:
            raise ArithmeticError(f"centre {centre} lies outside its cell, from {low} to {high}")
        centres[cell], coefficients[:, cell] = centre, series
        radius = max(high - mpq(centre), mpq(centre) - low)
        for degree, bound in bounds.items():
            error = _cell_error(series[: degree + 1], low, radius, least=values[cell + 1], greatest=values[cell - 1])
            bounds[degree] = max(bound, error)
    centres[-1], coefficients[:, -1] = centres[-2], coefficients[:, -2]
    # One part in 2^50 more makes up for the rounding of the bound itself, to 53 bits after a few steps of 96.
    inflated = {degree: float(bound) * (1 + 2.0**-50) for degree, bound in bounds.items()}
    return _Table(centres, coefficients, inflated)


@cache
def _derivative_polynomial(order: int) -> tuple[int, ...]:
    """Return P_n, lowest power first, in d^n z/dp^n = (−1)^n·P_n(z)/φ(z)^n: P_1 = 1, P_{n+1} = P_n' + n·z·P_n."""
    if order == 1:
        return (1,)
    before = _derivative_polynomial(order - 1)
    result = [0] * (len(before) + 1)
    for power, coefficient in enumerate(before):
        result[power + 1] += (order - 1) * coefficient
        if power > 0:
            result[power - 1] += power * coefficient
    return tuple(result)


def _scaled_derivative(order: int, z: mpfr, density: mpfr) -> mpfr:
    """Return P_n(z)/(n!·(2^64·φ)^n) in the rounding of the context."""
    polynomial = sum(
        (coefficient * z**power for power, coefficient in enumerate(_derivative_polynomial(order))), mpfr(0)
    )
    return polynomial / (factorial(order) * (density * mpfr(2) ** 64) ** order)


def _density(z: mpfr) -> mpfr:
    return gmpy2.exp(-z * z / 2) / gmpy2.sqrt(2 * gmpy2.const_pi())


def _taylor_series(value: float) -> tuple[float, list[float]]:
    """Return 2^64·P[Z > value] and the series about it; each number is correctly rounded but for 2^−90."""
    with gmpy2.context(precision=_PRECISION):
        z = mpfr(value)
        centre = float(gmpy2.erfc(z / gmpy2.sqrt(mpfr(2))) * mpfr(2) ** 63)
        density = _density(z)
        series = [float((-1) ** order * _scaled_derivative(order, z, density)) for order in range(1, _DEGREE + 1)]
    return centre, [value, *series]


def _cell_error(series: list[float], low: mpq, radius: mpq, *, least: float, greatest: float) -> mpfr:
    """Bound the error of a cell.

    Args:
        series: the cell's coefficients.
        low: the least of the cell's arguments f.
        radius: the largest distance of an argument from the centre.
        least: a lower bound of Z in the cell.
        greatest: an upper bound of Z in the cell.
    """
    unit = mpq(UNIT)
    with gmpy2.context(precision=_PRECISION):
        # The next term at its largest: P_n has no negative coefficient and φ decreases.
        next_term = _scaled_derivative(len(series), mpfr(greatest), _density(mpfr(greatest)))
        truncated = next_term * mpfr(radius) ** len(series)
        # Horner's rule rounds the k-th term 2k + 1 times, and its coefficient was rounded before.
        rounded = sum((unit * (2 * k + 3) * abs(mpfr(a)) * mpfr(radius) ** k for k, a in enumerate(series)), mpfr(0))
        # 2^64·p is off by at most 1 for its unknown bits and by a unit for each of two roundings (of the word and of
        # the centre), and dz/dp·p is Mills' ratio, at most 1/z and at most √(π/2) < 1.2534.
        mills_ratio = min(mpfr("1.2534"), 1 / mpfr(least) if least > 0 else mpfr("inf"))
        return truncated + rounded + mills_ratio * mpfr(1 / low + 3 * unit)

"""The normal quantile of whole arrays of 64-bit words in binary64, with a proven error bound.

A word w stands for a uniform U of which 64 bits are known, U ∈ [w, w + 1]·2^−64, and Z with P[Z > z] = U is wanted. The
Gaussians' fast paths round Z to a grid by this approximation wherever its bound decides the rounding.

The range of m = min(w, 2^64 − 1 − w) is cut into 2^9 cells a binade, and U is taken for (m + ½)·2^−64. With C the
middle of m's cell, Z is its value at C, which MPFR finds, and a polynomial in m − C: the Taylor series, whose terms
follow from dz/dp = −1/φ(z). The bound rests on MPFR and on IEEE 754's + and ×; README.md has the analysis. Below
m = 2^43 there are no cells.

The recurrence of the derivatives is in Steinbrecher and Shaw 2008, 'Quantile mechanics'; the table with a
bound that covers the unknown rest of the uniform is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import factorial
from statistics import NormalDist

import gmpy2
import numpy as np
from gmpy2 import mpfr, mpq
from numpy.typing import NDArray

from mechanisms.cells import Cells
from mechanisms.certified import UNIT

REACH = 5.0
"""No word that has a cell stands for |Z| as large as this: P[Z > 5] < 2^−21."""

GREATEST_DEGREE = 3

_CELLS = Cells(63, binades=20, bits=9)
_PRECISION = 160
_FARTHEST_GUESS = 2.0**-40

_SIGN_BIT = np.int64(-(2**63))
_STANDARD = NormalDist()
_INFLATION = 1 + 2.0**-40
"""More than all roundings of a bound, and the part of a cell by which rounding an integer can miss it, add to it."""


@dataclass(frozen=True)
class Table:
    """What is known of each cell, those farthest from 0 first; the first and the last entry are for words without one.

    Attributes:
        coefficients: of the powers of m − C, shape (`GREATEST_DEGREE` + 1, cells + 2); NaN where there is no cell.
        greatest_slopes: at least what |z| changes by as m changes by 1 anywhere in the cell; shape (cells,).
        radii: the greatest |m − C|, shape (cells,).
        following: at least the next coefficient of each degree anywhere in the cell, by that degree; shape (cells,).
    """

    coefficients: NDArray[np.float64]
    greatest_slopes: NDArray[np.float64]
    radii: NDArray[np.float64]
    following: dict[int, NDArray[np.float64]]

    def errors(self, degree: int) -> NDArray[np.float64]:
        """Bound the error of the polynomial without its constant term, for each cell.

        It covers the unknown bits (half a unit of m either way), what the series leaves out, and for the k-th term
        10k − 3 roundings: 8k − 7 of its coefficient, 2k of Horner's rule, and 4 as the sum is scaled, the scale
        included, and two numbers are added to it.
        """
        powers = np.arange(1, degree + 1)[:, np.newaxis]
        terms = np.abs(self.coefficients[1 : degree + 1, 1:-1]) * self.radii**powers
        rounding = float(UNIT) * ((10 * powers - 3) * terms).sum(axis=0)
        left_out = self.following[degree] * self.radii ** (degree + 1)
        bound: NDArray[np.float64] = _INFLATION * (self.greatest_slopes / 2 + left_out + rounding)
        return bound

    def greatest_error(self, degree: int) -> float:
        """Bound the error of `normal_quantile`: m and the constant term are rounded as well, and the sum with it."""
        rounding = self.greatest_slopes * (_CELLS.middles() + self.radii) + 2.01 * REACH
        return float((self.errors(degree) + _INFLATION * float(UNIT) * rounding).max())


def normal_quantile(words: NDArray[np.uint64], degree: int) -> NDArray[np.float64]:
    """Approximate Z for uniforms of which 64 bits are known.

    Args:
        words: the known bits, shape (n,).
        degree: of the polynomials, at most `GREATEST_DEGREE`; the lower, the faster.

    Returns:
        The values, shape (n,), NaN where a tail is below 2^−21 or within 2^−54 of ½; any other is within
        `Table.greatest_error` of Z, whatever the remaining bits of the uniform are.
    """
    coefficients = table().coefficients
    signed = words.view(np.int64)
    offset, cells, entry = _CELLS.locate(signed ^ (signed >> 63))
    offset -= entry
    value = np.take(coefficients[degree], cells, out=np.empty_like(offset), mode="clip")
    for power in range(degree - 1, -1, -1):
        value *= offset
        value += np.take(coefficients[power], cells, out=entry, mode="clip")
    value.view(np.int64)[:] ^= signed & _SIGN_BIT
    return value


def rough_quantile(uniform: float | mpq) -> float:
    """Approximate Z for one uniform in (0, 1), for guesses that are checked afterwards."""
    return -_STANDARD.inv_cdf(float(uniform)) if uniform < 0.5 else _STANDARD.inv_cdf(float(1 - uniform))


@cache
def table() -> Table:
    """Make the table, once a process."""
    middles = _CELLS.middles()
    beyond = 2.0**43 * (1 - 2.0**-11)  # a middle below all cells
    with gmpy2.context(precision=_PRECISION):
        found = [_value_at(middle) for middle in (beyond, *middles.tolist())]
        z, slope = np.array([(float(value), float(slope)) for value, slope in found]).T
    terms = [_scaled_derivative(order, z) * slope**order for order in range(1, GREATEST_DEGREE + 2)]
    coefficients = np.full((GREATEST_DEGREE + 1, len(_CELLS) + 2), np.nan)
    coefficients[0, 1:-1] = z[1:]
    for order in range(1, GREATEST_DEGREE + 1):
        coefficients[order, 1:-1] = (-1) ** order * terms[order - 1][1:]
    return Table(
        coefficients=coefficients,
        greatest_slopes=slope[:-1],
        radii=_CELLS.each(np.array([2.0**half for half in range(33, 53)])),
        following={degree: terms[degree][:-1] for degree in range(1, GREATEST_DEGREE + 1)},
    )


def _value_at(middle: float) -> tuple[mpfr, mpfr]:
    """Return z at (C + ½)·2^−64, and what it changes by as m changes by 1.

    With v near z and e = (P[Z > v] − p)/φ(v), z is v + e + v·e²/2 but for less than 9·|e|³, as |v| ≤ 5, and φ(z) is
    φ(v)·(1 − v·e) but for a part of less than 13·e².
    """
    near = mpfr(rough_quantile(middle / 2**64))
    density = gmpy2.exp(-near * near / 2) / gmpy2.sqrt(2 * gmpy2.const_pi())
    above = (1 - gmpy2.erf(near / gmpy2.sqrt(mpfr(2)))) / 2
    step = (above - (mpfr(middle) + 0.5) / 2**64) / density
    if abs(step) > _FARTHEST_GUESS:
        raise ArithmeticError(f"the quantile near {near} was guessed worse than to 40 bits")
    return near + step + near * step * step / 2, 1 / (density * (1 - near * step) * 2**64)


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


def _scaled_derivative(order: int, z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return P_n(z)/n!, all of whose terms are positive."""
    value = np.zeros_like(z)
    for coefficient in reversed(_derivative_polynomial(order)):
        value = value * z + coefficient
    return value / factorial(order)

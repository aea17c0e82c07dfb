"""⌊a ± b·E⌋ for E = −log U and whole arrays of U, by binary64, where a proven error bound decides it.

U is known by 63 bits, the integer k, and is taken for (k + ½)/2^63. Its range is cut into 2^8 cells a binade. With
C + ½ the middle of k's cell, k − C is an exact integer, and

    b·E = −b·ln((C + ½)/2^63) − b·ln(1 + r),    r = (k − C)/(C + ½) (and what the unknown bits add),    |r| < 2^−9.

The first term is public: it is tabled as a whole number and a fraction. So binary64 rounds nothing but the second term,
2^9 times smaller than b, and a sum that is near an integer; the error on a grid of 2^−45 of the scale is what a
logarithm in binary64 would have at 2^−36. A cell's bound holds what its unknown bits can change as well.

Nothing rests on numpy's or a libm's functions: MPFR makes the table, IEEE 754's + and × evaluate the polynomial.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import gmpy2
import numpy as np
from numpy.typing import NDArray

from mechanisms.arithmetic import require_ieee_arithmetic
from mechanisms.certified import UNIT, horner, horner_error, round_up
from mechanisms.grid import GREATEST_NOISE_STEPS
from mechanisms.parameters import positive_rational

FILTER_BITS = 63
"""How many bits of U the filter sees."""

_BINADES = 18
_CELL_BITS = 8
_CELLS = 1 << _CELL_BITS
_RADIUS = Fraction(1, 2 << _CELL_BITS)
"""More than |r| and its rounded value: the widest cells of a binade reach from 1/513 below C to 1/513 above."""

_INDEX_SHIFT = np.int64(52 - _CELL_BITS)
_FIRST_INDEX = np.int64(((1023 + FILTER_BITS - _BINADES) << _CELL_BITS) - 1)
_TOP_BIT = np.uint64(1 << 63)
_PRECISION = 256
_KEPT_BITS = 160
_FRACTION_BITS = 60
_FOUR_TERMS_UP_TO = 1 << 30
"""The greatest scale for which what the series leaves out after four terms matters to few draws."""


def _centres() -> NDArray[np.int64]:
    parts = 2 * (_CELLS + np.arange(_CELLS, dtype=np.int64)) + 1
    places = np.arange(FILTER_BITS - _BINADES - _CELL_BITS - 1, FILTER_BITS - _CELL_BITS - 1, dtype=np.int64)
    return np.concatenate([[0], (parts << places[:, np.newaxis]).ravel()])


_CENTRES = _centres()


@cache
def _reciprocals() -> NDArray[np.float64]:
    """Return 1/(C + ½) for each cell, correctly rounded; 0 for cell 0."""
    return np.array([0.0, *(2 / (2 * centre + 1) for centre in _CENTRES[1:].tolist())])


@cache
def _logarithms() -> tuple[int, list[int]]:
    """Return 2^160·ln 2, and −2^160·ln m for the mantissa m of each cell of a binade, off by less than 2."""
    nearest = gmpy2.context(precision=_PRECISION)
    mantissas = [nearest.div(2 * (_CELLS + part) + 1, 2 * _CELLS) for part in range(_CELLS)]
    return _fixed(nearest, nearest.const_log2()), [-_fixed(nearest, nearest.log(one)) for one in mantissas]


def _fixed(context: gmpy2.context, value: gmpy2.mpfr) -> int:
    return int(gmpy2.mpz(context.mul_2exp(value, _KEPT_BITS)))


class _Table:
    """What the filter knows of each cell for one scale; cell 0 is for all k below 2^45, which it leaves open.

    The error bound, for a cell whose least k is `low`, ρ = `_RADIUS` and d terms of the series:

    1. E lies between −ln((k + 1)/2^63) and −ln(k/2^63), so it is within 1/2k of −ln((k + ½)/2^63); and k is at least
       low·(1 − u), as a cell is found by k rounded to binary64.
    2. k − C is rounded once, 1/(C + ½) once, and their product once: r is off by a factor of (1 + u)³ at most, and
       ln(1 + r) by ρ·((1 + u)³ − 1)/(1 − ρ).
    3. The terms that are left out are below ρ^(d+1)/((d + 1)(1 − ρ)).
    4. Horner's rule has the error of `certified.horner_error`; its product with r is rounded once more.
    5. −ln((C + ½)/2^63) is that of a power of 2, that of C's mantissa, and ln(1 + 1/2C), which 1/(2C + 1) stands for,
       less than 2^−90 away. The fraction, cut to 60 bits, is off by 2^−58 at most with all of that, and by 3u as it is
       rounded, the scale times 1/(2C + 1) being at most ½. The sum with it is rounded by u·(1 + M), M the largest
       product. The offset is below 2 and is rounded by at most u·2, its sum by u·(3 + M).

    An underflow adds less than 2^−1000, and its warning is silenced.

    Args:
        scale: as for `FloorFilter`.
    """

    def __init__(self, scale: Fraction) -> None:
        terms = 4 if scale <= _FOUR_TERMS_UP_TO else 6
        self.coefficients = tuple(float(scale * Fraction((-1) ** k, k)) for k in range(1, terms + 1))
        self.reciprocals = _reciprocals()
        ln_2, mantissas = _logarithms()
        high_wholes, high_parts = _split(scale, [binade * ln_2 for binade in range(_BINADES, 0, -1)])
        low_wholes, low_parts = _split(scale, mantissas)
        parts = (high_parts[:, np.newaxis] + low_parts).ravel()
        wholes = (high_wholes[:, np.newaxis] + low_wholes).ravel() + (parts >> _FRACTION_BITS)
        self.wholes = np.concatenate([[0.0], wholes.astype(np.float64)])
        self.fractions = np.concatenate([[0], parts & ((1 << _FRACTION_BITS) - 1)]) * 2.0**-_FRACTION_BITS
        inflation = 1 + 4 * UNIT  # for the roundings of the sum, and the 1 − u of the least k
        with np.errstate(under="ignore"):
            self.fractions -= float(scale / 2) * self.reciprocals
            unknown = round_up(scale * inflation / 2) * 2.0 ** -np.arange(FILTER_BITS - _BINADES, FILTER_BITS)
        bounds = round_up(self._error(scale) * inflation) + unknown
        self.bounds = np.concatenate([[math.inf], np.repeat(bounds, _CELLS)])

    def _error(self, scale: Fraction) -> Fraction:
        """Return the bound but for what the unknown bits can change."""
        terms, one = len(self.coefficients), 1 + UNIT
        argument = _RADIUS * (one**3 - 1) / (1 - _RADIUS)
        left_out = _RADIUS ** (terms + 1) / ((terms + 1) * (1 - _RADIUS))
        error = horner_error(self.coefficients, _RADIUS)
        largest = _RADIUS * (sum(abs(Fraction(a)) * _RADIUS**k for k, a in enumerate(self.coefficients)) + error)
        product = _RADIUS * error + UNIT * largest
        sums = Fraction(1, 2 ** (_FRACTION_BITS - 2)) + UNIT * (10 + 3 * largest)
        return scale * (argument + left_out) + product + sums


def _split(scale: Fraction, logarithms: list[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the whole numbers of scale·logarithm, and what is above them in units of 2^−60, rounded down."""
    places = [scale.numerator * logarithm // scale.denominator for logarithm in logarithms]
    above = [(place & ((1 << _KEPT_BITS) - 1)) >> (_KEPT_BITS - _FRACTION_BITS) for place in places]
    return np.array([place >> _KEPT_BITS for place in places]), np.array(above)


class FloorFilter:
    """Finds ⌊offset ± scale·E⌋ for many U by their first 63 bits, as far as binary64 can decide.

    The value v̂ is within its cell's bound of offset ± scale·E, less a whole number (see `_Table`). v̂ less its nearest
    integer is exact (Sterbenz; or the integer is 0), so where that distance is above the bound, no integer lies between
    v̂ and the truth, and their floors are equal.

    Nothing but the offset, rounded to binary64, depends on private data, so it is an argument of each call alone.

    Args:
        scale: a rational number, above 0 and at most 2^46, which keeps the floors below 2^46·18·ln 2 < 2^50.

    Raises:
        ValueError: `scale` is out of its range.
    """

    def __init__(self, scale: Fraction) -> None:
        require_ieee_arithmetic()
        if positive_rational("scale", scale) > GREATEST_NOISE_STEPS:
            raise ValueError(
                f"scale must be at most 2^{GREATEST_NOISE_STEPS.bit_length() - 1}, "
                f"not about 2^{int(scale).bit_length() - 1}"
            )
        self._table = _Table(scale)

    def __call__(
        self, leading: NDArray[np.int64], signs: NDArray[np.uint64], offset: float | NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Filter one chunk.

        Args:
            leading: shape (n,), the first 63 bits of each U as an integer.
            signs: shape (n,), words whose top bit says that the sign is −.
            offset: the double nearest to a rational number, which is at least 0 and below 2; or one for each U.

        Returns:
            The floors, shape (n,), and which of them are undecided and mean nothing, shape (n,).
        """
        table = self._table
        rounded = leading.astype(np.float64)
        index = rounded.view(np.int64) >> _INDEX_SHIFT
        index -= _FIRST_INDEX
        centre = np.take(_CENTRES, index, out=np.empty_like(index), mode="clip")
        ratio = np.subtract(leading, centre, out=centre).astype(np.float64)
        entry = np.empty_like(ratio)
        ratio *= np.take(table.reciprocals, index, out=entry, mode="clip")
        with np.errstate(under="ignore"):
            value = horner(table.coefficients, ratio)
            value *= ratio
            value += np.take(table.fractions, index, out=entry, mode="clip")
        whole = np.take(table.wholes, index, out=entry, mode="clip")
        negative = signs & _TOP_BIT
        value.view(np.uint64)[:] ^= negative
        whole.view(np.uint64)[:] ^= negative
        value += offset
        distance = np.rint(value, out=ratio)
        np.subtract(value, distance, out=distance)
        np.abs(distance, out=distance)
        np.floor(value, out=value)
        value += whole
        bound = np.take(table.bounds, index, out=entry, mode="clip")
        return value, distance <= bound

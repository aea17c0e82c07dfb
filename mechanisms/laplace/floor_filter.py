"""⌊a ± (b·E + h)⌋ for E = −log U and whole arrays of U, by binary64, where a proven error bound decides it.

U is known by 63 bits, the integer k, and is taken for the middle of what they leave open. The range of k is cut into
2^10 cells a binade. With C the middle of k's cell,

    b·E = −b·ln(C/2^63) − b·ln(1 + r),    r = (k − C)/C (and what the unknown bits change),    |r| < 2^−11.

The first term is public and tabled, and so is h with it; the second is a polynomial. On a coarse grid binary64 adds
them up. On a fine one, where the noise has so many steps that their sum would not show a single one, k − C is exact and
the first term is tabled as a whole number and a fraction. So binary64 rounds nothing but the second term, 2^11 times
smaller than b, and a sum that is near an integer; the error on a grid of 2^−45 of the scale is what a logarithm in
binary64 would have at 2^−34. A cell's bound holds what its unknown bits can change as well.

Nothing rests on numpy's or a libm's functions: MPFR makes the table, IEEE 754's operations evaluate the polynomial.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import gmpy2
import numpy as np
from numpy.typing import NDArray

from mechanisms.answers import Doubles
from mechanisms.arithmetic import require_ieee_arithmetic
from mechanisms.cells import Cells
from mechanisms.certified import UNIT, horner, horner_error, round_up
from mechanisms.grid import GREATEST_NOISE_STEPS
from mechanisms.parameters import positive_rational

FILTER_BITS = 63
"""How many bits of U the filter sees."""

FloorFilter = Callable[[NDArray[np.int64], NDArray[np.uint64], Doubles], tuple[NDArray[np.float64], NDArray[np.bool_]]]
"""What finds ⌊offset ± (scale·E + shift)⌋ for many U, as far as binary64 can decide.

Args:
    leading: shape (n,), the first 63 bits of each U as an integer.
    signs: shape (n,), words whose top bit says that the sign is −.
    offset: the double nearest to a rational number, which is at least 0 and below 2; or one for each U.

Returns:
    The floors, shape (n,), and which of them are undecided and mean nothing, shape (n,).
"""

_CELLS = Cells(FILTER_BITS, binades=18, bits=10)
_RADIUS = Fraction(1, 2 << _CELLS.bits)
"""More than |r| and its rounded value: the widest cells of a binade reach from 1/2049 below C to 1/2049 above."""

_INFLATION = 1 + 2.0**-50
"""More than a quotient, a sum and a product are rounded by, and the factors of 1 + u that a bound leaves out."""

_GREATEST_LOGARITHM = 13
"""More than −ln(C/2^63) in any cell, 18·ln 2 at most."""

_TOP_BIT = np.uint64(1 << 63)
_PRECISION = 256
_KEPT_BITS = 160
_FRACTION_BITS = 60
_NO_SHIFT = Fraction(0)
_COARSE_UP_TO = 1 << 24
_TERMS = ((_COARSE_UP_TO, 3), (1 << 38, 4), (GREATEST_NOISE_STEPS, 5))
"""Scales, and the terms of the series up to each: what it leaves out matters to fewer than one draw in 100,000."""


def floor_filter(scale: Fraction, shift: Fraction = _NO_SHIFT) -> FloorFilter:
    """Return the filter for noise of a scale, and of a magnitude that is shifted by a public number.

    The offset, rounded to binary64, depends on private data and is an argument of each call alone, so that what is made
    of a public scale can be kept for the next release.

    Args:
        scale: a rational number, above 0 and at most 2^46, which keeps the floors below 2^46·18·ln 2 < 2^50.
        shift: a rational number, at most ½ in modulus. What it stands for may be 2^−64 above it.

    Raises:
        ValueError: `scale` is out of its range.
    """
    require_ieee_arithmetic()
    if positive_rational("scale", scale) > GREATEST_NOISE_STEPS:
        raise ValueError(
            f"scale must be at most 2^{GREATEST_NOISE_STEPS.bit_length() - 1}, "
            f"not about 2^{int(scale).bit_length() - 1}"
        )
    return CoarseFilter(scale, shift) if scale <= _COARSE_UP_TO else FineFilter(scale, shift)


class CoarseFilter:
    """Finds floors of noise of few steps.

    The value v̂ is within the bound of offset ± (scale·E + shift). v̂ less its nearest integer is exact (Sterbenz; or the
    integer is 0), so where that distance is above the bound, no integer lies between v̂ and the truth: their floors are
    equal.

    Args:
        scale, shift: as for `floor_filter`.
    """

    def __init__(self, scale: Fraction, shift: Fraction) -> None:
        self._coefficients = _coefficients(scale)
        self._bound = round_up(self._error(scale) * (1 + UNIT))
        with np.errstate(under="ignore"):
            self._terms = _logarithms_of_cells() * float(scale) + float(shift)

    def _error(self, scale: Fraction) -> Fraction:
        """Return the bound, for all cells.

        1. As 1. to 4. of `FineFilter`; the least k is 2^45, and k is rounded before its logarithm is taken.
        2. The tabled term is that of scale·L + shift, L below 13: L, the scale, their product, the shift (with the
           2^−64 that it may be off, by u) and the sum are rounded.
        3. Its sum with the rest is rounded, the offset is, by 2u, and so is the sum of the two, 4 more at most.

        An underflow adds less than 2^−1000, and its warning is silenced.
        """
        unknown = scale * (_unknown(_CELLS.top - _CELLS.binades) + Fraction(101, 100) * UNIT)
        series, largest = _series_error(scale, self._coefficients)
        tabled = _GREATEST_LOGARITHM * scale
        return unknown + series + UNIT * (7 * tabled + 3 * largest + 9)

    def __call__(
        self, leading: NDArray[np.int64], signs: NDArray[np.uint64], offset: Doubles
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Filter one chunk; see `FloorFilter`."""
        ratio, cells, middles = _CELLS.locate(leading)
        with np.errstate(under="ignore"):
            ratio -= middles
            ratio /= middles
            value = horner(self._coefficients, ratio)
            value *= ratio
            value += np.take(self._terms, cells, out=middles, mode="clip")
        value.view(np.uint64)[:] ^= signs & _TOP_BIT
        value += offset
        distance = np.rint(value, out=ratio)
        np.subtract(value, distance, out=distance)
        np.abs(distance, out=distance)
        undecided = ~(distance > self._bound)  # NaN never is
        return np.floor(value, out=value), undecided


class FineFilter:
    """Finds floors of noise of many steps.

    What is said of `CoarseFilter` holds for v̂ and the truth less a whole number, which is added to the floor without
    rounding, and for a bound of each cell.

    The error bound, for a cell, ρ = `_RADIUS` and d terms of the series:

    1. E lies between −ln((k + 1)/2^63) and −ln(k/2^63), so it is within (1 + ρ)/2k of −ln(k/2^63) − 1/2C. A cell is
       found by k rounded to binary64: k ≥ C·(1 − ρ)·(1 − u), and (1 + ρ)/2k ≤ (1 + 3ρ)/2C but for a factor of 1 + 2u.
    2. k − C is exact, of 53 bits at most, and so is C: r is off by a factor of 1 + u, and ln(1 + r) by ρ·u/(1 − ρ).
    3. The terms that are left out are below ρ^(d+1)/((d + 1)(1 − ρ)).
    4. Horner's rule has the error of `certified.horner_error`; its product with r is rounded once more.
    5. −ln(C/2^63) is that of a power of 2 and that of C's mantissa. The fraction of their sum with the shift, each cut
       to 60 bits, is off by 2^−58 at most with all of that, and by 3u as it is rounded, the scale times 1/2C being at
       most ½. The sum with it is rounded by u·(1 + M), M the largest product. The offset is below 2 and is rounded by
       at most u·2, its sum by u·(3 + M).

    Args:
        scale, shift: as for `floor_filter`.
    """

    def __init__(self, scale: Fraction, shift: Fraction) -> None:
        self._coefficients = _coefficients(scale)
        ln_2, mantissas = _logarithms()
        high_wholes, high_parts = _split(scale, [binade * ln_2 for binade in range(_CELLS.binades, 0, -1)])
        low_wholes, low_parts = _split(scale, mantissas)
        low_parts += math.floor(shift * (1 << _FRACTION_BITS))
        parts = (high_parts[:, np.newaxis] + low_parts).ravel()
        wholes = (high_wholes[:, np.newaxis] + low_wholes).ravel() + (parts >> _FRACTION_BITS)
        fractions = (parts & ((1 << _FRACTION_BITS) - 1)) * 2.0**-_FRACTION_BITS
        fractions -= float(scale / 2) / _CELLS.middles()
        unknown = round_up(scale * (1 + 3 * _RADIUS) / 2) / _CELLS.middles()
        bounds = (round_up(self._error(scale)) + unknown) * _INFLATION
        self._wholes, self._fractions, self._bounds = (
            np.concatenate([[outside], inside, [outside]])
            for outside, inside in ((0.0, wholes), (0.0, fractions), (math.inf, bounds))
        )

    def _error(self, scale: Fraction) -> Fraction:
        """Return the bound but for what the unknown bits can change."""
        series, largest = _series_error(scale, self._coefficients)
        return series + Fraction(1, 2 ** (_FRACTION_BITS - 2)) + UNIT * (10 + 3 * largest)

    def __call__(
        self, leading: NDArray[np.int64], signs: NDArray[np.uint64], offset: Doubles
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Filter one chunk; see `FloorFilter`."""
        ratio, cells, middles = _CELLS.locate(leading)
        with np.errstate(invalid="ignore"):  # 2^63 is not an int64, and no U so near to 1 is decided
            ratio[:] = leading - middles.astype(np.int64)
            ratio /= middles
        entry = middles
        value = horner(self._coefficients, ratio)
        value *= ratio
        value += np.take(self._fractions, cells, out=entry, mode="clip")
        whole = np.take(self._wholes, cells, out=entry, mode="clip")
        negative = signs & _TOP_BIT
        value.view(np.uint64)[:] ^= negative
        whole.view(np.uint64)[:] ^= negative
        value += offset
        distance = np.rint(value, out=ratio)
        np.subtract(value, distance, out=distance)
        np.abs(distance, out=distance)
        np.floor(value, out=value)
        value += whole
        bound = np.take(self._bounds, cells, out=entry, mode="clip")
        return value, ~(distance > bound)  # NaN never is


def _coefficients(scale: Fraction) -> tuple[float, ...]:
    """Return those of −scale·ln(1 + r) by powers of r, from r itself on."""
    terms = next(terms for greatest, terms in _TERMS if scale <= greatest)
    return tuple(float(scale * Fraction((-1) ** k, k)) for k in range(1, terms + 1))


def _unknown(low: int) -> Fraction:
    """Bound what the unknown bits change in E, for k ≥ 2^low."""
    return (1 + 2 * _RADIUS) / (2 << low)


def _series_error(scale: Fraction, coefficients: tuple[float, ...]) -> tuple[Fraction, Fraction]:
    """Bound what 2. to 4. of `FineFilter` add, and the series' largest value M."""
    terms = len(coefficients)
    argument = _RADIUS * UNIT / (1 - _RADIUS)
    left_out = _RADIUS ** (terms + 1) / ((terms + 1) * (1 - _RADIUS))
    error = horner_error(coefficients, _RADIUS)
    largest = _RADIUS * (sum(abs(Fraction(a)) * _RADIUS**k for k, a in enumerate(coefficients)) + error)
    return scale * (argument + left_out) + _RADIUS * error + UNIT * largest, largest


@cache
def _logarithms() -> tuple[int, list[int]]:
    """Return 2^160·ln 2, and −2^160·ln m for the mantissa m of each cell of a binade, off by less than 2."""
    nearest = gmpy2.context(precision=_PRECISION)
    parts = 1 << _CELLS.bits
    mantissas = [nearest.div(2 * (parts + part) + 1, 2 * parts) for part in range(parts)]
    return _fixed(nearest, nearest.const_log2()), [-_fixed(nearest, nearest.log(one)) for one in mantissas]


def _fixed(context: gmpy2.context, value: gmpy2.mpfr) -> int:
    return int(gmpy2.mpz(context.mul_2exp(value, _KEPT_BITS)))


@cache
def _logarithms_of_cells() -> NDArray[np.float64]:
    """Return −ln(C/2^63) − 1/2C for each cell, off by less than one part in 2^53; NaN beyond the cells.

    1/2C is less than 2^−46 and far less than the logarithm but for C above 2^62, where the logarithm is above 2^−13.
    """
    ln_2, mantissas = _logarithms()
    logarithms = [binade * ln_2 + one for binade in range(_CELLS.binades, 0, -1) for one in mantissas]
    halves = [(1 << _KEPT_BITS) // int(2 * middle) for middle in _CELLS.middles().tolist()]
    exact = [Fraction(one - half, 1 << _KEPT_BITS) for one, half in zip(logarithms, halves, strict=True)]
    return np.array([math.nan, *map(float, exact), math.nan])


def _split(scale: Fraction, logarithms: list[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the whole numbers of scale·logarithm, and what is above them in units of 2^−60, rounded down."""
    places = [scale.numerator * logarithm // scale.denominator for logarithm in logarithms]
    above = [(place & ((1 << _KEPT_BITS) - 1)) >> (_KEPT_BITS - _FRACTION_BITS) for place in places]
    return np.array([place >> _KEPT_BITS for place in places]), np.array(above)

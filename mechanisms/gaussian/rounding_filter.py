"""Rounds shift + scale·Z to the nearest integer for whole arrays of uniforms, where binary64 provably decides it.

On a coarse grid the quantile is scaled and rounded as it is. On a fine one, where the noise has so many steps that
binary64 could not say which, nothing large is rounded: the value at a cell's middle is tabled as a whole number and a
fraction of a step, and m − C is exact. Then what remains is mostly what the uniform's 64 bits leave open. README.md has
the proof of both bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mechanisms.answers import Doubles
from mechanisms.arithmetic import require_ieee_arithmetic
from mechanisms.certified import UNIT
from mechanisms.gaussian.quantile import VALUE_BITS, normal_quantile, placed, polynomial, table
from mechanisms.grid import GREATEST_NOISE_STEPS

NormalFilter = Callable[[NDArray[np.uint64], Doubles], tuple[NDArray[np.float64], NDArray[np.intp]]]
"""The rounded integers for an array of words and their shifts, and the places of those that are undecided."""

_COARSE_UP_TO = 1 << 24
_DEGREES = ((1 << 4, 1), (1 << 14, 2), (_COARSE_UP_TO, 3), (1 << 37, 4), (GREATEST_NOISE_STEPS, 5))
"""Scales, in steps, and the degree up to each: what the series leave out matters to fewer than one draw in 100,000."""

_FRACTION_BITS = 60


def normal_filter(scale: Fraction, slack: Fraction = Fraction(0)) -> NormalFilter:
    """Return the filter for noise of a scale.

    Args:
        scale: in steps, positive and at most 2^46.
        slack: how far the thresholds between outcomes may be from n + ½, within the quantile's reach.
    """
    require_ieee_arithmetic()
    return CoarseFilter(scale, slack) if scale <= _COARSE_UP_TO else FineFilter(scale, slack)


def _degree(scale: Fraction) -> int:
    return next(degree for greatest, degree in _DEGREES if scale <= greatest)


class CoarseFilter:
    """Rounds noise of few steps.

    The value y is computed from the first 64 bits of each uniform, with |y − (shift + scale·Z)| at most

        scale·(b + 20u) + 2u,

    b the bound of the quantile and u = 2^−53: the scale, the product and the sum round, |Z| < 5, and the shift rounds
    once more. y − rint(y) is exact. A draw is decided if y is at least that and the slack away from every n + ½.

    Args:
        scale: as for `normal_filter`.
        slack: likewise.
    """

    def __init__(self, scale: Fraction, slack: Fraction = Fraction(0)) -> None:
        self._degree = _degree(scale)
        error = scale * (Fraction(table().greatest_error(self._degree)) + 20 * UNIT) + 2 * UNIT
        self._scale = float(scale)
        self._greatest_distance = math.nextafter(float(Fraction(1, 2) - error - slack), -math.inf)

    def __call__(self, words: NDArray[np.uint64], shifts: Doubles) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Round one chunk.

        Args:
            words: the first words of the uniforms, shape (n,).
            shifts: in [−½, ½], each rounded to a double; or one for all.

        Returns:
            The integers, shape (n,), and the places of those that are undecided.
        """
        value = normal_quantile(words, self._degree)
        value *= self._scale
        value += shifts
        nearest = np.rint(value)
        value -= nearest
        decided = np.abs(value, out=value) <= self._greatest_distance  # NaN never is
        return nearest, np.flatnonzero(~decided)


class FineFilter:
    """Rounds noise of many steps.

    scale·Z at a cell's middle is tabled as a whole number and a fraction of 60 bits, off by less than 2^−58 as the
    value has 2^−110. The rest, scale times the polynomial in m − C, which is exact, is off by scale times the bound of
    the cell: that covers the roundings by u times itself, and what remains of them is below 5u. Adding the whole number
    rounds nothing.

    Args:
        scale: as for `normal_filter`.
        slack: likewise.
    """

    def __init__(self, scale: Fraction, slack: Fraction = Fraction(0)) -> None:
        self._degree = _degree(scale)
        self._scale = float(scale)
        values = table().values
        self._wholes, self._fractions = np.zeros(len(values) + 2), np.zeros(len(values) + 2)
        numerator, denominator = scale.numerator, scale.denominator << VALUE_BITS - _FRACTION_BITS
        parts = [divmod(numerator * value // denominator, 1 << _FRACTION_BITS) for value in values]
        self._wholes[1:-1] = [whole for whole, _ in parts]
        self._fractions[1:-1] = [part * 2.0**-_FRACTION_BITS for _, part in parts]
        self._greatest_distances = np.full(len(values) + 2, -1.0)
        least_error = float(slack) + 2.0**-49  # for the roundings here, those by 5u, and the tables
        self._greatest_distances[1:-1] = 0.5 - least_error - self._scale * (1 + 2.0**-50) * table().errors(self._degree)

    def __call__(self, words: NDArray[np.uint64], shifts: Doubles) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Round one chunk; see `CoarseFilter.__call__`."""
        places = placed(words)
        entry = places.middles
        with np.errstate(invalid="ignore"):  # 2^63 is not an int64, and no word so near to ½ is decided
            offset = np.subtract(places.smaller, entry.astype(np.int64), out=places.smaller).astype(np.float64)
        value = polynomial(places.cells, offset, lowest=1, degree=self._degree)
        value *= offset
        value *= self._scale
        value += np.take(self._fractions, places.cells, out=entry, mode="clip")
        whole = np.take(self._wholes, places.cells, out=entry, mode="clip")
        value.view(np.int64)[:] ^= places.signs
        whole.view(np.int64)[:] ^= places.signs
        value += shifts
        nearest = np.rint(value)
        value -= nearest
        np.abs(value, out=value)
        nearest += whole
        decided = value <= np.take(self._greatest_distances, places.cells, out=entry, mode="clip")  # NaN never is
        return nearest, np.flatnonzero(~decided)

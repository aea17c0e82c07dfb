"""Rounds shift + scale·Z to the nearest integer for whole arrays of uniforms, where binary64 provably decides it.

The quantile is scaled and rounded, for noise of few steps; of many steps binary64 would not show one. README.md has the
proof of the bound.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mechanisms.answers import Doubles
from mechanisms.arithmetic import require_ieee_arithmetic
from mechanisms.certified import UNIT
from mechanisms.gaussian.quantile import normal_quantile, table

GREATEST_SCALE = 1 << 24
"""In steps."""

_DEGREES = ((1 << 4, 1), (1 << 14, 2), (GREATEST_SCALE, 3))
"""Scales, in steps, and the degree up to each: what the series leave out matters to fewer than one draw in 100,000."""


class RoundingFilter:
    """Rounds noise of few steps.

    The value y is computed from the first 64 bits of each uniform, with |y − (shift + scale·Z)| at most

        scale·(b + 20u) + 2u,

    b the bound of the quantile and u = 2^−53: the scale, the product and the sum round, |Z| < 5, and the shift rounds
    once more. y − rint(y) is exact. A draw is decided if y is at least that and the slack away from every n + ½.

    Args:
        scale: in steps, positive and at most `GREATEST_SCALE`.
        slack: how far the thresholds between outcomes may be from n + ½, within the quantile's reach.
    """

    def __init__(self, scale: Fraction, slack: Fraction = Fraction(0)) -> None:
        require_ieee_arithmetic()
        self._degree = next(degree for greatest, degree in _DEGREES if scale <= greatest)
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

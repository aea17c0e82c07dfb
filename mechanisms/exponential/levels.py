"""Utilities as the base-e exponential mechanism takes them: clamped to a public range, each outcome with its level.

Only public parameters can raise an error here. The module docstring of `mechanisms.exponential.exact` says what a level
is and proves that binary64 never makes one too high.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from numbers import Integral

import gmpy2
import numpy as np
from gmpy2 import mpq
from numpy.typing import ArrayLike, NDArray

from mechanisms.parameters import exact_rational, positive_rational
from mechanisms.rounding import rounding

WIDEST_RANGE = (-(2.0**1022), 2.0**1022)
"""The widest range of utilities: the difference of any two is a finite double."""

_RATE_LIMIT = mpq(2**900)
_EXACT_INTEGERS = 2**53


@dataclass(frozen=True, eq=False, slots=True)
class LevelledUtilities:
    """Utilities, and for each outcome the level that it is proposed on.

    Args:
        utilities: clamped, shape (outcomes,).
        best: their maximum.
        rate: ε/(2Δu), or ε/Δu for monotone utilities.
        depth: the deepest level, so far down that the outcomes cut off there are hardly ever proposed.
        exponents: y_o, at most `depth`, shape (outcomes,).
        levels: k_o, shape (outcomes,).
    """

    utilities: NDArray[np.float64]
    best: float
    rate: mpq
    depth: int
    exponents: NDArray[np.float64]
    levels: NDArray[np.intp]

    @classmethod
    def of(
        cls,
        utilities: ArrayLike,
        *,
        epsilon: float | Fraction,
        sensitivity: float | Fraction,
        monotone: bool,
        utility_range: tuple[float, float],
    ) -> LevelledUtilities:
        """Check the public parameters, clamp and find the levels; see `exact_exponential`."""
        rate = _rate(epsilon, sensitivity, monotone)
        factor = _factor(rate)
        low, high = _checked_range(utility_range)
        with np.errstate(all="ignore"):  # under a caller's np.seterr(all="raise") an underflow would be an event
            clamped, lowest, best = _clamp(utilities, low, high)
            # Codewords then have at most 63 bits: levels weigh less than 2^(63 - depth) together.
            depth = 63 - clamped.size.bit_length()
            exponents = best - clamped
            exponents *= factor
            if (best - lowest) * factor >= depth:
                exponents.clip(0, depth, out=exponents)  # a minimum alone takes several times as long
        return cls(clamped, best, rate, depth, exponents, exponents.astype(np.intp))

    def gap(self, outcome: int) -> mpq:
        """Return x_o, exactly: the rate times the distance of an outcome below the best."""
        return self.rate * (mpq(self.best) - mpq(float(self.utilities[outcome])))

    def counts(self) -> NDArray[np.intp]:
        """Count the outcomes on each level, from 0 to the deepest that is used."""
        return np.bincount(self.levels)

    def members(self, level: int) -> NDArray[np.intp]:
        """Return the outcomes on a level, in increasing order."""
        return np.flatnonzero(self.levels == level)


def _rate(epsilon: float | Fraction, sensitivity: float | Fraction, monotone: bool) -> mpq:
    """ε/(2Δu), or ε/Δu for monotone utilities."""
    whole = mpq(positive_rational("epsilon", epsilon)) / mpq(positive_rational("sensitivity", sensitivity))
    rate = whole if monotone else whole / 2
    # Then `_factor` is a normal double, and no product with it that matters leaves the normal range.
    if not 1 / _RATE_LIMIT <= rate <= _RATE_LIMIT:
        raise ValueError(f"epsilon/sensitivity must lie between 2^-899 and 2^900, not {epsilon}/{sensitivity}")
    return rate


@lru_cache(maxsize=256)
def _factor(rate: mpq) -> float:
    """A double c ≤ (1 − 2^−51)·log2(e)·rate, less than 2^−52·(1 + 2^−60)·c below it."""
    down, up = rounding(128)
    with up:
        ln_2 = gmpy2.const_log2()
    with down:
        factor = gmpy2.mpfr(rate * (1 - mpq(1, 2**51))) / ln_2
    down, _ = rounding(53)
    with down:
        return float(gmpy2.mpfr(factor))


def _checked_range(utility_range: tuple[float, float]) -> tuple[float, float]:
    low, high = (exact_rational("utility_range", end) for end in utility_range)
    if not WIDEST_RANGE[0] <= low <= high <= WIDEST_RANGE[1] or any(float(end) != end for end in (low, high)):
        raise ValueError(f"utility_range must be two doubles in order, within ±2^1022, not {utility_range}")
    return float(low), float(high)


def _clamp(utilities: ArrayLike, low: float, high: float) -> tuple[NDArray[np.float64], float, float]:
    """Return the utilities clamped to the range, their minimum and their maximum."""
    given = np.asarray(_within_doubles(utilities))
    if given.ndim != 1 or not given.size:
        raise ValueError(f"utilities must be a vector of at least one number, not an array of shape {given.shape}")
    clamped: NDArray[np.float64] = given if given.dtype == np.float64 else _as_doubles(given)
    lowest, best = float(clamped.min()), float(clamped.max())
    if low <= lowest and best <= high:
        return clamped, lowest, best
    # If a utility is NaN, so are both bounds; of a number and NaN, fmax takes the number.
    clamped = np.fmin(np.fmax(clamped, low), high)
    return clamped, float(clamped.min()), float(clamped.max())


def _within_doubles(utilities: ArrayLike) -> ArrayLike:
    """Clamp the integers of a list to ±2^53, one by one.

    numpy finds a format for the list as a whole: an integer beyond 64 bits would make it objects, and one among
    floats would be rounded first, which can move neighbours apart.
    """
    if not isinstance(utilities, Sequence):
        return utilities
    return [
        min(max(int(utility), -_EXACT_INTEGERS), _EXACT_INTEGERS)
        if isinstance(utility, Integral) and not isinstance(utility, bool)
        else utility
        for utility in utilities
    ]


def _as_doubles(given: NDArray[np.generic]) -> NDArray[np.float64]:
    kind, size = given.dtype.kind, given.dtype.itemsize
    if (kind == "f" and size <= 8) or (kind in "iu" and size < 8):
        return given.astype(np.float64)
    if kind not in "iu":
        raise TypeError(f"utilities must be floats of at most 64 bits or integers, not {given.dtype}")
    highest = np.minimum(given, _EXACT_INTEGERS)
    clamped: NDArray[np.integer] = highest if kind == "u" else np.maximum(highest, -_EXACT_INTEGERS)
    return clamped.astype(np.float64)

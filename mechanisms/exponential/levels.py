"""Utilities as the base-e exponential mechanism takes them: clamped to a public range, each outcome with its level.

Only public parameters can raise an error here. The module docstring of `mechanisms.exponential.exact` says what a level
is and proves that binary64 never makes one too high.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import gmpy2
import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from mechanisms.parameters import exact_rational, positive_rational
from mechanisms.private_numbers import Extended, PrivateNumbers, clamped, exact_numbers, nearest_doubles
from mechanisms.rounding import rounding

WIDEST_RANGE = (-(2.0**1022), 2.0**1022)
"""The widest range of utilities: the difference of any two is a finite double."""

_RATE_LIMIT = mpq(2**900)


@dataclass(frozen=True, eq=False, slots=True)
class LevelledUtilities:
    """Utilities, and for each outcome the level that it is proposed on.

    Args:
        utilities: clamped, shape (outcomes,): doubles where they are exact, rationals (mpq) where not.
        best: their maximum.
        rate: ε/(2Δu), or ε/Δu for monotone utilities.
        depth: the deepest level, so far down that the outcomes cut off there are hardly ever proposed.
        exponents: y_o, at most `depth`, shape (outcomes,).
        levels: k_o, shape (outcomes,).
    """

    utilities: NDArray[np.float64] | list[mpq]
    best: float | mpq
    rate: mpq
    depth: int
    exponents: NDArray[np.float64]
    levels: NDArray[np.intp]

    @classmethod
    def of(
        cls,
        utilities: PrivateNumbers,
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
        given = exact_numbers("utilities", utilities)
        # Codewords then have at most 63 bits: levels weigh less than 2^(63 - depth) together.
        depth = 63 - len(given).bit_length()
        if len(given) == 0:
            raise ValueError("utilities must name at least one outcome")
        with np.errstate(all="ignore"):  # under a caller's np.seterr(all="raise") an underflow would be an event
            limited, best, distances = _limited(given, low, high)
            exponents, levels = levels_at(distances, factor, depth)
        return cls(limited, best, rate, depth, exponents, levels)

    def gap(self, outcome: int) -> mpq:
        """Return x_o, exactly: the rate times the distance of an outcome below the best."""
        return exact_gap(self.rate, self.best, self.utilities[outcome])

    def counts(self) -> NDArray[np.intp]:
        """Count the outcomes on each level, from 0 to the deepest that is used."""
        return np.bincount(self.levels)

    def by_level(self) -> NDArray[np.intp]:
        """Return the outcomes in increasing order of level, and of index on each level, shape (outcomes,)."""
        # A stable sort keeps the outcomes of a level in order; of single bytes it takes linear time.
        return np.argsort(self.levels.astype(np.uint8), kind="stable")


def levels_at(
    distances: NDArray[np.float64], factor: float, depth: int
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the exponents y = min(fl(c·distance), depth) and the levels ⌊y⌋ of outcomes.

    Args:
        distances: how far each lies below the best, shape (outcomes,), at least 0.
        factor: c.
        depth: the deepest level.
    """
    exponents = np.clip(distances * factor, 0.0, float(depth))  # a minimum alone takes several times as long
    return exponents, exponents.astype(np.intp)


def exact_gap(rate: mpq, best: float | mpq, utility: float | mpq) -> mpq:
    """Return x_o, exactly: the rate times the distance of an outcome's utility below the best."""
    return rate * (_exact(best) - _exact(utility))


def _exact(number: float | mpq) -> mpq:
    return mpq(number) if isinstance(number, float) else number


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


def _limited(
    given: NDArray[np.float64] | list[Extended], low: float, high: float
) -> tuple[NDArray[np.float64] | list[mpq], float | mpq, NDArray[np.float64]]:
    """Clamp utilities to a range, NaN to its lower end.

    Returns:
        The clamped utilities, the best of them, and how far each lies below it, rounded to the nearest double. All of
        it depends on the values alone and not on how they are held.
    """
    if isinstance(given, list):
        exact_low, exact_high = mpq(low), mpq(high)
        exact = [clamped(utility, exact_low, exact_high, missing=exact_low) for utility in given]
        highest = max(exact)
        return exact, highest, nearest_doubles(highest - utility for utility in exact)
    lowest, best = float(given.min()), float(given.max())
    if not (low <= lowest and best <= high):
        # If a utility is NaN, so are both bounds; of a number and NaN, fmax takes the number.
        given = np.fmin(np.fmax(given, low), high)
        best = float(given.max())
    return given, best, best - given

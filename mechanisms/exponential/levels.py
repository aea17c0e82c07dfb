"""Utilities as the base-e exponential mechanism takes them: clamped to a public range, each outcome with its level.

Only public parameters can raise an error here. The module docstring of `mechanisms.exponential.exact` says what a level
is and proves that binary64 never makes one too high.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise

import gmpy2
import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from mechanisms.parameters import exact_rational, positive_rational
from mechanisms.private_numbers import PrivateNumbers, clamped, exact_numbers, nearest_doubles, quiet
from mechanisms.rounding import rounding

WIDEST_RANGE = (-(2.0**1022), 2.0**1022)
"""The widest range of utilities: the difference of any two is a finite double."""

_RATE_LIMIT = mpq(2**900)


@dataclass(frozen=True, eq=False, slots=True)
class LevelledUtilities:
    """Utilities, and what tells each outcome's level.

    Args:
        utilities: clamped, shape (outcomes,): doubles where they are exact, rationals (mpq) where not.
        best: their maximum.
        rate: ε/(2Δu), or ε/Δu for monotone utilities.
        factor: c.
        depth: the deepest level, so far down that the outcomes cut off there are hardly ever proposed.
        doubles: shape (outcomes,); `top` less each of them, rounded once, is how far the outcome lies below the best.
        top: see there.
    """

    utilities: NDArray[np.float64] | list[mpq]
    best: float | mpq
    rate: mpq
    factor: float
    depth: int
    doubles: NDArray[np.float64]
    top: float

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
        """Check the public parameters and clamp; see `exact_exponential`."""
        rate, factor, low, high = public_parameters(epsilon, sensitivity, monotone, utility_range)
        given = exact_numbers("utilities", utilities, signalling=True)
        depth = depth_for(len(given))
        with np.errstate(all="ignore"):  # under a caller's np.seterr(all="raise") an underflow would be an event
            if isinstance(given, list):
                exact_low, exact_high = mpq(low), mpq(high)
                exact = [clamped(utility, exact_low, exact_high, missing=exact_low) for utility in given]
                highest = max(exact)
                below = nearest_doubles(utility - highest for utility in exact)
                return cls(exact, highest, rate, factor, depth, below, 0.0)
            limited, best = within_range(given, low, high)
        return cls(limited, best, rate, factor, depth, limited, best)

    def gap(self, outcome: int) -> mpq:
        """Return x_o, exactly: the rate times the distance of an outcome below the best."""
        return exact_gap(self.rate, self.best, self.utilities[outcome])

    def exponents(self, outcomes: slice) -> NDArray[np.float64]:
        """Return y_o of some outcomes; k_o is its whole part."""
        return exponents_below(self.top, self.doubles[outcomes], self.factor, self.depth)

    def exponent(self, outcome: int) -> float:
        """Return y_o of one outcome."""
        return min((self.top - float(self.doubles[outcome])) * self.factor, float(self.depth))

    def levels(self) -> NDArray[np.intp]:
        """Return k_o of all outcomes, shape (outcomes,)."""
        with np.errstate(all="ignore"):
            return self.exponents(slice(None)).astype(np.intp)

    def members(self) -> tuple[tuple[int, ...], ...]:
        """Return the outcomes of each level in increasing order, up to the deepest level that has some."""
        levels = self.levels()
        ends = accumulate(np.bincount(levels).tolist())
        # A stable sort keeps the outcomes of a level in order; of single bytes it takes linear time.
        by_level = tuple(np.argsort(levels.astype(np.uint8), kind="stable").tolist())
        return tuple(by_level[start:end] for start, end in pairwise([0, *ends]))


def depth_for(outcomes: int) -> int:
    """Return the deepest level of so many outcomes: their weights 2^(depth − level) stay below 2^63 together.

    Raises:
        ValueError: there is none.
    """
    if outcomes == 0:
        raise ValueError("utilities must name at least one outcome")
    return 63 - outcomes.bit_length()


def exponents_below(
    top: float | NDArray[np.float64],
    utilities: NDArray[np.float64],
    factor: float,
    depth: int,
    *,
    out: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the exponents y = min(fl(c·fl(top − utility)), depth), elementwise.

    Args:
        top: the best utility, or one for each column.
        utilities: none above `top`.
        factor: c.
        depth: the deepest level.
        out: where to write them; `utilities` may be overwritten.
    """
    exponents = top - utilities if out is None else np.subtract(top, utilities, out=out)
    exponents *= factor
    return np.minimum(exponents, float(depth), out=exponents)


def weights_at(exponents: NDArray[np.float64], depth: int) -> NDArray[np.int64]:
    """Return 2^(depth − k), elementwise, k the whole part of an exponent."""
    weights = exponents.astype(np.int64)
    return np.right_shift(1 << depth, weights, out=weights)


def exact_gap(rate: mpq, best: float | mpq, utility: float | mpq) -> mpq:
    """Return x_o, exactly: the rate times the distance of an outcome's utility below the best."""
    return rate * (_exact(best) - _exact(utility))


def _exact(number: float | mpq) -> mpq:
    return mpq(number) if isinstance(number, float) else number


def public_parameters(
    epsilon: float | Fraction, sensitivity: float | Fraction, monotone: bool, utility_range: tuple[float, float]
) -> tuple[mpq, float, float, float]:
    """Check the public parameters and return the rate, c, and the ends of the range."""
    low, high = utility_range
    try:
        return _settled(epsilon, sensitivity, monotone, low, high)
    except TypeError:  # of a parameter, or because it can't be looked up
        return _settled.__wrapped__(epsilon, sensitivity, monotone, low, high)


@lru_cache(maxsize=256, typed=True)
def _settled(
    epsilon: float | Fraction, sensitivity: float | Fraction, monotone: bool, low: float, high: float
) -> tuple[mpq, float, float, float]:
    rate = _rate(epsilon, sensitivity, monotone)
    return rate, _factor(rate), *_checked_range(low, high)


def _rate(epsilon: float | Fraction, sensitivity: float | Fraction, monotone: bool) -> mpq:
    """ε/(2Δu), or ε/Δu for monotone utilities."""
    whole = mpq(positive_rational("epsilon", epsilon)) / mpq(positive_rational("sensitivity", sensitivity))
    rate = whole if monotone else whole / 2
    # Then `_factor` is a normal double, and no product with it that matters leaves the normal range.
    if not 1 / _RATE_LIMIT <= rate <= _RATE_LIMIT:
        raise ValueError(f"epsilon/sensitivity must lie between 2^-899 and 2^900, not {epsilon}/{sensitivity}")
    return rate


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


def _checked_range(low: float, high: float) -> tuple[float, float]:
    ends = exact_rational("utility_range", low), exact_rational("utility_range", high)
    if not WIDEST_RANGE[0] <= ends[0] <= ends[1] <= WIDEST_RANGE[1] or any(float(end) != end for end in ends):
        raise ValueError(f"utility_range must be two doubles in order, within ±2^1022, not {(low, high)}")
    return float(low), float(high)


def within_range(given: NDArray[np.float64], low: float, high: float) -> tuple[NDArray[np.float64], float]:
    """Clamp doubles of any shape to a range, NaN to its lower end.

    Returns:
        The doubles, as they were given where all of them lie within the range, and the greatest.
    """
    lowest, best = float(given.min()), float(given.max())
    if low <= lowest and best <= high:
        return given, best
    # If a utility is NaN, so are both bounds; of a number and NaN, fmax takes the number.
    given = np.fmin(np.fmax(quiet(given), low), high)
    return given, float(given.max())

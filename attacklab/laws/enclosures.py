"""Enclose exponentials, logarithms and ideal laws between rational numbers, by MPFR's directed roundings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from gmpy2 import mpq

from attacklab.laws.law import Bounds, Law, total
from attacklab.model.errors import UsageError
from attacklab.model.intervals import Interval
from attacklab.model.intervals import precision as with_precision

#: The default precision of enclosures, in bits of the significand.
PRECISION = 256


def exp_bounds(exponent: Any, precision: int = PRECISION) -> Bounds:
    """Enclose e^x.

    Args:
        exponent: x, a rational number with |x| at most 2^20.
        precision: bits of the significand; the bounds lie a few parts in 2^precision apart.

    Returns:
        Rational bounds; both are 1 at x = 0.

    Raises:
        ValueError: |x| is more than 2^20.
    """
    if not abs(exponent) <= 1 << 20:
        raise UsageError(f"the exponent must lie in [-2^20, 2^20], not {exponent}; claim a smaller ε")
    with with_precision(precision):
        enclosed = Interval.of(mpq(exponent)).exp()
    return Bounds(mpq(enclosed.lower), mpq(enclosed.upper))


def log_bounds(bounds: Bounds) -> tuple[float, float]:
    """Enclose the natural logarithms of the numbers within `bounds` between floats.

    Args:
        bounds: numbers at least 0; `math.inf` is allowed. The logarithm of 0 is `-math.inf`.
    """
    with with_precision(PRECISION):
        lower, upper = (Interval.of(end if end == math.inf else mpq(end)).log() for end in bounds)
    return lower.below(), upper.above()


def float_below(number: Any) -> float:
    """Return the largest float that is at most the given rational (or infinite) number."""
    nearest = float(number)
    return math.nextafter(nearest, -math.inf) if nearest > number else nearest


def float_above(number: Any) -> float:
    """Return the smallest float that is at least the given rational (or infinite) number."""
    nearest = float(number)
    return math.nextafter(nearest, math.inf) if nearest < number else nearest


def normalised(weights: Mapping[Any, Bounds], *, rest: Any = 0) -> Law:
    """Return the law of an ideal mechanism, from bounds on the weights of its outcomes.

    Args:
        weights: outcome → bounds on its weight, rational and at least 0; not all 0.
        rest: an upper bound on the weight of all outcomes that are not listed.

    Returns:
        A law whose masses are lower bounds of `PRECISION` significant bits; the rest is unresolved.

    Raises:
        ValueError: a lower bound is less than 0 or above its upper bound, or all weights are 0.
    """
    for outcome, (lower, upper) in weights.items():
        if not 0 <= lower <= upper:
            raise ValueError(f"the weight of {outcome!r} must have bounds 0 <= lower <= upper, not {(lower, upper)}")
    most = total(mpq(upper) for _, upper in weights.values()) + mpq(rest)
    if most <= 0:
        raise ValueError("the weights must not all be 0")
    return Law(
        {
            outcome: _significant(lower / (most - upper + lower))
            for outcome, (lower, upper) in ((o, (mpq(a), mpq(b))) for o, (a, b) in weights.items())
            if lower
        }
    )


def _significant(number: Any) -> Any:
    """Return a rational number greater than 0, rounded down to `PRECISION` significant bits."""
    exponent = number.denominator.bit_length() - number.numerator.bit_length() + PRECISION
    scale = mpq(2) ** exponent
    return (number * scale) // 1 / scale

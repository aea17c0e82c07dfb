"""Enclosures as narrow as needed: more bits if digits cancel, and bisection to find where a condition changes."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from attacklab.model.bisection import least
from attacklab.model.intervals import Interval, precision

PRECISIONS = (192, 768, 3072, 12288)
"""Bits of the significands, tried in this order."""

NARROW = 2.0**-100
"""An interval is narrow enough if its relative width is at most this."""

LARGEST = math.nextafter(math.inf, 0.0)
OCTAVES = (-1075, 1024)
"""Every double above 0 lies between these powers of two."""

KNOWN_BITS = 108
"""The default number of significant bits to which `crossing` encloses a number."""


def refined(enclose: Callable[[], Interval], is_enough: Callable[[Interval], bool]) -> Interval:
    """Call `enclose` with each of `PRECISIONS` until `is_enough` accepts the interval. Return the last interval."""
    interval = Interval.of(0)
    for bits in PRECISIONS:
        with precision(bits):
            interval = enclose()
        if is_enough(interval):
            break
    return interval


def is_narrow(interval: Interval) -> bool:
    """Whether the relative width of an interval is at most `NARROW`."""
    return bool(interval.upper - interval.lower <= abs(interval.lower) * NARROW)


def is_kept(enclose: Callable[[], Interval], threshold: float) -> bool | None:
    """Whether a number is at most a threshold; None if no precision decides this."""
    interval = refined(enclose, lambda interval: bool(interval.upper <= threshold or interval.lower > threshold))
    if interval.upper <= threshold:
        return True
    return False if interval.lower > threshold else None


def crossing(enclose: Callable[[Fraction], Interval], threshold: float, bits: int = KNOWN_BITS) -> Interval:
    """Enclose the number at which a decreasing function of positive numbers falls to a threshold above 0.

    The function is certainly above the threshold at the lower end, and certainly not above it at the upper end. The
    upper end is infinite if no double is large enough.
    """

    def keeps(number: Fraction) -> bool | None:
        return is_kept(lambda: enclose(number), threshold)

    if not keeps(Fraction(LARGEST)):
        return Interval.hull(LARGEST, math.inf)
    octave = Fraction(2) ** least(lambda exponent: bool(keeps(Fraction(2) ** exponent)), *OCTAVES)
    step = octave / (1 << bits)
    steps = least(lambda steps: bool(keeps(steps * step)), 1 << (bits - 1), 1 << bits)
    below = (steps - 1) * step
    return Interval.hull(below if keeps(below) is False else 0, steps * step)


def exact(end: Any) -> Fraction:
    """Return a finite MPFR number as a fraction, without rounding."""
    return Fraction(*map(int, end.as_integer_ratio()))

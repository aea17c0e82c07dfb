"""Enclosures as narrow as a question needs: more bits where digits cancel, and bisection where a condition flips."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import gmpy2

from attacklab.model.bisection import least
from attacklab.model.intervals import Interval, precision

PRECISIONS = (192, 768, 3072, 12288)
"""Bits of the significands, tried in this order."""

NARROW = 2.0**-100
"""The relative width at which a number counts as known."""

LARGEST = math.nextafter(math.inf, 0.0)
OCTAVES = (-1075, 1024)
"""Every double above 0 lies between these powers of two."""

MOST_SECANTS, SECANT_ENDS = 40, 2.0**-120
GUESSED_BITS = (108, 64)
"""To how many bits a guess is tried; less than 53 would not tell doubles apart."""


def refined(enclose: Callable[[], Interval], is_enough: Callable[[Interval], bool]) -> Interval:
    """Enclose a number with more and more bits, until an interval is enough, or with the most that are tried."""
    interval = Interval.of(0)
    for bits in PRECISIONS:
        with precision(bits):
            interval = enclose()
        if is_enough(interval):
            break
    return interval


def is_narrow(interval: Interval) -> bool:
    """Whether an interval tells its number to 100 bits."""
    return bool(interval.upper - interval.lower <= abs(interval.lower) * NARROW)


def is_kept(enclose: Callable[[], Interval], threshold: float) -> bool | None:
    """Whether a number is at most a threshold; None where no precision tells."""
    interval = refined(enclose, lambda interval: bool(interval.upper <= threshold or interval.lower > threshold))
    if interval.upper <= threshold:
        return True
    return False if interval.lower > threshold else None


def crossing(enclose: Callable[[Fraction], Interval], threshold: float) -> Interval:
    """Find where a decreasing function of positive numbers comes down to a threshold above 0.

    Bisection finds the power of two, the secant method on logarithms the number. What it found is only a guess until
    the function, enclosed at both ends, is above the threshold at the lower one and not above it at the upper one.
    The upper end is infinite where no double is large enough.
    """

    def keeps(number: Fraction) -> bool | None:
        return is_kept(lambda: enclose(number), threshold)

    if not keeps(Fraction(LARGEST)):
        return Interval.hull(LARGEST, math.inf)
    octave = Fraction(2) ** least(lambda exponent: bool(keeps(Fraction(2) ** exponent)), *OCTAVES)
    guess = _secant(enclose, threshold, octave / 2, octave)
    for bits in GUESSED_BITS if guess else ():
        margin = guess / (1 << bits)
        if keeps(guess - margin) is False and keeps(guess + margin):
            return Interval.hull(guess - margin, guess + margin)
    step = octave / (1 << 53)
    steps = least(lambda steps: bool(keeps(steps * step)), 1 << 52, 1 << 53)
    below = (steps - 1) * step
    return Interval.hull(below if keeps(below) is False else 0, steps * step)


def _secant(enclose: Callable[[Fraction], Interval], threshold: float, low: Fraction, high: Fraction) -> Fraction:
    """Guess where a function meets a threshold; 0 where the secants lead nowhere."""
    with gmpy2.context(precision=PRECISIONS[0]):

        def height(place: Any) -> Any:
            value = refined(lambda: enclose(exact(gmpy2.exp(place))), is_narrow)
            return gmpy2.log((value.lower + value.upper) / 2) - gmpy2.log(threshold)

        older, newer = bounds = tuple(gmpy2.log(gmpy2.mpfr(gmpy2.mpq(end))) for end in (low, high))
        at_older, at_newer = height(older), height(newer)
        for _ in range(MOST_SECANTS):
            if at_older == at_newer or not gmpy2.is_finite(at_older - at_newer):
                return Fraction(0)
            place = newer - at_newer * (newer - older) / (at_newer - at_older)
            older, at_older, newer = newer, at_newer, min(max(place, bounds[0]), bounds[1])
            if abs(newer - older) < SECANT_ENDS:
                break
            at_newer = height(newer)
        return exact(gmpy2.exp(newer))


def exact(end: Any) -> Fraction:
    """The rational number that a finite MPFR number is."""
    return Fraction(*map(int, end.as_integer_ratio()))

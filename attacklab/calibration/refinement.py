"""Enclosures as narrow as a question needs: more bits where digits cancel, and bisection where a condition flips."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import gmpy2

from attacklab.model.intervals import Interval, precision

PRECISIONS = (192, 768, 3072, 12288)
"""Bits of the significands, tried in this order."""

NARROW = 2.0**-100
"""The relative width at which a number counts as known."""

LARGEST = math.nextafter(math.inf, 0.0)
DOUBLES_IN_AN_OCTAVE = 1 << 52
MOST_SECANTS, SECANT_ENDS = 40, 2.0**-120
GUESSED_BITS = (108, 96, 80, 64)
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


def within(interval: Interval, threshold: float) -> bool | None:
    """Whether all of an interval is at most a threshold; None if it holds numbers on both sides."""
    if interval.upper <= threshold:
        return True
    return False if interval.lower > threshold else None


def is_kept(enclose: Callable[[], Interval], threshold: float) -> bool | None:
    """Whether a number is at most a threshold; None where no precision tells."""
    return within(refined(enclose, lambda interval: within(interval, threshold) is not None), threshold)


def crossing(enclose: Callable[[Fraction], Interval], threshold: float) -> Interval:
    """Find where a decreasing function of positive numbers comes down to a threshold above 0.

    Bisection among the doubles finds the power of two, the secant method on logarithms the number; what it found is
    only a guess until the function, enclosed at both ends, is above the threshold at the lower one and not above it at
    the upper one. The upper end is infinite where no double is large enough.
    """

    def keeps(number: Fraction) -> bool | None:
        return is_kept(lambda: enclose(number), threshold)

    if not keeps(Fraction(LARGEST)):
        return Interval.hull(LARGEST, math.inf)
    first, last = 0, _place(LARGEST)
    while last - first > DOUBLES_IN_AN_OCTAVE:
        middle = (first + last) // 2
        first, last = (first, middle) if keeps(Fraction(_double(middle))) else (middle, last)
    guess = _secant(enclose, threshold, Fraction(_double(max(first, 1))), Fraction(_double(last)))
    for bits in GUESSED_BITS if guess else ():
        margin = guess / (1 << bits)
        if keeps(guess - margin) is False and keeps(guess + margin):
            return Interval.hull(guess - margin, guess + margin)
    while last - first > 1:
        middle = (first + last) // 2
        first, last = (first, middle) if keeps(Fraction(_double(middle))) else (middle, last)
    below = Fraction(_double(first))
    return Interval.hull(below if first and keeps(below) is False else 0, _double(last))


def _secant(enclose: Callable[[Fraction], Interval], threshold: float, low: Fraction, high: Fraction) -> Fraction:
    """Guess where a function meets a threshold; 0 where the secants lead nowhere."""
    with gmpy2.context(precision=PRECISIONS[0]):

        def height(place: Any) -> Any:
            value = refined(lambda: enclose(exact(gmpy2.exp(place))), is_narrow)
            return gmpy2.log((value.lower + value.upper) / 2) - gmpy2.log(threshold)

        older, newer = gmpy2.log(gmpy2.mpfr(gmpy2.mpq(low))), gmpy2.log(gmpy2.mpfr(gmpy2.mpq(high)))
        bounds = older, newer
        at_older, at_newer = height(older), height(newer)
        for _ in range(MOST_SECANTS):
            if at_older == at_newer or not gmpy2.is_finite(at_older - at_newer):
                return Fraction(0)
            next_place = newer - at_newer * (newer - older) / (at_newer - at_older)
            next_place = min(max(next_place, bounds[0]), bounds[1])
            step = abs(next_place - newer)
            older, at_older, newer = newer, at_newer, next_place
            if step < SECANT_ENDS:
                break
            at_newer = height(newer)
        return exact(gmpy2.exp(newer))


def exact(end: Any) -> Fraction:
    """The rational number that a finite MPFR number is."""
    ratio = gmpy2.mpq(end)
    return Fraction(int(ratio.numerator), int(ratio.denominator))


def _place(number: float) -> int:
    """The place of a double of at least 0 among all of them."""
    return int(struct.unpack("<q", struct.pack("<d", number))[0])


def _double(place: int) -> float:
    return float(struct.unpack("<d", struct.pack("<q", place))[0])

"""Noise by inversion, in rationals alone: integers that are found from the first bits of uniforms, and further ones.

Source: Devroye 1986, 'Non-Uniform Random Variate Generation', chapter X, section 2 (a geometric variate is the floor of
an exponential one); an offset makes it what lies to both sides of 0.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from checker.enclosures.elementary import ln
from checker.kinds.discrete_magnitudes import offset as offset_of

Take = Callable[[int], int]
"""Draws that many further bits."""


def floor_of_exponential(offset: Fraction, slope: Fraction, leading: int, length: int, take: Take) -> int:
    """Return ⌊offset − slope·ln U⌋ for a U whose first bits are known."""
    while True:
        if leading > abs(slope):  # or else the ends are more than 1 apart, since E's are more than 1/(leading + 1)
            size = Fraction(1 << length)
            low, high = ln(size / (leading + 1), length + 90)[0], ln(size / leading, length + 90)[1]
            floors = {(offset + slope * end).__floor__() for end in (max(low, Fraction(0)), high)}
            if len(floors) == 1:
                return floors.pop()
        leading, length = leading << 1 | take(1), length + 1


def magnitude(scale: Fraction, leading: int, length: int, take: Take) -> int:
    """Return ⌊c − scale·ln U⌋, c = scale·ln(2/(1 + e^(−1/scale))), for a U whose first bits are known."""
    while True:
        if leading > scale:
            size = Fraction(1 << length)
            low, high = ln(size / (leading + 1), length + 90)[0], ln(size / leading, length + 90)[1]
            below, above = offset_of(scale, length + 90)
            floor = (scale * max(low, Fraction(0)) + below).__floor__()
            if floor == (scale * high + above).__floor__():
                return floor
        leading, length = leading << 1 | take(1), length + 1


def discrete_laplace(scale: Fraction, word: int, take: Take) -> int:
    """Return discrete Laplace noise for a sign, the first bit of a word, and a uniform that begins with the others."""
    size = magnitude(scale, word % (1 << 63), 63, take)
    return -size if word >> 63 else size


def rounded_laplace(offset: Fraction, scale: Fraction, word: int, take: Take) -> int:
    """Return ⌊offset ± scale·E⌋ for a sign, the first bit of a word, and a uniform that begins with the others."""
    return floor_of_exponential(offset, -scale if word >> 63 else scale, word % (1 << 63), 63, take)

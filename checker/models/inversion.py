"""Noise by inversion, in rationals alone: integers that are found from the first bits of uniforms, and further ones.

Source: Devroye 1986, 'Non-Uniform Random Variate Generation', chapter X, section 2 (a geometric variate is the floor of
an exponential one); the sign's law makes it two-sided.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from checker.enclosures.elementary import ln
from checker.kinds.logistic_coin import logistic

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


def logistic_coin(gamma: Fraction, leading: int, length: int, take: Take) -> bool:
    """Return whether V < 1/(1 + e^−gamma) for a V whose first bits are known."""
    while True:
        below, above = (end * (1 << length) for end in logistic(gamma, length + 90))
        if leading + 1 <= below or leading >= above:
            return leading + 1 <= below
        leading, length = leading << 1 | take(1), length + 1


def discrete_laplace(scale: Fraction, coin: int, word: int, take: Take) -> int:
    """Return discrete Laplace noise whose coin and whose uniform begin with 64 known bits."""
    not_negative = logistic_coin(1 / scale, coin, 64, take)
    magnitude = floor_of_exponential(Fraction(0), scale, word, 64, take)
    return magnitude if not_negative else -1 - magnitude


def rounded_laplace(offset: Fraction, scale: Fraction, word: int, take: Take) -> int:
    """Return ⌊offset ± scale·E⌋ for a sign, the first bit of a word, and a uniform that begins with the others."""
    return floor_of_exponential(offset, -scale if word >> 63 else scale, word % (1 << 63), 63, take)

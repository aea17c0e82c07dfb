"""From a database's utilities to what exact mechanisms compute with: clamped, rescaled, rounded at random.

Exact mechanisms see an outcome's *shortfall*, how far its utility lies below the top of a public range, in
units of the sensitivity Δu. Clamping to a range that does not depend on the database moves neighbouring
utilities no further apart; dividing by Δu makes the sensitivity 1, which is what allows rounding at random.

Rounding a shortfall s to ⌊s + V⌋, V uniform in [0, 1), costs no privacy because Δu = 1: given the same V,
|s − s′| ≤ 1 implies |⌊s + V⌋ − ⌊s′ + V⌋| ≤ 1, and s ≤ s′ ≤ s + 1 implies ⌊s + V⌋ ≤ ⌊s′ + V⌋ ≤ ⌊s + V⌋ + 1.
So for every V the mechanism behind it sees neighbours, and a bound P ≤ c·P′ that holds for every V holds on
average over V. With Δu = 1/2 the roundings can differ by a whole unit, twice what the weights are made for.

Source: Ilvento 2020, section 3.2, Lemma 3.5 (randomized rounding). Where we differ: rescaling, without which the
lemma holds for integer Δu only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from numbers import Rational, Real
from typing import Any

from gmpy2 import mpq
from numpy.typing import NDArray

from mechanisms.coins import bernoulli
from mechanisms.randomness import RandomBits

Number = float | Rational
Utilities = Sequence[Number] | NDArray[Any]


def exact_rational(name: str, value: Number) -> mpq:
    """Take a number for the rational that it is, a float included.

    Raises:
        TypeError: `value` is not a real number.
        ValueError: `value` is infinite or NaN.
    """
    if isinstance(value, Rational):
        return mpq(int(value.numerator), int(value.denominator))
    if not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, not {value!r}")
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite, not {value}")
    return mpq(*value.as_integer_ratio())


def positive_rational(name: str, value: Number) -> mpq:
    """Take a positive number for the rational that it is; raises as `exact_rational` and for a value of 0 or less."""
    rational = exact_rational(name, value)
    if rational <= 0:
        raise ValueError(f"{name} must be positive, not {value}")
    return rational


def clamp(name: str, value: Number, lower: mpq, upper: mpq) -> mpq:
    """Take the number of [lower, upper] that is nearest to a number of the database.

    Infinite values are clamped as others are. A NaN counts as the lower end: some number it must be, since an
    error would tell that there was one.

    Raises:
        TypeError: `value` is not a real number.
    """
    if not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, not {value!r}")
    if not isinstance(value, Rational) and not math.isfinite(value):
        return upper if value > 0 else lower
    return min(max(exact_rational(name, value), lower), upper)


class UtilityScale:
    """A public range of utilities and their sensitivity: the scale on which shortfalls are measured."""

    def __init__(self, utility_range: tuple[Number, Number], sensitivity: Number) -> None:
        """Take the least and the largest utility, and Δu.

        Raises:
            TypeError: one of them is not a number.
            ValueError: one of them is not finite, the range is empty or Δu is not positive.
        """
        self._lower, self._upper = (exact_rational("utility_range", end) for end in utility_range)
        if self._lower > self._upper:
            raise ValueError(f"utility_range must not end below its start, not {utility_range}")
        self._sensitivity = positive_rational("sensitivity", sensitivity)
        self._spread = (self._upper - self._lower) / self._sensitivity

    @property
    def spread(self) -> int:
        """The largest shortfall once rounded."""
        return -int(-self._spread // 1)

    def shortfalls(self, utilities: Utilities) -> list[mpq]:
        """Measure how far each utility, clamped to the range, lies below the top of the range, in units of Δu.

        Raises:
            TypeError: a utility is not a number.
            ValueError: there are none, or the array has more than one dimension.
        """
        if len(getattr(utilities, "shape", (0,))) != 1:
            raise ValueError(f"utilities must have one dimension, not shape {utilities.shape}")  # type: ignore[union-attr]
        if len(utilities) == 0:
            raise ValueError("utilities must name at least one outcome")
        clamped = (clamp("a utility", utility, self._lower, self._upper) for utility in utilities)
        return [(self._upper - utility) / self._sensitivity for utility in clamped]


def round_at_random(shortfall: mpq, bits: RandomBits) -> int:
    """Round to one of the two neighbouring integers, up with the probability of the fractional part."""
    whole, fraction = divmod(shortfall, 1)
    if not fraction:
        return int(whole)
    return int(whole) + bits.call(bernoulli, Fraction(int(fraction.numerator), int(fraction.denominator)))

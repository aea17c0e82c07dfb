"""How exact mechanisms take a database's utilities: clamped, rescaled, rounded at random.

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
from fractions import Fraction

import numpy as np
from gmpy2 import mpq, mpz

from mechanisms.coins import bernoulli
from mechanisms.parameters import exact_rational, positive_rational
from mechanisms.private_numbers import REACH_BITS, PrivateNumbers, clamped, exact_numbers
from mechanisms.randomness import RandomBits


class UtilityScale:
    """A public range of utilities and their sensitivity: the scale on which shortfalls are measured."""

    def __init__(self, utility_range: tuple[float | Fraction, float | Fraction], sensitivity: float | Fraction) -> None:
        """Take the least and the largest utility, and Δu.

        Raises:
            TypeError: one of them is neither a float nor a rational number.
            ValueError: one of them is not finite, the range is empty or beyond ±2^65536, or Δu is not positive.
        """
        self._lower, self._upper = (mpq(exact_rational("utility_range", end)) for end in utility_range)
        if self._lower > self._upper:
            raise ValueError(f"utility_range must not end below its start, not {utility_range}")
        if max(-self._lower, self._upper) > mpq(2) ** REACH_BITS:
            raise ValueError(f"utility_range must lie within ±2^{REACH_BITS}, beyond which utilities count as infinite")
        self._sensitivity = mpq(positive_rational("sensitivity", sensitivity))
        self._spread = (self._upper - self._lower) / self._sensitivity

    @property
    def spread(self) -> int:
        """The largest shortfall once rounded."""
        return -int(-self._spread // 1)

    def shortfalls(self, utilities: PrivateNumbers) -> list[mpq]:
        """Measure how far each utility, clamped to the range, lies below the top of the range, in units of Δu.

        NaN counts as the lower end of the range.

        Raises:
            TypeError: a utility is not a number, by its type.
            ValueError: there are none, or they are not a vector.
        """
        exact = exact_numbers("utilities", utilities)
        if len(exact) == 0:
            raise ValueError("utilities must name at least one outcome")
        numbers = map(_exact_double, exact.tolist()) if isinstance(exact, np.ndarray) else exact
        lower, upper = self._lower, self._upper
        return [(upper - clamped(number, lower, upper, missing=lower)) / self._sensitivity for number in numbers]


def _exact_double(number: float) -> mpq | float:
    return mpq(number) if math.isfinite(number) else number


def round_at_random(shortfall: mpq, bits: RandomBits) -> mpz:
    """Round to one of the two neighbouring integers, up with the probability of the fractional part."""
    whole, fraction = divmod(shortfall, 1)
    return whole + bits.call(bernoulli, fraction) if fraction else whole

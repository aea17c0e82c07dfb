"""The privacy parameter of the base-2 exponential mechanism: η = −z·log2(x/2^y), which makes 2^−η a dyadic rational.

Every power of it is one too, so weights 2^(η·u) with integer u are exact in binary. Here η is the weight's
growth for one unit of utility, a unit being the sensitivity: the mechanism then loses 2η in base 2, that is
2·ln 2·η in base e, and half of it when utilities are monotone.

Source: Ilvento 2020, sections 3.1 and 3.2. Where we differ: `BaseTwoEta.from_epsilon` derives η from a wished ε.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import gmpy2
from gmpy2 import mpfr, mpq

from mechanisms.core.numbers import Number, count, positive
from mechanisms.core.rounding import rounding


@dataclass(frozen=True)
class BaseTwoEta:
    """The parameter η = −z·log2(x/2^y), for integers x, y, z ≥ 1 with x < 2^y."""

    x: int
    y: int
    z: int = 1

    def __post_init__(self) -> None:
        for name, value in (("x", self.x), ("y", self.y), ("z", self.z)):
            object.__setattr__(self, name, count(name, value))
        if self.x.bit_length() > self.y:
            raise ValueError(f"x must be less than 2^y, not {self.x} with y = {self.y}")

    @classmethod
    def from_epsilon(cls, epsilon: Number, *, y: int, monotone: bool = False) -> BaseTwoEta:
        """Return the largest η with z = 1 and the given y whose mechanism loses no more than ε.

        x is the ceiling of a real number, so the loss falls short of ε by less than 2·2^−y·e^(ε/2), or by less
        than 2^−y·e^ε if utilities are monotone.
        """
        rate = positive("epsilon", epsilon) / (1 if monotone else 2)
        x = _ceiling_of_scaled_exp(mpq(rate), count("y", y))
        if x == 1 << y:
            raise ValueError(f"epsilon {epsilon} is too small for y = {y}: the largest η would be 0; take a larger y")
        return cls(x, y)

    @property
    def decay(self) -> Fraction:
        """2^−η: what a weight is multiplied by when the utility falls by one unit."""
        return Fraction(self.x, 1 << self.y) ** self.z

    def epsilon(self, *, monotone: bool = False) -> tuple[mpfr, mpfr]:
        """Enclose the ε that the mechanism loses: 2·ln 2·η, or ln 2·η if utilities are monotone.

        Returns:
            Two binary64 numbers, one no larger than ε and one no smaller.
        """
        with gmpy2.context(precision=self.y):
            ratio = mpfr(mpq(self.x, 1 << self.y))
        steps = self.z if monotone else 2 * self.z
        down, up = rounding(53)
        with down:
            log_below = gmpy2.log(ratio)
        with up:
            log_above = gmpy2.log(ratio)
            upper = -log_below * steps
        with down:
            lower = -log_above * steps
        return lower, upper


def _ceiling_of_scaled_exp(rate: mpq, y: int) -> int:
    """Return ⌈2^y·e^−rate⌉ for a positive rational rate, by an enclosure refined until both ends agree.

    They agree in the end because e^−rate is irrational; and e^−rate > 0, so the ceiling is at least 1.
    """
    precision = y + 64
    while True:
        ends = []
        for context in rounding(precision):
            with context:
                ends.append(max(1, int(gmpy2.ceil(gmpy2.exp(mpfr(-rate)) * (1 << y)))))
        if ends[0] == ends[1]:
            return ends[0]
        precision *= 2

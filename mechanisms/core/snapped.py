"""Snapping: Laplace noise on a clamped answer, rounded to a grid about as coarse as the noise, and clamped again.

Source: Mironov 2012, 'On Significance of the Least Significant Bits for Differential Privacy', section 5.2. There
the noise is computed in doubles, so the loss is more than ε; here it is ideal Laplace noise, and the loss is ε.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from mechanisms.core.claims import ApproximateDP
from mechanisms.core.gaussian_tails import Enclosure, complement, exponential
from mechanisms.core.grid import LIMIT, Grid
from mechanisms.core.inversion import invert
from mechanisms.core.laws import HEIGHT_BITS
from mechanisms.core.numbers import clamped, convert, count, exact, positive
from mechanisms.core.rounding import rounding
from mechanisms.core.term import Mechanism, Relation
from mechanisms.randomness import RandomBits


@dataclass(frozen=True)
class Snapped(Mechanism):
    """clamp(round_Λ(clamp(answer) + X)), X real Laplace noise of scale λ = Δ/ε, Λ the least power of two ≥ λ.

    Clamping to ±B moves no two answers further apart. The noise has the density that the textbook's mechanism asks for;
    rounding, half upward, and clamping again do not look at the data. So the claim is ε. No real number is drawn: the
    outcome is the k with P[k + 1 or more] < U < P[k or more], and these are exponentials of rationals.
    """

    sensitivity: Fraction
    epsilon: Fraction
    bound: Fraction

    relation: ClassVar[Relation] = "answers"

    def __post_init__(self) -> None:
        convert(self, positive, "sensitivity", "epsilon", "bound")
        if self.bound > self.grid.step * LIMIT or Fraction(float(self.bound)) != self.bound:
            raise ValueError(f"bound must be a double of at most 2^53 times {self.grid.step}, not {self.bound}")

    @property
    def scale(self) -> Fraction:
        """λ = Δ/ε, the scale of the noise."""
        return self.sensitivity / self.epsilon

    @property
    def grid(self) -> Grid:
        """The multiples of Λ. Outputs are these and ±B, the ends of the clamp."""
        exponent = self.scale.numerator.bit_length() - self.scale.denominator.bit_length()  # 2^exponent > λ/2
        return Grid(exponent + (Fraction(2) ** exponent < self.scale))

    @property
    def claim(self) -> ApproximateDP:
        """ε-DP."""
        return ApproximateDP(self.epsilon)

    def prepared(self, data: Any) -> Snap:
        """Return an object that draws outputs for this data; see `Mechanism.prepared`."""
        answer = clamped(exact("answer", data), -self.bound, self.bound, missing=Fraction(0))
        step = self.grid.step
        whole, rest = divmod(answer / step, 1)
        return Snap(whole, mpq(rest), mpq(self.scale / step), self.grid, float(self.bound))


@dataclass(frozen=True)
class Snap:
    """Draws outputs for one dataset; the law to invert is ⌊rest + X + ½⌋, X Laplace noise, in units of Λ.

    Args:
        whole: the whole part of the clamped answer in units of Λ, private.
        rest: the rest of the clamped answer in units of Λ, in [0, 1), private.
        scale: λ/Λ, in (½, 1].
        grid: the multiples of Λ.
        bound: B.
    """

    whole: int
    rest: mpq
    scale: mpq
    grid: Grid
    bound: float

    def tail(self, outcome: int, precision: int) -> Enclosure:
        """Enclose P[outcome or more]: e^−z/2 if z ≥ 0, else 1 − e^z/2, with z = (outcome − 1/2 − rest)/scale."""
        z = (outcome - mpq(1, 2) - self.rest) / self.scale
        power = exponential(-abs(z), precision)
        down, up = rounding(precision)
        half = Enclosure(down.div_2exp(power.lower, 1), up.div_2exp(power.upper, 1))
        return half if z >= 0 else complement(half, precision)

    @property
    def spread(self) -> int:
        """The approximate distance of outcomes from 0, for a guess."""
        return 1

    def rough_tail(self, outcome: int) -> int:
        """Return about P[outcome or more]; see `mechanisms.core.inversion.RoughTails`."""
        z = (outcome - 0.5 - float(self.rest)) / float(self.scale)
        half = int(math.ldexp(math.exp(-abs(z)), HEIGHT_BITS - 1))
        return half if z >= 0 else (1 << HEIGHT_BITS) - half

    def one(self, bits: RandomBits) -> float:
        """Draw one output."""
        value = self.grid.value(self.whole + invert(self, bits))
        return min(max(value, -self.bound), self.bound)

    def many(self, trials: int, bits: RandomBits) -> NDArray[np.float64]:
        """Draw several independent outputs."""
        return np.array([self.one(bits) for _ in range(count("trials", trials, least=0))], dtype=np.float64)

"""Mironov's snapping mechanism, as he defines it, with the ε that it really has.

y = clamp(⌊clamp(f(D)) ⊕ S ⊗ λ ⊗ LN(U*)⌉_Λ), where clamp brings a number into [−B, B], S is a fair sign, U* is a
double in (0, 1) drawn with probability proportional to its ulp, LN the correctly rounded natural logarithm, ⊕ and ⊗
are binary64 operations, and ⌊·⌉_Λ rounds to the nearest multiple of the least power of two Λ ≥ λ, half upward.

Its loss is not 1/λ: for sensitivity 1 and λ < B < 2^46·λ his theorem gives 1/λ + 2^−49·B/λ. README.md proves
Δ/λ + 2^−48·B/λ for every sensitivity Δ where 4λ ≤ B ≤ 2^46·λ, and that is what is calibrated to here.

Source: Mironov 2012, 'On Significance of the Least Significant Bits for Differential Privacy', section 5.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import gmpy2

from mechanisms.arithmetic import require_ieee_arithmetic
from mechanisms.certified import round_up
from mechanisms.parameters import positive_rational
from mechanisms.randomness import RandomBits

_NEAREST = gmpy2.context(precision=53, round=gmpy2.RoundToNearest)
_MANTISSA_BITS = 52
_LEAST_RATIO, _GREATEST_RATIO = 4, 2**46
_LOSS_PER_RATIO = Fraction(1, 2**48)
_MODERATE = Fraction(2) ** 900


@dataclass(frozen=True)
class Snapping:
    """The public parameters of a snapping mechanism.

    Args:
        scale: λ, a double.
        bound: B, a double; answers and outputs are clamped to [−B, B].

    Raises:
        TypeError: a parameter is not a float.
        ValueError: a parameter is not above 0, B/λ is outside [4, 2^46], or one is beyond 2^±900, where binary64
            would underflow or overflow on the way.
    """

    scale: float
    bound: float

    def __post_init__(self) -> None:
        for name, value in (("scale", self.scale), ("bound", self.bound)):
            if not isinstance(value, float):
                raise TypeError(f"{name} must be a float, not {type(value).__name__}")
        scale, bound = positive_rational("scale", self.scale), positive_rational("bound", self.bound)
        if not _LEAST_RATIO * scale <= bound <= _GREATEST_RATIO * scale:
            raise ValueError(f"bound must lie between 4 and 2^46 times the scale {self.scale}, not {self.bound}")
        if scale < 1 / _MODERATE or bound > _MODERATE:
            raise ValueError(f"scale {self.scale} and bound {self.bound} must lie in [2^-900, 2^900]")

    @property
    def step(self) -> Fraction:
        """Λ, the least power of two that is at least λ: the distance of neighbouring outputs."""
        mantissa, exponent = math.frexp(self.scale)
        return Fraction(2) ** (exponent - 1 if mantissa == 0.5 else exponent)

    def epsilon(self, sensitivity: float | Fraction) -> Fraction:
        """Return the ε that the mechanism has on answers of a sensitivity Δ: Δ/λ + 2^−48·B/λ."""
        return (positive_rational("sensitivity", sensitivity) + _LOSS_PER_RATIO * Fraction(self.bound)) / Fraction(
            self.scale
        )

    @classmethod
    def for_epsilon(cls, epsilon: float | Fraction, sensitivity: float | Fraction, bound: float) -> Snapping:
        """Return the mechanism with the least scale at which ε-DP is proven.

        Raises:
            TypeError: a parameter is not a number, or `bound` is not a float.
            ValueError: a parameter is not above 0, or the bound does not suit the scale.
        """
        loss = positive_rational("sensitivity", sensitivity) + _LOSS_PER_RATIO * positive_rational("bound", bound)
        return cls(round_up(loss / positive_rational("epsilon", epsilon)), bound)

    def clamp(self, value: float) -> float:
        """Bring a value into [−B, B]; NaN counts as 0, for an error would tell that the answer was NaN."""
        if value != value:
            return 0.0
        return min(max(value, -self.bound), self.bound)

    def release(self, answer: float, sign: int, logarithm: float) -> float:
        """Find the output, which the randomness determines.

        Args:
            answer: the true answer f(D), a double.
            sign: S, 1 or −1.
            logarithm: LN(U*), a double below 0.
        """
        noisy = self.clamp(answer) + sign * (self.scale * logarithm)
        snapped = math.floor(Fraction(noisy) / self.step + Fraction(1, 2)) * self.step
        return self.clamp(float(snapped))


def uniform_float(bits: RandomBits) -> Any:
    """Draw U*: a real number uniform in (0, 1), rounded down to 53 significant bits.

    Returns:
        An mpfr; each value has the probability of its ulp. Its exponent is unbounded, where Mironov's ends at
        that of the least double: a difference of 2^−1074.
    """
    exponent = 1
    while bits.take(1) == 0:
        exponent += 1
    significand = 1 << _MANTISSA_BITS | bits.take(_MANTISSA_BITS)
    return _NEAREST.div(significand, 1 << exponent + _MANTISSA_BITS)


def rounded_logarithm(uniform: Any) -> float:
    """Return LN(u), the natural logarithm of an mpfr of 53 bits in (0, 1), correctly rounded."""
    return float(_NEAREST.log(uniform))


def log_of_uniform(bits: RandomBits) -> float:
    """Draw LN(U*)."""
    return rounded_logarithm(bits.call(uniform_float))


def exact_snapping(
    answer: float,
    bits: RandomBits,
    *,
    epsilon: float | Fraction,
    sensitivity: float | Fraction = 1,
    bound: float,
) -> float:
    """Release an answer by the snapping mechanism.

    Args:
        answer: the true answer f(D), a double; ones beyond the bound are clamped to it.
        bits: the source of randomness.
        epsilon: privacy parameter, above 0, the rounding's loss included.
        sensitivity: how far neighbouring answers can be apart, above 0.
        bound: B, the largest answer and output in modulus.

    Returns:
        A multiple of Λ within the bound, or the bound itself, with ε-DP.

    Raises:
        TypeError: `answer` is not a float (rounding it to one could move neighbours apart), or `bound` is not.
        ValueError: a public parameter is out of its range.
    """
    if not isinstance(answer, float):
        raise TypeError(f"answer must be a float, not {type(answer).__name__}")
    require_ieee_arithmetic()
    mechanism = Snapping.for_epsilon(epsilon, sensitivity, bound)
    sign = 1 - 2 * bits.take(1)
    return mechanism.release(answer, sign, bits.call(log_of_uniform))

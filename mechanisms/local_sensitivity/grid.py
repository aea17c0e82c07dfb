"""The public grid on which the exact mechanisms count, and the public constants derived from epsilon and delta.

Every value that depends on the data becomes an integer, a number of grid steps, before any of it is added up. From
there on the arithmetic is exact, and what a person can change is an integer that the proofs in README.md count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import gmpy2
import numpy as np
from numpy.typing import NDArray

Rational = Fraction | int | float
"""What is taken as an exact rational number; a float stands for the rational that it is."""

_MOST_STEPS = 2**31
_PRECISION = 128


def positive_rational(name: str, value: Rational) -> Fraction:
    """Take `value` as an exact rational.

    Raises:
        ValueError: `value` is not positive and finite.
    """
    if not 0 < value < math.inf:
        raise ValueError(f"{name} must be positive and finite, not {value!r}")
    return Fraction(value)


def failure_probability(delta: Rational) -> Fraction:
    """Take `delta` as an exact rational.

    Raises:
        ValueError: `delta` is outside (0, 1/2], where the proofs hold.
    """
    if not 0 < delta <= 0.5:
        raise ValueError(f"delta must lie in (0, 1/2], not {delta!r}")
    return Fraction(delta)


def tail_threshold(epsilon: Fraction, delta: Fraction) -> int:
    """The least integer T that discrete Laplace noise of scale 1/epsilon reaches with probability at most `delta`.

    With q = e^−ε that probability is q^T/(1 + q), so T = ⌈(ln(1/δ) − ln(1 + q))/ε⌉. The numerator is transcendental
    and rounded upwards with 128 bits, so that the tail never exceeds δ, and T is the least such integer but where the
    quotient lies nearer to an integer than that can tell.

    Args:
        epsilon: one over the noise's scale, positive.
        delta: a probability in (0, 1/2].
    """
    with gmpy2.context(precision=_PRECISION, round=gmpy2.RoundDown):
        log_normaliser = gmpy2.log1p(gmpy2.exp(gmpy2.mpfr(-gmpy2.mpq(epsilon))))
    with gmpy2.context(precision=_PRECISION, round=gmpy2.RoundUp):
        numerator = gmpy2.log(gmpy2.mpfr(1 / gmpy2.mpq(delta))) - log_normaliser
    return math.ceil(Fraction(*numerator.as_integer_ratio()) / epsilon)


def smoothing_steps(epsilon: Fraction, delta: Fraction) -> int:
    """The integer J = ⌈2·ln(2/δ)/ε⌉, for which 1 + 1/J ≤ 1 + β ≤ e^β with β = ε/(2·ln(2/δ)).

    Args:
        epsilon: the privacy loss, positive.
        delta: a probability in (0, 1/2].
    """
    with gmpy2.context(precision=_PRECISION, round=gmpy2.RoundUp):
        logarithm = gmpy2.log(gmpy2.mpfr(2 / gmpy2.mpq(delta)))
    return math.ceil(2 * Fraction(*logarithm.as_integer_ratio()) / epsilon)


@dataclass(frozen=True)
class Grid:
    """The public values lower, lower + step, …, upper that records and answers are rounded to.

    Args:
        lower: the least value of a record.
        upper: the largest value of a record.
        step: the distance between neighbouring grid values, of which upper − lower is a whole multiple.

    Raises:
        ValueError: an argument is not finite, lower ≥ upper, step ≤ 0, or the steps are not a whole number ≤ 2^31.
    """

    lower: Rational
    upper: Rational
    step: Rational

    def __post_init__(self) -> None:
        if not -math.inf < self.lower < self.upper < math.inf:
            raise ValueError(f"lower must be less than upper, both finite, not {self.lower!r} against {self.upper!r}")
        steps = (Fraction(self.upper) - Fraction(self.lower)) / positive_rational("step", self.step)
        if steps.denominator != 1 or steps > _MOST_STEPS:
            raise ValueError(
                f"step must divide upper − lower into a whole number of at most 2^31 steps, "
                f"not {self.step!r}, which makes it {steps}"
            )

    @property
    def width(self) -> int:
        """How many steps lead from lower to upper."""
        return int((Fraction(self.upper) - Fraction(self.lower)) / Fraction(self.step))

    @property
    def middle(self) -> int:
        """The position that stands for an answer that does not exist, such as the mean of nobody."""
        return self.width // 2

    def positions(self, values: Sequence[float] | NDArray[np.float64]) -> NDArray[np.int64]:
        """Round values to the grid; NaN goes to the middle, what lies outside to the nearer end.

        Each position is a function of its own value alone, since the binary64 operations below are correctly
        rounded wherever in the array they happen; that is all that privacy needs of them.

        Args:
            values: numbers, shape (n,).

        Returns:
            How many steps above lower each value lies, integers in [0, width], shape (n,).

        Raises:
            ValueError: `values` is not one-dimensional.
        """
        array = np.asarray(values, dtype=np.float64)
        if array.ndim != 1:
            raise ValueError(f"values must be one-dimensional, not of shape {array.shape}")
        with np.errstate(all="ignore"):
            steps = np.rint((array - float(self.lower)) / float(self.step))
        steps = np.where(np.isnan(steps), self.middle, np.clip(steps, 0, self.width))
        return steps.astype(np.int64)

    def value(self, position: Fraction | int) -> Fraction:
        """The value `position` steps above lower; it may lie off the grid or outside the range."""
        return Fraction(self.lower) + Fraction(self.step) * position

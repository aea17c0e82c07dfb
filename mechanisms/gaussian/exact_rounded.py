"""The rounded ideal Gaussian: f(D) + σ·Z, with Z a true real normal, rounded correctly to a public grid.

Rounding and clamping are postprocessing of the ideal mechanism, so its privacy is that of the ideal mechanism, exactly:
`privacy.gaussian_delta`. The rounded value is found without the real number: the output is k steps if and only if the
uniform behind Z lies between two values of the normal tail, and bits of the uniform are drawn until it is known to.

The reference path compares by MPFR; the fast path decides almost every draw in binary64 with a proven error bound and
hands over the rest, so that both give the same output on the same uniform.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from mechanisms.gaussian.inversion import RoundedNormalFilter, invert, release_many
from mechanisms.gaussian.law import Enclosure, normal_tail
from mechanisms.gaussian.quantile import rough_quantile
from mechanisms.grid import Grid
from mechanisms.parameters import positive_rational, trial_count
from mechanisms.private_numbers import PrivateNumber
from mechanisms.randomness import RandomBits

_HALF = Fraction(1, 2)


@dataclass(frozen=True)
class RoundedNormal:
    """The law of shift + scale·Z rounded to the nearest integer: T(k) = P[Z > (k − ½ − shift)/scale].

    Args:
        shift: a rational number.
        scale: a rational number, positive.
    """

    shift: Fraction
    scale: Fraction

    def tail(self, outcome: int, precision: int) -> Enclosure:
        """Enclose T(outcome)."""
        return normal_tail(outcome - mpq(_HALF + self.shift), mpq(self.scale) ** 2, precision)

    def guess(self, uniform: float | mpq) -> int:
        """Guess the outcome of a uniform."""
        return round(float(self.shift) + float(self.scale) * rough_quantile(uniform))


def exact_rounded_gaussian(answer: PrivateNumber, bits: RandomBits, *, sigma: float | Fraction, grid: Grid) -> float:
    """Release an answer with ideal Gaussian noise, rounded to the grid.

    Args:
        answer: the true answer f(D); beyond the grid, or not a number, it counts as `Grid.steps_to` says.
        bits: the source of randomness.
        sigma: standard deviation of the noise, positive; a float stands for the rational that it is.
        grid: the public grid of outputs.

    Returns:
        A point of the grid, or its nearest end. It is (ε, δ)-DP for every ε with δ = `gaussian_delta(ε, ...)`.

    Raises:
        ValueError: sigma is not positive and finite, or more than 2^46 steps.
        TypeError: an argument is not a number.
    """
    whole, shift, scale = _in_steps(answer, sigma, grid)
    return grid.value(whole + bits.call(invert, RoundedNormal(shift, scale), 0, 0))


def exact_rounded_gaussian_fast(
    answer: PrivateNumber, trials: int, bits: RandomBits, *, sigma: float | Fraction, grid: Grid
) -> NDArray[np.float64]:
    """Release many answers at once; each word of `bits` gives what the reference gives on the bits of that word.

    Arguments and errors are those of `exact_rounded_gaussian`; `trials` must be at least 0.

    Returns:
        One output a trial, shape (trials,).
    """
    whole, shift, scale = _in_steps(answer, sigma, grid)
    return release_many(
        whole,
        grid,
        trial_count(trials),
        bits,
        law=RoundedNormal(shift, scale),
        decide=RoundedNormalFilter(shift, scale),
    )


def _in_steps(answer: PrivateNumber, sigma: float | Fraction, grid: Grid) -> tuple[int, Fraction, Fraction]:
    """Return whole + shift = answer with −½ ≤ shift < ½, and sigma, all in steps of the grid."""
    scale = grid.noise_steps(positive_rational("sigma", sigma) / grid.step)
    whole = grid.nearest(answer)
    return whole, grid.steps_to(answer) - whole, scale

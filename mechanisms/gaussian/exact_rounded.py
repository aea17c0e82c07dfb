"""The rounded ideal Gaussian: f(D) + σ·Z, with Z a true real normal, rounded correctly to a public grid.

Rounding and clamping are postprocessing of the ideal mechanism, so its privacy is that of the ideal mechanism, exactly:
`privacy.gaussian_delta`. The rounded value is found without the real number: the output is k steps if and only if the
uniform behind Z lies between two values of the normal tail, and bits of the uniform are drawn until it is known to.

The reference path compares by MPFR. Where the noise has up to 2^24 steps, the fast path decides almost every draw in
binary64 with a proven error bound and hands over the rest, so that both give the same output on the same uniform. Noise
of more steps is drawn from words by counting (`mechanisms.gaussian.mixture`): its law is the same, the bits mean
something else.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from mechanisms.answers import Answers, RepeatedAnswer, SeveralAnswers
from mechanisms.chunks import release_in_chunks
from mechanisms.gaussian.inversion import invert, resolved
from mechanisms.gaussian.law import Enclosure, normal_tail
from mechanisms.gaussian.mixture import kept_mixture
from mechanisms.gaussian.quantile import rough_quantile
from mechanisms.gaussian.rounding_filter import GREATEST_SCALE, RoundingFilter
from mechanisms.grid import Grid
from mechanisms.parameters import positive_rational, trial_count
from mechanisms.private_numbers import PrivateNumber, PrivateNumbers
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
    """Release many answers at once, each with the law of the reference.

    Where σ is at most 2^24 steps, each word of `bits` gives what the reference gives on the bits of that word.
    Arguments and errors are those of `exact_rounded_gaussian`; `trials` must be at least 0.

    Returns:
        One output a trial, shape (trials,).
    """
    whole, shift, scale = _in_steps(answer, sigma, grid)
    return _release(RepeatedAnswer(whole, shift, trial_count(trials)), scale, bits, grid)


def exact_rounded_gaussian_each(
    answers: PrivateNumbers, bits: RandomBits, *, sigma: float | Fraction, grid: Grid
) -> NDArray[np.float64]:
    """Release each of many answers once, with noise of its own; the law of each is that of `exact_rounded_gaussian`.

    The noise is the same function of the bits as that of `exact_rounded_gaussian_fast`.

    Args:
        answers: the true answers, an array of any shape or a list of numbers.
        bits: the source of randomness.
        sigma: as there.
        grid: as there.

    Returns:
        Points of the grid, of the shape of `answers`. All together are (ε, δ)-DP as one release is, where neighbours
        differ in one answer.

    Raises:
        TypeError: an answer is not a number, by its type.
        ValueError: a public parameter is out of its range, or `answers` is a single number or a list of lists.
    """
    scale = _sigma_in_steps(sigma, grid)
    several = SeveralAnswers(answers, grid)
    return _release(several, scale, bits, grid).reshape(several.shape)


_kept_filter = lru_cache(maxsize=16)(RoundingFilter)  # for the next release with noise of that public σ


def _release(answers: Answers, scale: Fraction, bits: RandomBits, grid: Grid) -> NDArray[np.float64]:
    """Add to each answer normal noise, σ in steps of the grid, and round the sum."""
    if scale > GREATEST_SCALE:
        mixture = kept_mixture(scale)
        return release_in_chunks(
            answers,
            bits,
            grid=grid,
            decide=lambda _, words: mixture.decide(words),
            resolve=lambda shift, word, bits: mixture.resolve(RoundedNormal(shift, scale), word, bits),
        )
    rounding = _kept_filter(scale)
    return release_in_chunks(
        answers,
        bits,
        grid=grid,
        decide=lambda shifts, words: rounding(words, shifts),
        resolve=lambda shift, word, bits: resolved(RoundedNormal(shift, scale), word, bits),
    )


def _sigma_in_steps(sigma: float | Fraction, grid: Grid) -> Fraction:
    return grid.noise_steps(positive_rational("sigma", sigma) / grid.step)


def _in_steps(answer: PrivateNumber, sigma: float | Fraction, grid: Grid) -> tuple[int, Fraction, Fraction]:
    """Return whole + shift = answer with −½ ≤ shift < ½, and sigma, all in steps of the grid."""
    scale = _sigma_in_steps(sigma, grid)
    whole = grid.nearest(answer)
    return whole, grid.steps_to(answer) - whole, scale

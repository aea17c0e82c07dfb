"""Discrete Laplace noise by inversion, exactly: a sign and one uniform, many draws at once.

N is ±⌊s·E + c⌋ for a fair sign, a standard exponential E = −log U and a public c, which makes P[n] proportional to
e^(−|n|/s) (`mechanisms.laplace.discrete_magnitudes`). Nothing is rejected, so each draw takes one word and does the
same work whatever it draws, except for one in thousands that needs a closer look.

It has the law of Canonne, Kamath and Steinke's Algorithm 2 (`mechanisms.laplace.exact`), which no float touches; here
binary64 decides what it provably can and MPFR the rest. Source of the inversion: Devroye 1986, 'Non-Uniform Random
Variate Generation', chapter X, section 2.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mechanisms.answers import Answers, RepeatedAnswer, SeveralAnswers
from mechanisms.chunks import draw_in_chunks, release_in_chunks
from mechanisms.grid import Grid
from mechanisms.laplace.discrete_magnitudes import OFFSET_BITS, decide_magnitude, enclose_offset
from mechanisms.laplace.exact import INTEGER_LIMIT, clamp_integer, discrete_scale
from mechanisms.laplace.floor_filter import FILTER_BITS, floor_filter
from mechanisms.parameters import positive_rational, trial_count
from mechanisms.private_numbers import PrivateNumber, PrivateNumbers
from mechanisms.randomness import RandomBits

_HALF = Fraction(1, 2)
_UNIFORM = (1 << FILTER_BITS) - 1


def discrete_laplace_by_inversion(scale: Fraction, bits: RandomBits) -> int:
    """Draw n with probability proportional to e^(−|n|/scale): a fair sign first, then the magnitude.

    Args:
        scale: a rational number, above 0.
        bits: the source of randomness.

    Raises:
        ValueError: `scale` is not above 0.
    """
    scale = positive_rational("scale", scale)
    negative = bits.take(1) == 1
    magnitude = decide_magnitude(scale, enclose_offset(scale, OFFSET_BITS), 0, 0, bits)
    return -magnitude if negative else magnitude


class _Inversion:
    """Draws noise of one scale from words: the top bit is the sign, the other 63 are the first of U's.

    For y = s·E + c, which is not an integer, ⌊½ + (y − ½)⌋ is ⌊y⌋ and ⌊½ − (y − ½)⌋ is −⌊y⌋. So one filter serves both
    signs, and no zero of it is −0: a double plus ½ never is.
    """

    def __init__(self, scale: Fraction) -> None:
        self._scale = positive_rational("scale", scale)
        self._offset = enclose_offset(self._scale, OFFSET_BITS)
        below, _ = self._offset  # 2^−64 below c at most, up to scales of 2^60
        self._floors = floor_filter(self._scale, Fraction(int(below.numerator), int(below.denominator)) - _HALF)

    def decide(self, words: NDArray[np.uint64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        noise, undecided = self._floors((words & np.uint64(_UNIFORM)).view(np.int64), words, 0.5)
        return noise, np.flatnonzero(undecided)

    def resolve(self, word: int, bits: RandomBits) -> int:
        magnitude = decide_magnitude(self._scale, self._offset, word & _UNIFORM, FILTER_BITS, bits)
        return -magnitude if word > _UNIFORM else magnitude


@lru_cache(maxsize=64)
def _kept_inversion(scale: Fraction) -> _Inversion:
    """Return what draws noise of a public scale, its tables kept for the next release."""
    return _Inversion(scale)


def _release(answers: Answers, scale: Fraction, bits: RandomBits, grid: Grid) -> NDArray[np.float64]:
    """Add discrete Laplace noise of a public scale, in steps of the grid, to the whole number of each answer."""
    inversion = _kept_inversion(scale)
    return release_in_chunks(
        answers,
        bits,
        grid=grid,
        decide=lambda _, words: inversion.decide(words),
        resolve=lambda _, word, bits: inversion.resolve(word, bits),
    )


def discrete_laplace_many(scale: Fraction, trials: int, bits: RandomBits) -> NDArray[np.int64]:
    """Draw integers n with probability proportional to e^(−|n|/scale), many at once.

    The noise is the same function of the bits as `discrete_laplace_by_inversion`, and each draw begins with one word.
    Noise beyond ±2^62 is brought there, which an answer plus noise does not show if both answer and sum are clamped to
    ±2^61.

    Args:
        scale: a rational number, above 0 and at most 2^46.
        trials: how many integers to draw.
        bits: the source of randomness.

    Raises:
        ValueError: `scale` is out of its range, or `trials` is negative.
    """
    inversion = _Inversion(scale)
    return draw_in_chunks(trials, bits, inversion.decide, inversion.resolve)


def noisy_integers(answer: int, scale: Fraction, trials: int, bits: RandomBits) -> NDArray[np.int64]:
    """Add discrete Laplace noise to an integer, many times: the law of `mechanisms.laplace.exact.noisy_integer`.

    No sum leaves 64 bits: |answer| ≤ 2^61 and |noise| ≤ 2^62.

    Args:
        answer: the true answer.
        scale: a rational number, above 0 and at most 2^46.
        trials: how many integers to draw.
        bits: the source of randomness.

    Raises:
        ValueError: `scale` is out of its range, or `trials` is negative.
    """
    noisy = discrete_laplace_many(scale, trials, bits)
    noisy += clamp_integer(answer)
    return np.clip(noisy, -INTEGER_LIMIT, INTEGER_LIMIT, out=noisy)


def exact_discrete_laplace_fast(
    answer: PrivateNumber,
    trials: int,
    bits: RandomBits,
    *,
    epsilon: float | Fraction,
    sensitivity: float | Fraction = 1,
    grid: Grid,
) -> NDArray[np.float64]:
    """Round an answer to the grid and add discrete Laplace noise, many times.

    The law is that of `mechanisms.laplace.exact.exact_discrete_laplace`; the noise is that of `discrete_laplace_many`.

    Args:
        answer: the true answer f(D).
        trials: how many outputs to draw.
        bits: the source of randomness.
        epsilon: privacy parameter, above 0; a float stands for its exact value.
        sensitivity: how far neighbouring answers can be apart before rounding, above 0.
        grid: the public grid of outputs.

    Returns:
        Array of `trials` points of the grid, each with ε-DP.

    Raises:
        ValueError: a public parameter is out of its range.
    """
    scale = discrete_scale(epsilon, sensitivity, grid)
    repeated = RepeatedAnswer(grid.nearest(answer), Fraction(0), trial_count(trials))
    return _release(repeated, scale, bits, grid)


def exact_discrete_laplace_each(
    answers: PrivateNumbers,
    bits: RandomBits,
    *,
    epsilon: float | Fraction,
    sensitivity: float | Fraction = 1,
    grid: Grid,
) -> NDArray[np.float64]:
    """Release each of many answers once, with noise of its own; the law of each is that of `exact_discrete_laplace`.

    The noise is the same function of the bits as that of `exact_discrete_laplace_fast`.

    Args:
        answers: the true answers, an array of any shape or a list of numbers.
        bits: the source of randomness.
        epsilon: privacy parameter, above 0; a float stands for its exact value.
        sensitivity: how far one answer can move between neighbours before rounding, above 0.
        grid: the public grid of outputs.

    Returns:
        Points of the grid, of the shape of `answers`. All together have ε-DP where neighbours differ in one answer.

    Raises:
        TypeError: an answer is not a number, by its type.
        ValueError: a public parameter is out of its range, or `answers` is a single number or a list of lists.
    """
    scale = discrete_scale(epsilon, sensitivity, grid)
    several = SeveralAnswers(answers, grid)
    return _release(several, scale, bits, grid).reshape(several.shape)

"""The ideal Laplace mechanism, correctly rounded: the grid point nearest to f(D) + X for a real X.

f(D) is the exact rational that its double is, X is real-valued Laplace noise of scale Δ/ε, and the sum is rounded to
the nearest multiple of 2^k. That is postprocessing of the ideal mechanism, so its ε-DP is the textbook's, with the
sensitivity of f itself, whatever k is. No real number is ever computed: X = ±(Δ/ε)·E with E = −log U, and
U is drawn bit by bit until the nearest grid point is decided (`mechanisms.laplace.exponential_variates`).

Source: Mironov 2012 ('On Significance of the Least Significant Bits for Differential Privacy', section 3) judges naive
samplers against this ideal, on a grid that varies with the output; our grid is the same everywhere.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mechanisms.answers import Answers, Doubles, RepeatedAnswer, SeveralAnswers
from mechanisms.chunks import release_in_chunks
from mechanisms.grid import Grid
from mechanisms.laplace.exponential_variates import decide_floor, floor_of_exponential
from mechanisms.laplace.floor_filter import FILTER_BITS, floor_filter
from mechanisms.parameters import positive_rational, trial_count
from mechanisms.private_numbers import PrivateNumber, PrivateNumbers
from mechanisms.randomness import RandomBits

_HALF = Fraction(1, 2)
_UNIFORM = (1 << FILTER_BITS) - 1


def rounded_laplace(offset: Fraction, scale: Fraction, bits: RandomBits) -> int:
    """Draw ⌊offset ± scale·E⌋: a fair sign first, then a standard exponential variate.

    Args:
        offset: a rational number; rounding to the nearest is the floor of a number half a step higher.
        scale: a rational number, above 0.
        bits: the source of randomness.
    """
    negative = bits.take(1) == 1
    return floor_of_exponential(offset, -scale if negative else scale, bits)


_kept_filter = lru_cache(maxsize=32)(floor_filter)  # for the next release with noise of that public scale


def _release(answers: Answers, scale: Fraction, bits: RandomBits, grid: Grid) -> NDArray[np.float64]:
    """Add to each answer noise of a public scale, in steps of the grid, and round the sum.

    Each draw begins with one word, whose top bit is the sign; the other 63 are the first of U's. So the output is the
    same function of the bits as that of `exact_rounded_laplace`.
    """
    floors = _kept_filter(scale)

    def decide(shifts: Doubles, words: NDArray[np.uint64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        rounded, undecided = floors((words & np.uint64(_UNIFORM)).view(np.int64), words, shifts + 0.5)
        return rounded, np.flatnonzero(undecided)

    def resolve(shift: Fraction, word: int, bits: RandomBits) -> int:
        slope = -scale if word > _UNIFORM else scale
        return decide_floor(shift + _HALF, slope, word & _UNIFORM, FILTER_BITS, bits)

    return release_in_chunks(answers, bits, grid=grid, decide=decide, resolve=resolve)


def exact_rounded_laplace(
    answer: PrivateNumber,
    bits: RandomBits,
    *,
    epsilon: float | Fraction,
    sensitivity: float | Fraction = 1,
    grid: Grid,
) -> float:
    """Round answer + Lap(sensitivity/epsilon) correctly to the grid, half a step upward.

    Answers beyond the grid count as its ends, and so do outputs.

    Args:
        answer: the true answer f(D).
        bits: the source of randomness.
        epsilon: privacy parameter, above 0; a float stands for its exact value.
        sensitivity: how far neighbouring answers can be apart, above 0.
        grid: the public grid of outputs.

    Returns:
        A point of the grid, with ε-DP.

    Raises:
        ValueError: a public parameter is out of its range, or the grid is too fine for the noise.
    """
    scale = _scale_in_steps(epsilon, sensitivity, grid)
    whole, offset = _in_steps(answer, grid)
    return grid.value(whole + bits.call(rounded_laplace, offset, scale))


def exact_rounded_laplace_fast(
    answer: PrivateNumber,
    trials: int,
    bits: RandomBits,
    *,
    epsilon: float | Fraction,
    sensitivity: float | Fraction = 1,
    grid: Grid,
) -> NDArray[np.float64]:
    """Draw many outputs of `exact_rounded_laplace`: the same function of the bits, mostly decided in binary64.

    Returns:
        Array of `trials` outputs.
    """
    scale = _scale_in_steps(epsilon, sensitivity, grid)
    whole, offset = _in_steps(answer, grid)
    return _release(RepeatedAnswer(whole, offset + -_HALF, trial_count(trials)), scale, bits, grid)


def exact_rounded_laplace_each(
    answers: PrivateNumbers,
    bits: RandomBits,
    *,
    epsilon: float | Fraction,
    sensitivity: float | Fraction = 1,
    grid: Grid,
) -> NDArray[np.float64]:
    """Release each of many answers once, with noise of its own; the law of each is that of `exact_rounded_laplace`.

    Args:
        answers: the true answers, an array of any shape or a list of numbers.
        bits: the source of randomness.
        epsilon: privacy parameter, above 0; a float stands for its exact value.
        sensitivity: how far one answer can move between neighbours, above 0.
        grid: the public grid of outputs.

    Returns:
        Points of the grid, of the shape of `answers`. All together have ε-DP where neighbours differ in one answer.

    Raises:
        TypeError: an answer is not a number, by its type.
        ValueError: a public parameter is out of its range, or `answers` is a single number or a list of lists.
    """
    scale = _scale_in_steps(epsilon, sensitivity, grid)
    several = SeveralAnswers(answers, grid)
    return _release(several, scale, bits, grid).reshape(several.shape)


def _scale_in_steps(epsilon: float | Fraction, sensitivity: float | Fraction, grid: Grid) -> Fraction:
    scale = positive_rational("sensitivity", sensitivity) / positive_rational("epsilon", epsilon) / grid.step
    return grid.noise_steps(scale)


def _in_steps(answer: PrivateNumber, grid: Grid) -> tuple[int, Fraction]:
    """Return whole + offset = answer + ½ with 0 ≤ offset < 1, in steps of the grid."""
    half_above = grid.steps_to(answer) + _HALF
    whole = math.floor(half_above)
    return whole, half_above - whole

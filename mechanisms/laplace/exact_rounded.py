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

import numpy as np
from numpy.typing import NDArray

from mechanisms.chunks import draw_in_chunks
from mechanisms.grid import Grid
from mechanisms.laplace.exponential_variates import FILTER_BITS, FloorFilter, decide_floor, floor_of_exponential
from mechanisms.parameters import positive_rational
from mechanisms.private_numbers import PrivateNumber
from mechanisms.randomness import RandomBits

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


def rounded_laplace_many(offset: Fraction, scale: Fraction, trials: int, bits: RandomBits) -> NDArray[np.int64]:
    """Draw ⌊offset ± scale·E⌋, many at once: the same function of the bits as `rounded_laplace`.

    Each draw begins with one word, whose top bit is the sign; the other 63 are the first of U's. Draws beyond ±2^62 are
    brought there.

    Args:
        offset: a rational number, at least 0 and below 2.
        scale: a rational number, above 0 and at most 2^46.
        trials: how many integers to draw.
        bits: the source of randomness.

    Raises:
        ValueError: `scale` is out of its range, or `trials` is negative.
    """
    floors = FloorFilter(scale)
    nearest_offset = float(offset)

    def decide(words: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        return floors((words & np.uint64(_UNIFORM)).view(np.int64), words, nearest_offset)

    def resolve(word: int, bits: RandomBits) -> int:
        return decide_floor(offset, -scale if word > _UNIFORM else scale, word & _UNIFORM, FILTER_BITS, bits)

    return draw_in_chunks(trials, 1, bits, decide, resolve)


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
    whole, offset, scale = _in_steps(answer, epsilon, sensitivity, grid)
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
    whole, offset, scale = _in_steps(answer, epsilon, sensitivity, grid)
    return grid.values(whole + rounded_laplace_many(offset, scale, trials, bits))


def _in_steps(
    answer: PrivateNumber, epsilon: float | Fraction, sensitivity: float | Fraction, grid: Grid
) -> tuple[int, Fraction, Fraction]:
    """Return whole + offset = answer + ½ with 0 ≤ offset < 1, and the noise scale, all in steps of the grid."""
    scale = positive_rational("sensitivity", sensitivity) / positive_rational("epsilon", epsilon) / grid.step
    half_above = grid.steps_to(answer) + Fraction(1, 2)
    whole = math.floor(half_above)
    return whole, half_above - whole, grid.noise_steps(scale)

"""Discrete Laplace noise by inversion, exactly: one coin and one geometric variate, many draws at once.

With q = e^(−1/s), the law P[n] = (1 − q)/(1 + q)·q^|n| is: G with probability 1/(1 + q), otherwise −1 − G, where G
is geometric, P[G = m] = (1 − q)·q^m. For n ≥ 0 that gives (1 − q)q^n/(1 + q); for n = −1 − m it gives
q/(1 + q)·(1 − q)q^m, the same with |n| = 1 + m. And G = ⌊s·E⌋ for a standard exponential E = −log U, because
P[s·E ≥ m] = e^(−m/s). Nothing is rejected, so each draw takes two words and does the same work whatever it draws,
but for one in millions that needs a closer look.

It has the law of Canonne, Kamath and Steinke's Algorithm 2 (`mechanisms.laplace.exact`), which no float touches; here
binary64 decides what it provably can and MPFR the rest. Source of the inversion: Devroye 1986, 'Non-Uniform Random
Variate Generation', chapter X, section 2.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mechanisms.certified import CHUNK
from mechanisms.grid import Grid
from mechanisms.laplace.exact import discrete_scale
from mechanisms.laplace.exponential import FILTER_BITS, FloorFilter, decide_floor, floor_of_exponential
from mechanisms.laplace.randomized_response import decide_logistic, enclose_logistic, logistic_coin
from mechanisms.parameters import positive_rational, trial_count
from mechanisms.randomness import RandomBits

_WORD = 64


def discrete_laplace_by_inversion(scale: Fraction, bits: RandomBits) -> int:
    """Draw n with probability proportional to e^(−|n|/scale).

    Args:
        scale: a rational number, above 0.
        bits: the source of randomness.

    Raises:
        ValueError: `scale` is not above 0.
    """
    scale = positive_rational("scale", scale)
    not_negative = bits.call(logistic_coin, 1 / scale)
    magnitude = bits.call(floor_of_exponential, Fraction(0), scale)
    return magnitude if not_negative else -1 - magnitude


def exact_discrete_laplace_fast(
    answer: float | Fraction,
    trials: int,
    bits: RandomBits,
    *,
    epsilon: float | Fraction,
    sensitivity: float | Fraction = 1,
    grid: Grid,
) -> NDArray[np.float64]:
    """Round an answer to the grid and add discrete Laplace noise, many times.

    The law is that of `mechanisms.laplace.exact.exact_discrete_laplace`; the noise is the same function of the bits as
    `discrete_laplace_by_inversion`, one word for the coin and one for U.

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
    whole = grid.nearest(answer)
    below, above = enclose_logistic(1 / scale, 2 * _WORD)
    least_unclear = np.uint64(math.floor(below * 2**_WORD))
    greatest_unclear = np.uint64(math.ceil(above * 2**_WORD) - 1)
    floors = FloorFilter(Fraction(0), scale)
    outputs = np.empty(trial_count(trials))
    for start in range(0, trials, CHUNK):
        chunk = outputs[start : start + CHUNK]
        coins = bits.words(len(chunk))
        words = bits.words(len(chunk))
        negative = coins >= least_unclear
        unclear = np.flatnonzero(negative & (coins <= greatest_unclear))
        magnitude, undecided = floors((words >> np.uint64(_WORD - FILTER_BITS)).view(np.int64), None)
        grid.write_values(whole, np.where(negative, -1 - magnitude, magnitude), chunk)
        for i in sorted({*unclear.tolist(), *undecided.tolist()}):
            not_negative = decide_logistic(1 / scale, int(coins[i]), _WORD, bits)
            exact_magnitude = decide_floor(Fraction(0), scale, int(words[i]), _WORD, bits)
            chunk[i] = grid.value(whole + (exact_magnitude if not_negative else -1 - exact_magnitude))
    return outputs

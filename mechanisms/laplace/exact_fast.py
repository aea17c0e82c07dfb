"""Discrete Laplace noise by inversion, exactly: one coin and one geometric variate, many draws at once.

With q = e^(−1/s), the law P[n] = (1 − q)/(1 + q)·q^|n| is: G with probability 1/(1 + q), otherwise −1 − G, where G
is geometric, P[G = m] = (1 − q)·q^m. For n ≥ 0 that gives (1 − q)q^n/(1 + q); for n = −1 − m it gives
q/(1 + q)·(1 − q)q^m, the same with |n| = 1 + m. And G = ⌊s·E⌋ for a standard exponential E = −log U, because
P[s·E ≥ m] = e^(−m/s). Nothing is rejected, so each draw takes two words and does the same work whatever it draws,
except for one in millions that needs a closer look.

It has the law of Canonne, Kamath and Steinke's Algorithm 2 (`mechanisms.laplace.exact`), which no float touches; here
binary64 decides what it provably can and MPFR the rest. Source of the inversion: Devroye 1986, 'Non-Uniform Random
Variate Generation', chapter X, section 2.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mechanisms.answers import Answers, RepeatedAnswer, SeveralAnswers
from mechanisms.chunks import draw_in_chunks, release_in_chunks
from mechanisms.grid import Grid
from mechanisms.laplace.exact import INTEGER_LIMIT, clamp_integer, discrete_scale
from mechanisms.laplace.exact_randomized_response import decide_logistic, enclose_logistic, logistic_coin
from mechanisms.laplace.exponential_variates import decide_floor, floor_of_exponential
from mechanisms.laplace.floor_filter import FILTER_BITS, floor_filter
from mechanisms.parameters import positive_rational, trial_count
from mechanisms.private_numbers import PrivateNumber, PrivateNumbers
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


class _Inversion:
    """Draws noise of one scale from words, a coin's and a uniform's: binary64 decides most draws, MPFR the rest.

    ⌊−s·E⌋ is −1 − ⌊s·E⌋ unless s·E is an integer, and then binary64 decides nothing. So the filter gets the coin's
    answer as the sign.
    """

    def __init__(self, scale: Fraction) -> None:
        self._scale = positive_rational("scale", scale)
        self._floors = floor_filter(self._scale)
        below, above = enclose_logistic(1 / self._scale, 2 * _WORD)
        self._least_unclear = math.floor(below * 2**_WORD)
        self._greatest_unclear = math.ceil(above * 2**_WORD) - 1

    def decide(
        self, coins: NDArray[np.uint64], words: NDArray[np.uint64]
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        negative = coins >= np.uint64(self._least_unclear)
        signs = negative.astype(np.uint64) << np.uint64(_WORD - 1)
        noise, undecided = self._floors((words >> np.uint64(_WORD - FILTER_BITS)).view(np.int64), signs, 0.0)
        negative &= coins <= np.uint64(self._greatest_unclear)
        undecided |= negative
        return noise, np.flatnonzero(undecided)

    def resolve(self, coin: int, word: int, bits: RandomBits) -> int:
        not_negative = coin < self._least_unclear
        if self._least_unclear <= coin <= self._greatest_unclear:
            not_negative = decide_logistic(1 / self._scale, coin, _WORD, bits)
        magnitude = decide_floor(Fraction(0), self._scale, word, _WORD, bits)
        return magnitude if not_negative else -1 - magnitude


@lru_cache(maxsize=64)
def _kept_inversion(scale: Fraction) -> _Inversion:
    """Return what draws noise of a public scale, its tables kept for the next release."""
    return _Inversion(scale)


def _release(answers: Answers, scale: Fraction, bits: RandomBits, grid: Grid) -> NDArray[np.float64]:
    """Add discrete Laplace noise of a public scale, in steps of the grid, to the whole number of each answer."""
    inversion = _kept_inversion(scale)
    return release_in_chunks(
        answers,
        2,
        bits,
        grid=grid,
        decide=lambda _, coins, words: inversion.decide(coins, words),
        resolve=lambda _, coin, word, bits: inversion.resolve(coin, word, bits),
    )


def discrete_laplace_many(scale: Fraction, trials: int, bits: RandomBits) -> NDArray[np.int64]:
    """Draw integers n with probability proportional to e^(−|n|/scale), many at once.

    The noise is the same function of the bits as `discrete_laplace_by_inversion`, one word for the coin and one for U,
    in chunks of all the coins and then all the uniforms. Noise beyond ±2^62 is brought there, which an answer plus
    noise does not show if both answer and sum are clamped to ±2^61.

    Args:
        scale: a rational number, above 0 and at most 2^46.
        trials: how many integers to draw.
        bits: the source of randomness.

    Raises:
        ValueError: `scale` is out of its range, or `trials` is negative.
    """
    inversion = _Inversion(scale)
    return draw_in_chunks(trials, 2, bits, inversion.decide, inversion.resolve)


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

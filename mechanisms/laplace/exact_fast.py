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

import numpy as np
from numpy.typing import NDArray

from mechanisms.certified import CHUNK
from mechanisms.grid import GREATEST_NOISE_STEPS, Grid
from mechanisms.laplace.exact import INTEGER_LIMIT, clamp_integer, discrete_scale
from mechanisms.laplace.exact_randomized_response import decide_logistic, enclose_logistic, logistic_coin
from mechanisms.laplace.exponential_variates import FILTER_BITS, FloorFilter, decide_floor, floor_of_exponential
from mechanisms.parameters import positive_rational, trial_count
from mechanisms.private_numbers import PrivateNumber
from mechanisms.randomness import RandomBits

GREATEST_INTEGER_NOISE = 2 * INTEGER_LIMIT
"""The largest noise in 64 bits: enough to take any integer within the limit past the other end of the limit."""

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
    """Draws the noise of one scale, a chunk at a time: binary64 decides most draws, MPFR the rest.

    A scale of at most 2^46 keeps the filter's magnitudes below 2^46·63·ln 2 < 2^52, where every float is an int64.
    """

    def __init__(self, scale: Fraction) -> None:
        self._scale = positive_rational("scale", scale)
        if self._scale > GREATEST_NOISE_STEPS:
            raise ValueError(
                f"scale must be at most 2^{GREATEST_NOISE_STEPS.bit_length() - 1}, "
                f"not about 2^{int(scale).bit_length() - 1}"
            )
        below, above = enclose_logistic(1 / self._scale, 2 * _WORD)
        self._least_unclear = np.uint64(math.floor(below * 2**_WORD))
        self._greatest_unclear = np.uint64(math.ceil(above * 2**_WORD) - 1)
        self._floors = FloorFilter(Fraction(0), self._scale)

    def draw(self, count: int, bits: RandomBits) -> NDArray[np.int64]:
        """Draw one chunk, brought into ±`GREATEST_INTEGER_NOISE`."""
        coins = bits.words(count)
        words = bits.words(count)
        negative = coins >= self._least_unclear
        unclear = np.flatnonzero(negative & (coins <= self._greatest_unclear))
        magnitude, undecided = self._floors((words >> np.uint64(_WORD - FILTER_BITS)).view(np.int64), None)
        noise = magnitude.astype(np.int64)
        np.invert(noise, out=noise, where=negative)  # ~m is −1 − m
        for i in sorted({*unclear.tolist(), *undecided.tolist()}):
            not_negative = decide_logistic(1 / self._scale, int(coins[i]), _WORD, bits)
            exact_magnitude = decide_floor(Fraction(0), self._scale, int(words[i]), _WORD, bits)
            exact_noise = exact_magnitude if not_negative else -1 - exact_magnitude
            noise[i] = min(max(exact_noise, -GREATEST_INTEGER_NOISE), GREATEST_INTEGER_NOISE)
        return noise


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
    noise = np.empty(trial_count(trials), dtype=np.int64)
    for start in range(0, trials, CHUNK):
        chunk = noise[start : start + CHUNK]
        chunk[:] = inversion.draw(len(chunk), bits)
    return noise


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
    whole = grid.nearest(answer)
    inversion = _Inversion(scale)
    outputs = np.empty(trial_count(trials))
    for start in range(0, trials, CHUNK):
        chunk = outputs[start : start + CHUNK]
        chunk[:] = grid.values(whole + inversion.draw(len(chunk), bits))
    return outputs

"""Discrete Gaussian noise by inversion, exactly: one uniform a draw, many draws at once.

The law is that of Canonne, Kamath and Steinke's Algorithm 3 (`mechanisms.gaussian.exact`), which no float touches. Here
the noise is the k with P[X ≥ k + 1] < U < P[X ≥ k] (`mechanisms.gaussian.inversion`), found for whole arrays of words,
or has the same law:

- up to σ = 32 by comparing integers with a table of ⌊2^64·P[X ≥ k]⌋: nothing is rounded, and a word is undecided only
  if it equals an entry;
- up to σ = 2^24 by rounding scale·Z, scale = σ/(1 + 1/24σ²): the thresholds lie within 0.6/σ³ of n + ½ there
  (README.md has the proof, by the Euler–Maclaurin formula), less than 2^−15, and binary64 decides all other draws;
- above by giving words to steps (`mechanisms.gaussian.mixture`), which is another function of the bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from mechanisms.answers import Answers, RepeatedAnswer, SeveralAnswers
from mechanisms.chunks import release_in_chunks
from mechanisms.gaussian.exact import sigma_in_steps
from mechanisms.gaussian.inversion import resolved
from mechanisms.gaussian.law import SUMMED_UP_TO, Enclosure, discrete_tail, discrete_tails
from mechanisms.gaussian.mixture import kept_mixture
from mechanisms.gaussian.quantile import rough_quantile
from mechanisms.gaussian.rounding_filter import GREATEST_SCALE, RoundingFilter
from mechanisms.grid import Grid
from mechanisms.parameters import positive_rational, trial_count
from mechanisms.private_numbers import PrivateNumber, PrivateNumbers
from mechanisms.randomness import RandomBits

_GUIDE_BITS = 14
_GUIDE_SHIFT = np.int64(63 - _GUIDE_BITS)
_SIGN_BIT = np.int64(-(2**63))


Filter = Callable[[NDArray[np.uint64]], tuple[NDArray[np.float64], NDArray[np.intp]]]
"""The outcomes for an array of words, each the first 64 bits of a uniform, and the places of those undecided."""


@dataclass(frozen=True)
class DiscreteGaussian:
    """The law of n with probability proportional to exp(−n²/(2·variance)), to be drawn by inversion.

    Args:
        variance: σ², a rational number above 0.

    Raises:
        ValueError: `variance` is not above 0.
    """

    variance: Fraction

    def __post_init__(self) -> None:
        positive_rational("variance", self.variance)

    def tail(self, outcome: int, precision: int) -> Enclosure:
        """Enclose P[X ≥ outcome]."""
        return discrete_tail(outcome, mpq(self.variance), precision)

    def guess(self, uniform: float | mpq) -> int:
        """Guess the outcome of a uniform."""
        return round(math.sqrt(self.variance) * rough_quantile(uniform))


def exact_discrete_gaussian_fast(
    answer: PrivateNumber, trials: int, bits: RandomBits, *, sigma: float | Fraction, grid: Grid
) -> NDArray[np.float64]:
    """Round an answer to the grid and add discrete Gaussian noise, many times.

    The law is that of `exact_discrete_gaussian`, as are arguments and errors. Where σ is at most 2^24 steps, the noise
    is the same function of the bits of each word as what `invert` draws of the law `DiscreteGaussian`.

    Returns:
        One point of the grid a trial, shape (trials,).
    """
    sigma_steps = sigma_in_steps(sigma, grid)
    return _release(RepeatedAnswer(grid.nearest(answer), Fraction(0), trial_count(trials)), sigma_steps, bits, grid)


def exact_discrete_gaussian_each(
    answers: PrivateNumbers, bits: RandomBits, *, sigma: float | Fraction, grid: Grid
) -> NDArray[np.float64]:
    """Release each of many answers once, with noise of its own; the law of each is that of `exact_discrete_gaussian`.

    The noise is the same function of the bits as that of `exact_discrete_gaussian_fast`.

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
    sigma_steps = sigma_in_steps(sigma, grid)
    several = SeveralAnswers(answers, grid)
    return _release(several, sigma_steps, bits, grid).reshape(several.shape)


def _release(answers: Answers, sigma: Fraction, bits: RandomBits, grid: Grid) -> NDArray[np.float64]:
    """Add discrete Gaussian noise, σ in steps of the grid, to the whole number of each answer."""
    law = DiscreteGaussian(sigma**2)
    if sigma > GREATEST_SCALE:
        mixture = kept_mixture(sigma)
        return release_in_chunks(
            answers,
            bits,
            grid=grid,
            decide=lambda _, words: mixture.decide(words),
            resolve=lambda _, word, bits: mixture.resolve(law, word, bits),
        )
    decide = _kept_filter(sigma)
    return release_in_chunks(
        answers,
        bits,
        grid=grid,
        decide=lambda _, words: decide(words),
        resolve=lambda _, word, bits: resolved(law, word, bits),
    )


@lru_cache(maxsize=16)
def _kept_filter(sigma: Fraction) -> Filter:
    """Return the filter for noise of a public σ in steps, its table kept for the next release."""
    return _filter(sigma)


def _filter(sigma: Fraction) -> Filter:
    variance = sigma**2
    if variance <= SUMMED_UP_TO:
        return TabledFilter(mpq(variance))
    rounding = RoundingFilter(sigma / (1 + 1 / (24 * variance)), Fraction(3, 5) / sigma**3)
    return lambda words: rounding(words, 0.0)


class TabledFilter:
    """Finds discrete Gaussian noise for whole arrays of words in a table of integers.

    With m = min(w, 2^64 − 1 − w), the smaller tail is in [m, m + 1]·2^−64, and |n| is the number of k ≥ 1 with m below
    ⌊2^64·P[X ≥ k]⌋ unless m equals one of them. A guide gives |n| for the first 14 bits of m where they decide it.

    Args:
        variance: σ², a rational number above 0 and not so large that the table is.
    """

    def __init__(self, variance: mpq) -> None:
        self._thresholds = np.array(_thresholds(variance)[::-1], dtype=np.int64)
        starts = np.arange(1 << _GUIDE_BITS, dtype=np.int64) << _GUIDE_SHIFT
        passed = np.searchsorted(self._thresholds, starts, side="left")
        passed_at_end = np.append(passed[1:], len(self._thresholds))
        self._guide = np.where(passed == passed_at_end, len(self._thresholds) - passed, np.nan)

    def __call__(self, words: NDArray[np.uint64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Return the noise for the first words of the uniforms, shape (n,), and which of it is undecided."""
        signed = words.view(np.int64)
        smaller = signed ^ (signed >> 63)
        noise = np.empty_like(smaller, dtype=np.float64)
        np.take(self._guide, smaller >> _GUIDE_SHIFT, out=noise, mode="clip")
        unguided = np.flatnonzero(np.isnan(noise))
        passed = np.searchsorted(self._thresholds, smaller[unguided], side="right")
        noise[unguided] = len(self._thresholds) - passed
        noise.view(np.int64)[:] ^= signed & _SIGN_BIT
        last_passed = np.take(self._thresholds, passed - 1, out=np.empty_like(passed), mode="clip")
        return noise, unguided[last_passed == smaller[unguided]]


def _thresholds(variance: mpq) -> list[int]:
    """Return ⌊2^64·P[X ≥ k]⌋ for k = 1, 2, … to a 0, which P[X ≥ k] ≤ exp(−k²/2σ²) places."""
    last = math.isqrt(math.floor(89 * variance)) + 1  # 89/2 > 64·ln 2
    precision = 128
    while True:
        tails = discrete_tails(last, variance, precision)
        floors = [[math.floor(mpq(end) * 2**64) for end in tail] for tail in tails]
        if all(low == high for low, high in floors):
            return [low for low, _ in floors]
        precision *= 2

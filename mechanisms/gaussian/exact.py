"""The Gaussian mechanism on a public grid, exactly: three terms, each with a claim that it derives by itself."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import floor

from mechanisms.core.grid import Grid
from mechanisms.core.kernel import Kernel
from mechanisms.core.laws import DiscreteGaussian, RoundedGaussian
from mechanisms.core.noisy import Noisy
from mechanisms.core.numbers import Number, positive
from mechanisms.core.records import Answer
from mechanisms.core.rounding import fraction

WORD = 62
"""The number of bits of a draw of fixed work."""

MOST_POINTS = 1024
"""The most points in a range of fixed work; its table has a row for each point."""

_PRECISION = 192


def exact_discrete_gaussian(sigma: Number, *, sensitivity: Number = 1, grid: Grid) -> Noisy:
    """Return the term of discrete Gaussian noise: P[n steps] is in proportion to e^(−n²/2s²), s = sigma/step."""
    return Noisy(Answer(positive("sensitivity", sensitivity), grid), DiscreteGaussian(_variance(sigma, grid)))


def exact_rounded_gaussian(sigma: Number, *, sensitivity: Number = 1, grid: Grid) -> Noisy:
    """Return the term of normal noise, rounded to the grid; arguments, claim and errors are as for discrete noise."""
    return Noisy(Answer(positive("sensitivity", sensitivity), grid), RoundedGaussian(_variance(sigma, grid)))


def exact_fixed_work_gaussian(
    epsilon: Number, *, sigma: Number, sensitivity: Number = 1, lower: int, upper: int
) -> Kernel:
    """Return the term of Gaussian noise on a public range of integers, with the same work in every run.

    For m ≥ 1 the noise N has P[N ≥ m] = P[N ≤ −m] = ⌊2^62·P[X ≥ m]⌋/2^62, X discrete Gaussian, and the sum is clamped
    to the range. The claim is (ε, δ)-DP with the δ of this law, not of X.
    """
    grid = Grid(0)
    first, last = grid.steps_of("lower", lower), grid.steps_of("upper", upper)
    if not 0 < last - first < MOST_POINTS:
        raise ValueError(f"upper must be above lower = {lower} by less than {MOST_POINTS}, not {upper}")
    law = DiscreteGaussian(_variance(sigma, grid))
    tails = [floor(fraction(law.tail(m, _PRECISION).lower) * 2**WORD) for m in range(1, last - first + 1)]
    rows = tuple(_row(tails, place) for place in range(last - first + 1))
    query = Answer(positive("sensitivity", sensitivity), grid)
    return Kernel(query, first, rows, positive("epsilon", epsilon))


def _row(tails: Sequence[int], place: int) -> tuple[int, ...]:
    """Return the number of words of each point of the range, for the answer at index `place` of the range."""
    below = [(1 << WORD) - tails[place - point] for point in range(1, place + 1)]  # words of that point or more
    edges = [1 << WORD, *below, *tails[: len(tails) - place], 0]
    return tuple(words - following for words, following in pairwise(edges))


def _variance(sigma: Number, grid: Grid) -> Fraction:
    return (positive("sigma", sigma) / grid.step) ** 2

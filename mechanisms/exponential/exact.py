"""The base-e exponential mechanism, exactly: Pr[o] ∝ e^(−x_o), x_o = ε·(max u − u_o)/(2Δu), no weight ever rounded.

Weights are irrational, so they are reached by rejection from dyadic ones. The *level* of an outcome is an
integer k_o ≥ 0 with 2^−k_o ≥ e^−x_o. An outcome is proposed in proportion to 2^−k_o and accepted with
probability 2^k_o·e^−x_o ≤ 1; what is accepted follows e^−x_o whatever the levels, so they may come from
binary64 as long as they are never too high:

    y_o = fl(c·fl(max u − u_o)), k_o = min(⌊y_o⌋, depth), fl the nearest double, c ≤ (1 − 2^−51)·log2(e)·ε/(2Δu).

With h = 2^−53 each of the two operations multiplies by 1 + 2h at most, in any rounding mode, and
(1 − 4h)(1 + 2h)² < 1: hence y_o ≤ x_o·log2 e. (Where a difference or a product lies below the normal range,
⌊y_o⌋ = 0, which is low enough whatever x_o is.) So 2^−k_o ≥ e^−x_o.

To propose is to read a codeword: an outcome on level k has one of k + b bits, codewords being given out in order of
level and then of outcome (a canonical prefix code), b the least number for which there are enough. Bits are
taken until they make a codeword; when they can no longer make one, the round starts again. To accept is to compare a
uniform number, bit by bit, with an enclosure of 2^k_o·e^−x_o that MPFR computes with directed rounding from
the rational x_o, narrowed as bits are drawn.

Source of the mechanism: McSherry and Talwar 2007; Dwork and Roth 2014, section 3.4. Ilvento 2020 makes weights
dyadic by changing ε's base to 2; here ε keeps its base.
"""

from __future__ import annotations

from fractions import Fraction

import gmpy2
from gmpy2 import mpq

from mechanisms.exponential.levels import WIDEST_RANGE, LevelledUtilities, exact_gap
from mechanisms.private_numbers import PrivateNumbers
from mechanisms.randomness import REJECTED, RandomBits
from mechanisms.rounding import rounding

_STEP = 64  # bits by which an enclosure is narrowed; also how much finer it is than the bits it is compared with


def exact_exponential(
    utilities: PrivateNumbers,
    bits: RandomBits,
    *,
    epsilon: float | Fraction,
    sensitivity: float | Fraction = 1,
    monotone: bool = False,
    utility_range: tuple[float, float] = WIDEST_RANGE,
) -> int:
    """Select an outcome with probability exactly proportional to exp(ε·u / (2Δu)).

    No database makes it fail: NaN counts as the lowest utility of the range, and utilities outside the range,
    infinities included, are clamped to it, which moves no two utilities further apart.

    Args:
        utilities: one utility an outcome, shape (outcomes,), numbers as `mechanisms.private_numbers` reads them, each
            the rational that it is. Larger is better.
        bits: the source of randomness.
        epsilon: ε, taken as the rational that it is.
        sensitivity: Δu, the most that one record moves any utility, taken as the rational that it is.
        monotone: whether a record moves all utilities in the same direction: then exp(ε·u / Δu) is ε-DP as well.
        utility_range: the lowest and the highest utility, public, doubles within ±2^1022.

    Returns:
        The index of the selected outcome.

    Raises:
        TypeError: a parameter, or a utility, is not a number, by its type.
        ValueError: `epsilon` or `sensitivity` is not above 0 and finite, their ratio is outside [2^-899, 2^900], the
            utilities are empty or not a vector, or the range is empty, too wide or not of doubles.
    """
    levelled = LevelledUtilities.of(
        utilities, epsilon=epsilon, sensitivity=sensitivity, monotone=monotone, utility_range=utility_range
    )
    utilities = levelled.utilities if isinstance(levelled.utilities, list) else levelled.utilities.tolist()
    return bits.repeat(_kept_proposal, levelled.members(), levelled.rate, levelled.best, tuple(utilities))


def _kept_proposal(
    members: tuple[tuple[int, ...], ...],
    rate: mpq,
    best: float | mpq,
    utilities: tuple[float | mpq, ...],
    bits: RandomBits,
) -> int | None:
    level, rank = bits.call(propose, tuple(map(len, members)))
    outcome = members[level][rank]
    gap = exact_gap(rate, best, utilities[outcome])
    return outcome if bits.call(bernoulli_scaled_exp, gap, level) else REJECTED


def propose(counts: tuple[int, ...], bits: RandomBits) -> tuple[int, int]:
    """Draw a member of a level, each member of level k in proportion to 2^−k, by reading a codeword.

    Args:
        counts: how many members each level has.
        bits: the source of randomness.

    Returns:
        The level, and the member's rank on it.
    """
    deepest = len(counts) - 1
    codewords = sum(count << (deepest - level) for level, count in enumerate(counts))
    return bits.repeat(_read_codeword, counts, codewords, max((codewords - 1).bit_length() - deepest, 0))


def _read_codeword(counts: tuple[int, ...], codewords: int, shortest: int, bits: RandomBits) -> tuple[int, int] | None:
    word, first = bits.take(shortest), 0
    for level, count in enumerate(counts):
        if word - first < count:
            return level, word - first
        if word << (len(counts) - 1 - level) >= codewords:
            break
        word, first = 2 * word + bits.take(1), 2 * (first + count)
    return REJECTED


def bernoulli_scaled_exp(gap: mpq, level: int, bits: RandomBits) -> bool:
    """Draw True with probability exactly 2^level·e^−gap, which is at most 1.

    It takes bits of a uniform number until they decide: two on average, none if the probability is 1. They do
    decide in the end, since e^−gap is irrational for every rational gap other than 0.

    Args:
        gap: a rational number, at least level·ln 2.
        level: an integer, at least 0.
        bits: the source of randomness.
    """
    uniform = drawn = 0
    while True:
        if drawn % _STEP == 0:
            precision = drawn + 2 * _STEP
            lower, upper = enclose_scaled_exp(gap, level, precision)
        unread = precision - drawn
        if (uniform + 1) << unread <= lower:
            return True
        if uniform << unread >= upper:
            return False
        uniform, drawn = 2 * uniform + bits.take(1), drawn + 1


def enclose_scaled_exp(gap: mpq, level: int, precision: int) -> tuple[int, int]:
    """Enclose 2^level·e^−gap between two integer multiples of 2^−precision, returned as those integers."""
    down, up = rounding(precision + _STEP)
    with up:
        gap_above = gmpy2.mpfr(gap)
    with down:
        gap_below = gmpy2.mpfr(gap)
        lower = gmpy2.floor(gmpy2.mul_2exp(gmpy2.exp(-gap_above), level + precision))
    with up:
        upper = gmpy2.ceil(gmpy2.mul_2exp(gmpy2.exp(-gap_below), level + precision))
    return int(lower), int(upper)

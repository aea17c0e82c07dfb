"""The base-e exponential mechanism at the price of a naive one: the fast path of `mechanisms.exponential.exact`.

Set-up finds every outcome's level and counts them; it needs no exponential and adds no floats. A draw is one 64-bit
word a round: its first bits are the proposal's codeword, the rest begins the uniform number u that decides on
acceptance. Whether u < p = 2^k·e^−x is decided by an approximation q of p with |q − p| ≤ `FILTER_ERROR`; within that
distance the reference path takes over, starting from the very bits of the word. Both paths are the same function of the
bits.

The approximation. Let f = y − k in [0, 1), exact since y and ⌊y⌋ are multiples of y's last place. Then p =
2^−(x·log2 e − k). Rounded to nearest, y ≥ (1 − 2^−50 − 2^−100)·x·log2 e, or both are below 2^−1021: c is at most a
share 2^−51 + 2^−52 too low, and two roundings follow. With y < 64 that makes 0 ≤ x·log2 e − y < 2^−43, and
|2^−f − p| < 2^−43. q is the Taylor polynomial of 2^−f about ½, of degree 5, by Horner's rule:

- what is left out: (ln 2)^6·|f − ½|^6/6!·max 2^−f ≤ (ln 2/2)^6/720 < 2^−18.6;
- rounding: f − ½, five sums, five products and six coefficients, all of modulus at most 1, are each off by a factor
  1 ± 2^−53 (or by 2^−1075 where a product is subnormal): less than 2^−48 together;
- q ± FILTER_ERROR, its scaling by a power of 2 and a quotient of integers: less than 2^−51.

2^−18.6 + 2^−43 + 2^−48 + 2^−51 < 2^−18. A finer filter is not worth its price: one word in 10^5 falls within this
one. On the deepest level y is cut off and says nothing about x, so the reference decides: for less than a share
n²·2^−62 of all words, n the number of outcomes.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from fractions import Fraction
from typing import TypeVar

import gmpy2
import numpy as np
from numpy.typing import NDArray

from mechanisms.arithmetic import require_ieee_arithmetic
from mechanisms.exponential.exact import bernoulli_scaled_exp
from mechanisms.exponential.levels import WIDEST_RANGE, LevelledUtilities
from mechanisms.parameters import trial_count
from mechanisms.private_numbers import PrivateNumbers
from mechanisms.randomness import RandomBits

FILTER_ERROR = 2.0**-18
"""How far `half_power` may lie from the probability of acceptance."""

_WORD = 64
_CHUNK = 1 << 15  # words a batch: their temporaries stay in a core's cache
_SPARE = 64  # words beyond the expected number, lest the last few draws take many batches
_PREFIX = 12  # bits of a word that mostly tell its level
_UNTOLD = -1  # the level of a prefix that several levels share
_FEW_TRIALS = 8  # below which, and below one trial for so many outcomes, tables would not pay
_OUTCOMES_A_TRIAL = 4096

with gmpy2.context(precision=100):
    _COEFFICIENTS = tuple(
        float(gmpy2.sqrt(gmpy2.mpfr(0.5)) * (-gmpy2.const_log2()) ** power / math.factorial(power))
        for power in range(6)
    )

Real = TypeVar("Real", float, NDArray[np.float64])


def half_power(fraction: Real) -> Real:
    """Approximate 2^−f for f in [0, 1), within `FILTER_ERROR` with room to spare (module docstring)."""
    t = fraction - 0.5
    result = t * _COEFFICIENTS[-1]
    for coefficient in _COEFFICIENTS[-2:0:-1]:
        result += coefficient
        result *= t
    result += _COEFFICIENTS[0]
    return result


def thresholds(
    fraction: NDArray[np.float64], scale: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.uint64], NDArray[np.uint64]]:
    """Find how many words of each codeword the filter accepts, and how many it rejects.

    Args:
        fraction: f in [0, 1), shape (outcomes,).
        scale: how many words begin with the codeword, shape (outcomes,), powers of 2.

    Returns:
        The approximate probabilities of acceptance, how many of the least words are accepted, and how many of the
        greatest are rejected.
    """
    probability = half_power(fraction)
    accepted = ((probability - FILTER_ERROR) * scale).astype(np.uint64)
    rejected = (np.maximum(1 - FILTER_ERROR - probability, 0.0) * scale).astype(np.uint64)
    return probability, accepted, rejected


def exact_exponential_fast(
    utilities: PrivateNumbers,
    trials: int,
    bits: RandomBits,
    *,
    epsilon: float | Fraction,
    sensitivity: float | Fraction = 1,
    monotone: bool = False,
    utility_range: tuple[float, float] = WIDEST_RANGE,
) -> NDArray[np.int64]:
    """Select outcomes with probabilities exactly proportional to exp(ε·u / (2Δu)).

    Args:
        utilities: one utility an outcome, shape (outcomes,); larger is better.
        trials: how many selections.
        bits: the source of randomness.
        epsilon: as for `exact_exponential`, like the other parameters and the errors raised.
        sensitivity: Δu.
        monotone: whether a record moves all utilities in the same direction.
        utility_range: the lowest and the highest utility, public.

    Returns:
        The indices of the selected outcomes, shape (trials,).
    """
    sampler = LevelSampler(
        utilities, epsilon=epsilon, sensitivity=sensitivity, monotone=monotone, utility_range=utility_range
    )
    return sampler.draw(trials, bits)


class LevelSampler:
    """A base-e exponential mechanism whose levels serve many draws, each O(1) whatever the number of outcomes.

    Args:
        utilities: one utility an outcome, shape (outcomes,); not to be changed while the sampler is in use.
        epsilon: as for `exact_exponential`, like the other parameters and the errors raised.
        sensitivity: Δu.
        monotone: whether a record moves all utilities in the same direction.
        utility_range: the lowest and the highest utility, public.
    """

    def __init__(
        self,
        utilities: PrivateNumbers,
        *,
        epsilon: float | Fraction,
        sensitivity: float | Fraction = 1,
        monotone: bool = False,
        utility_range: tuple[float, float] = WIDEST_RANGE,
    ) -> None:
        self._levelled = LevelledUtilities.of(
            utilities, epsilon=epsilon, sensitivity=sensitivity, monotone=monotone, utility_range=utility_range
        )
        depth = self._levelled.depth
        self._counts = self._levelled.counts()
        self._before: list[int] = (np.cumsum(self._counts) - self._counts).tolist()
        self._outcomes = self._levelled.by_level()
        # Codewords are integers of depth + (bits of the shortest) bits; level k's end before _ends[k].
        weights = self._counts << np.arange(depth, depth - len(self._counts), -1)
        self._ends: list[int] = np.cumsum(weights).tolist()
        self._shortest = (self._ends[-1] - 1).bit_length() - depth
        self._tables: _Tables | None = None

    def draw(self, trials: int, bits: RandomBits) -> NDArray[np.int64]:
        """Select outcomes.

        Args:
            trials: how many selections.
            bits: the source of randomness.

        Returns:
            The indices of the selected outcomes, shape (trials,).

        Raises:
            ValueError: `trials` is negative.
        """
        trial_count(trials)
        require_ieee_arithmetic()
        # The choice depends on nothing that was drawn before, so that the same bits always give the same outcomes.
        if trials < _FEW_TRIALS + self._levelled.levels.size // _OUTCOMES_A_TRIAL:
            return np.array([self._draw_one(bits) for _ in range(trials)], dtype=np.int64)
        if self._tables is None:
            self._tables = _Tables(self._levelled, self._outcomes, self._counts, self._ends, self._shortest)
        selected = np.empty(trials, dtype=np.int64)
        done = 0
        while done < trials:
            expected = math.ceil((trials - done) / self._tables.acceptance)
            words = bits.words(min(expected + _SPARE, _CHUNK))
            accepted = self._accepted(self._tables, words, bits)[: trials - done]
            selected[done : done + accepted.size] = accepted
            done += accepted.size
        return selected

    def _draw_one(self, bits: RandomBits) -> int:
        depth, ends = self._levelled.depth, self._ends
        unread = _WORD - depth - self._shortest
        while True:
            word = bits.take(_WORD)
            code = word >> unread
            level = bisect_right(ends, code)
            if level == len(ends):
                continue
            rank = (code - (ends[level - 1] if level else 0)) >> (depth - level)
            outcome = int(self._outcomes[self._before[level] + rank])
            if self._accepts(outcome, word, bits):
                return outcome

    def _accepts(self, outcome: int, word: int, bits: RandomBits) -> bool:
        """Decide whether to accept an outcome, by the bits of the word behind its codeword and by further ones."""
        level = int(self._levelled.levels[outcome])
        size = _WORD - self._shortest - level
        offset = word & ((1 << size) - 1)
        if level < self._levelled.depth:
            probability = half_power(float(self._levelled.exponents[outcome]) - level)
            if (offset + 1) / (1 << size) <= probability - FILTER_ERROR:
                return True
            if offset / (1 << size) >= probability + FILTER_ERROR:
                return False
        return bernoulli_scaled_exp(self._levelled.gap(outcome), level, _BeginningWith(offset, size, bits))

    def _accepted(self, tables: _Tables, words: NDArray[np.uint64], bits: RandomBits) -> NDArray[np.intp]:
        """Return the outcomes that these words propose and accept, in order."""
        positions = tables.positions(words)
        accepted = words < tables.accepted_below[positions]
        undecided = np.flatnonzero(accepted != (words <= tables.rejected_above[positions]))
        for index in undecided.tolist():
            outcome = int(tables.outcomes[positions[index]])
            accepted[index] = self._accepts(outcome, int(words[index]), bits)
        selected: NDArray[np.intp] = tables.outcomes[positions.compress(accepted)]
        return selected


class _Tables:
    """Decides most words by look-up: arrays over positions, the outcomes in the order of their codewords.

    The position behind the last outcome stands for words that begin with no codeword.

    Args:
        levelled: the utilities and their levels.
        outcomes: in increasing order of level, then of index.
        counts: how many outcomes there are on each level.
        ends: where the codewords of each level end, as integers of `shortest` + depth bits.
        shortest: bits of level 0's codewords.
    """

    def __init__(
        self,
        levelled: LevelledUtilities,
        outcomes: NDArray[np.intp],
        counts: NDArray[np.intp],
        ends: list[int],
        shortest: int,
    ) -> None:
        used = np.arange(len(counts))
        before = np.cumsum(counts) - counts
        sizes = (_WORD - shortest - used).astype(np.uint64)  # bits of a word behind the codeword
        first_codewords = np.array([0, *ends[:-1]]) >> (levelled.depth - used)
        shifts = first_codewords - before
        self._unread = np.uint64(_WORD - shortest - levelled.depth)
        self._ends = np.array(ends, dtype=np.uint64)
        # A position is (word >> size) − shift, modulo 2^64. Words without a codeword, the last "level", begin with a 1.
        self._sizes = np.append(sizes, np.uint64(_WORD - 1))
        self._shifts = np.append(shifts, 1 - levelled.levels.size).astype(np.uint64)

        self.outcomes = outcomes
        size = np.repeat(sizes, counts)
        begin = (np.arange(size.size) + np.repeat(shifts, counts)).astype(np.uint64) << size
        last = begin + ((np.uint64(1) << size) - np.uint64(1))
        scale = np.repeat(np.ldexp(1.0, sizes.astype(np.intp)), counts)
        fraction = levelled.exponents[self.outcomes] - np.repeat(used, counts)
        probability, accepted, rejected = thresholds(fraction, scale)
        self.acceptance = float(probability @ scale) / 2.0**_WORD
        self.accepted_below = np.append(begin + accepted, np.uint64(0))
        self.rejected_above = np.append(last - rejected, np.uint64(0))
        if used[-1] == levelled.depth:  # where exponents are cut off: f = 0 there, which rejects nothing
            self.accepted_below[before[-1] : -1] = 0

        prefixes = np.arange(1 << _PREFIX, dtype=np.uint64) << np.uint64(_WORD - _PREFIX)
        level = self._level(prefixes)
        same = level == self._level(prefixes | np.uint64((1 << (_WORD - _PREFIX)) - 1))
        self._level_of_prefix = np.where(same, level, _UNTOLD)

    def _level(self, words: NDArray[np.uint64]) -> NDArray[np.intp]:
        return np.searchsorted(self._ends, words >> self._unread, side="right")

    def positions(self, words: NDArray[np.uint64]) -> NDArray[np.intp]:
        """Return the position of the codeword that each word begins with."""
        level = self._level_of_prefix[(words >> np.uint64(_WORD - _PREFIX)).view(np.int64)]
        untold = np.flatnonzero(level == _UNTOLD)
        level[untold] = self._level(words[untold])
        return ((words >> self._sizes[level]) - self._shifts[level]).view(np.int64)


class _BeginningWith(RandomBits):
    """Bits that were already drawn, followed by the bits of a source.

    Args:
        value: the bits drawn already, the first the most significant.
        length: the number of bits already drawn.
        source: where further bits come from.
    """

    def __init__(self, value: int, length: int, source: RandomBits) -> None:
        self._value = value
        self._left = length
        self._source = source

    def take(self, count: int) -> int:
        """Draw bits; see `RandomBits.take`."""
        drawn = min(count, self._left)
        self._left -= drawn
        value = self._value >> self._left
        self._value &= (1 << self._left) - 1
        return (value << (count - drawn)) | self._source.take(count - drawn)

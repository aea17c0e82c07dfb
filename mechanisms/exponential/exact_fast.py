"""The base-e exponential mechanism at the price of a naive one: the fast path of `mechanisms.exponential.exact`.

Set-up finds every outcome's level and counts them; it needs no exponential and adds no floats. A draw is one 64-bit
word a round. For many draws it stands for the number ⌊word/m⌋: m consecutive words stand for each, where m is the most
with which every codeword begins all the numbers that it should, so that a share of at most 1/(m + 1) of the words
is wasted, whatever the total of the weights. The number's first bits are the proposal's codeword, the rest begins the
uniform number u that decides on acceptance. Whether u < p = 2^k·e^−x is decided by an approximation q of p with
|q − p| ≤ `FILTER_ERROR`; within that distance the reference path takes over, starting from the very bits of the number.
Both paths are the same function of these bits.

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
from mechanisms.exponential.levels import WIDEST_RANGE, LevelledUtilities, weights_at
from mechanisms.parameters import trial_count
from mechanisms.private_numbers import PrivateNumbers
from mechanisms.randomness import RandomBits

FILTER_ERROR = 2.0**-18
"""How far `half_power` may lie from the probability of acceptance."""

_WORD = 64
_BEGINNING = 32  # bits of a uniform number that tables compare
_UNDECIDED = np.uint64(int(2 * FILTER_ERROR * 2**_BEGINNING) + 2)
_MOST_IN_TABLES = (1 << _BEGINNING) - 1  # an outcome takes the other half of an entry
_NOTHING, _MIXED = -1, -2  # what words select whose first bits say that, or do not say
_CHUNK = 1 << 15  # words, or outcomes, whose temporaries stay in a core's cache
_SPARE = 64  # words beyond the expected number, lest the last few draws take many batches
_MEAN_ACCEPTANCE = 0.7  # of a proposal, about: the mean of 2^−f is 0.72
_PREFIX = 12  # bits of a word that mostly tell its level
_SPREAD = 3  # bits by which numbers are shorter than words, if codewords leave so many: m is at least 2^3 then
_FEW_TRIALS = 8  # below which, and below one trial for so many outcomes, tables would not pay
_OUTCOMES_A_TRIAL = 256
_BLOCK = 128
_BLOCK_STARTS = np.arange(0, _CHUNK, _BLOCK)

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


def accepted_below(fraction: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return how many of the 2^32 beginnings of a uniform number the filter accepts, for f in [0, 1).

    `_UNDECIDED` beginnings from there on it leaves undecided, and it rejects the rest.
    """
    return ((half_power(fraction) - FILTER_ERROR) * 2.0**_BEGINNING).astype(np.uint64)


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
        self._blocks: _Blocks | None = None
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
        with np.errstate(all="ignore"):  # under a caller's np.seterr(all="raise") an underflow would be an event
            return self._drawn(trials, bits)

    def _drawn(self, trials: int, bits: RandomBits) -> NDArray[np.int64]:
        outcomes = len(self._levelled.doubles)
        # The choice depends on nothing that was drawn before, so that the same bits always give the same outcomes.
        if trials < _FEW_TRIALS + outcomes // _OUTCOMES_A_TRIAL or outcomes > _MOST_IN_TABLES:
            if self._blocks is None:
                self._blocks = _Blocks(self._levelled)
            return np.array([self._draw_one(self._blocks, bits) for _ in range(trials)], dtype=np.int64)
        if self._tables is None:
            self._tables = _Tables(self._levelled)
        selected = np.empty(trials, dtype=np.int64)
        done = 0
        while done < trials:
            expected = math.ceil((trials - done) / self._tables.acceptance)
            words = bits.words(min(expected + _SPARE, _CHUNK))
            accepted = self._accepted(self._tables, words, bits)[: trials - done]
            selected[done : done + accepted.size] = accepted
            done += accepted.size
        return selected

    def _draw_one(self, blocks: _Blocks, bits: RandomBits) -> int:
        while True:
            outcome, offset, size = blocks.proposal(bits.take(_WORD))
            if outcome is not None and self._accepts(outcome, offset, size, bits):
                return outcome

    def _accepts(self, outcome: int, offset: int, size: int, bits: RandomBits) -> bool:
        """Decide whether to accept an outcome by a uniform number: `size` bits of it are known, further ones are not.

        Args:
            outcome: its index.
            offset: the known bits.
            size: how many they are.
            bits: where further ones come from.
        """
        exponent = self._levelled.exponent(outcome)
        level = int(exponent)
        if level < self._levelled.depth:
            probability = half_power(exponent - level)
            if (offset + 1) / (1 << size) <= probability - FILTER_ERROR:
                return True
            if offset / (1 << size) >= probability + FILTER_ERROR:
                return False
        return bernoulli_scaled_exp(self._levelled.gap(outcome), level, BeginningWith(offset, size, bits))

    def _accepted(self, tables: _Tables, words: NDArray[np.uint64], bits: RandomBits) -> NDArray[np.signedinteger]:
        """Return the outcomes that these words propose and accept, in order."""
        selected = tables.of_cells(words)
        mixed = np.flatnonzero(selected == _MIXED)
        if mixed.size:
            words = words[mixed]
            outcomes, accepted, undecided = tables.proposals(words)
            for index in np.flatnonzero(undecided).tolist():
                offset, size = tables.rest(words[index])
                accepted[index] = self._accepts(int(outcomes[index]), offset, size, bits)
            selected[mixed] = np.where(accepted, outcomes, _NOTHING)
        return selected.compress(selected != _NOTHING)  # a mask as an index takes several times as long


class _Blocks:
    """Proposes one outcome: those of a block share a sum of weights, and only one block's own are looked at.

    Words are given out in the order of the outcomes, 2^(64 − b − k) of them to an outcome on level k.

    Args:
        levelled: the utilities.
    """

    def __init__(self, levelled: LevelledUtilities) -> None:
        self._levelled = levelled
        outcomes = len(levelled.doubles)
        self._kept: NDArray[np.int64] | None = None
        if outcomes <= _CHUNK:
            self._kept = self._weights(slice(0, _CHUNK))
        if outcomes <= _BLOCK:
            self._ends: list[int] = [int(self._weights(slice(0, outcomes)).sum())]
        else:
            totals = [self._totals(slice(start, start + _CHUNK)) for start in range(0, outcomes, _CHUNK)]
            self._ends = np.concatenate(totals).cumsum().tolist()
        self._unread = _WORD - max((self._ends[-1] - 1).bit_length(), levelled.depth)

    def _totals(self, chunk: slice) -> NDArray[np.int64]:
        weights = self._weights(chunk)
        return np.add.reduceat(weights, _BLOCK_STARTS[: -(-len(weights) // _BLOCK)])

    def _weights(self, outcomes: slice) -> NDArray[np.int64]:
        if self._kept is not None:
            return self._kept[outcomes]
        return weights_at(self._levelled.exponents(outcomes), self._levelled.depth)

    def proposal(self, word: int) -> tuple[int | None, int, int]:
        """Return the outcome that a word proposes (None if it is nobody's), its place there, and log2 of its words."""
        code = word >> self._unread
        block = bisect_right(self._ends, code)
        if block == len(self._ends):
            return None, 0, 0
        before = self._ends[block - 1] if block else 0
        start = block * _BLOCK
        ends = self._weights(slice(start, start + _BLOCK)).cumsum().tolist()
        place = bisect_right(ends, code - before)
        begin = ends[place - 1] if place else 0
        size = (ends[place] - begin).bit_length() - 1 + self._unread
        return start + place, word - ((before + begin) << self._unread), size


class _Tables:
    """Decides most words by look-up, of an entry for each outcome in the order of their codewords.

    An entry is the outcome, with `accepted_below` for it in the upper half. The entry behind the last one stands for
    numbers that begin with no codeword; its upper half is 0, and such a number begins with a 1.

    Args:
        levelled: the utilities.
    """

    def __init__(self, levelled: LevelledUtilities) -> None:
        outcomes, depth = len(levelled.doubles), levelled.depth
        used = np.arange(depth + 1)
        chunks = [slice(start, start + _CHUNK) for start in range(0, outcomes, _CHUNK)]
        levels = np.empty(outcomes, dtype=np.uint8)
        counts = np.zeros(depth + 1, dtype=np.int64)
        with np.errstate(all="ignore"):
            for chunk in chunks:
                levels[chunk] = levelled.exponents(chunk)
                counts += np.bincount(levels[chunk], minlength=depth + 1)
        before = counts.cumsum() - counts
        # Codewords are integers of depth + (bits of the shortest) bits; level k's end before ends[k].
        self._ends = (counts << (depth - used)).cumsum().astype(np.uint64)
        codewords = int(self._ends[-1])
        shortest = max((codewords - 1).bit_length() - depth, 0)
        unread = max(_WORD - shortest - depth - _SPREAD, 0)
        alike = (1 << _WORD) // (codewords << unread)  # m of the module's docstring
        self._unread, self._alike = np.uint64(unread), np.uint64(alike)
        self.acceptance = (codewords << unread) * alike / 2**_WORD * _MEAN_ACCEPTANCE
        # A position is (number >> size) − shift, modulo 2^64. Numbers without a codeword are the last "level".
        first_codewords = np.array([0, *self._ends[:-1].tolist()]) >> (depth - used)
        self._sizes = np.append(unread + depth - used, unread + depth + shortest).astype(np.uint64)
        self._shifts = np.append(first_codewords - before, -outcomes).astype(np.uint64)
        self._deep = np.append((self._sizes[:-1] < _BEGINNING) | (used == depth), False)

        self._entries = np.full(outcomes + 1, outcomes, dtype=np.uint64)
        for chunk in chunks:
            found = levels[chunk]
            order = np.argsort(found, kind="stable")  # of single bytes it takes linear time
            entries = accepted_below(levelled.exponents(chunk) - found) << np.uint64(_BEGINNING)
            entries += np.arange(chunk.start, chunk.start + len(found), dtype=np.uint64)
            here = np.bincount(found, minlength=depth + 1)
            self._entries[np.repeat(before + here - here.cumsum(), here) + np.arange(len(found))] = entries[order]
            before += here

        prefixes = np.arange(1 << _PREFIX, dtype=np.uint64) << np.uint64(_WORD - _PREFIX)
        level = self._level(prefixes // self._alike)
        told = np.diff(level, append=depth + 2) == 0
        told &= ~self._deep[level]
        self._size_of_prefix = np.where(told, self._sizes[level], np.uint64(0))
        self._shift_of_prefix = self._shifts[level]
        # In the narrowest format: then the table, and what is looked up in it, take less of a core's cache.
        last_words = prefixes | np.uint64((1 << (_WORD - _PREFIX)) - 1)
        self._cells = self._decided(prefixes, last_words).astype(np.min_scalar_type(-max(outcomes, -_MIXED)))

    def _level(self, numbers: NDArray[np.uint64]) -> NDArray[np.intp]:
        return np.searchsorted(self._ends, numbers >> self._unread, side="right")

    def _decided(self, first_words: NDArray[np.uint64], last_words: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return what all words from a first to a last one select, `_NOTHING` or `_MIXED` where they differ."""
        outcomes, accepted, undecided = self.proposals(first_words)
        last_outcomes, last_accepted, last_undecided = self.proposals(last_words)
        # Those that propose one outcome are consecutive; of these the first are accepted and the last rejected.
        alike = (outcomes == last_outcomes) & ~undecided & ~last_undecided
        nothing = np.where(alike & ~accepted, np.int64(_NOTHING), np.int64(_MIXED))
        return np.where(alike & last_accepted, outcomes, nothing)

    def of_cells(self, words: NDArray[np.uint64]) -> NDArray[np.signedinteger]:
        """Return what words select as their first bits say: an outcome, `_NOTHING`, or `_MIXED` if these do not say."""
        return self._cells.take((words >> np.uint64(_WORD - _PREFIX)).view(np.int64))

    def proposals(self, words: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the outcomes that words propose, whether they accept them, and whether that is undecided."""
        prefixes = (words >> np.uint64(_WORD - _PREFIX)).view(np.int64)
        sizes, shifts = self._size_of_prefix[prefixes], self._shift_of_prefix[prefixes]
        numbers = words // self._alike
        untold = np.flatnonzero(sizes == 0)
        level = self._level(numbers[untold])
        sizes[untold], shifts[untold] = self._sizes[level], self._shifts[level]
        entries = self._entries[((numbers >> sizes) - shifts).view(np.int64)]
        offsets = numbers << (np.uint64(_WORD) - sizes) >> np.uint64(_WORD - _BEGINNING)
        offsets -= entries >> np.uint64(_BEGINNING)  # how far they lie behind what is accepted; before that, about 2^64
        undecided = offsets < _UNDECIDED
        undecided[untold] |= self._deep[level]
        outcomes = (entries & np.uint64(_MOST_IN_TABLES)).view(np.int64)
        return outcomes, offsets >> np.uint64(_WORD - 1) != 0, undecided

    def rest(self, word: np.uint64) -> tuple[int, int]:
        """Return the bits of a word's number behind its codeword, and how many they are."""
        number = word // self._alike
        size = int(self._sizes[self._level(np.array([number]))[0]])
        return int(number) & ((1 << size) - 1), size


class BeginningWith(RandomBits):
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

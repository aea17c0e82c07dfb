"""The base-e exponential mechanism for many queries at once: one draw from each row of utilities.

A row's law is that of `mechanisms.exponential.exact`. Its outcomes share out the 64-bit words in their own order,
2^(64 − b − k) consecutive ones to an outcome on level k, b the least number for which there are enough. A word proposes
the outcome whose it is; its place among that outcome's words begins the uniform number that decides on acceptance, by
the filter of `mechanisms.exponential.exact_fast`, or within the filter's error by the reference's coin. Rows that
selected nothing get new words, until all have selected; a few rows get several each, of which the first that
selects counts. Very few rows, and very long ones, are drawn from one by one.

Arrays here have a column for each row of utilities, since there are more of them than outcomes and numpy computes along
what comes last. Outcomes are in sections of about √n: the ends of an outcome's words within its section are
known, and where each section begins, so that a word is compared with 2·√n numbers and the sums are over √n.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from gmpy2 import mpq
from numpy.typing import ArrayLike, NDArray

from mechanisms.arithmetic import require_ieee_arithmetic
from mechanisms.exponential.exact import bernoulli_scaled_exp
from mechanisms.exponential.exact_fast import FILTER_ERROR, BeginningWith, exact_exponential_fast, half_power
from mechanisms.exponential.levels import (
    WIDEST_RANGE,
    LevelledUtilities,
    depth_for,
    exact_gap,
    exponents_below,
    public_parameters,
    weights_at,
    within_range,
)
from mechanisms.private_numbers import PrivateNumbers, exact_numbers
from mechanisms.randomness import RandomBits

_AT_ONCE = 1 << 17  # utilities in a block of rows, lest temporaries take more memory than the utilities
_WORDS_AT_LEAST = 512  # in a round after the first, of the few rows that still wait
_LONG = 1 << 12  # outcomes from which on rows one by one take no longer
_FEW = 8  # rows below which one by one they take less time
_WORD = 64
_POWERS = (np.uint64(1) << np.arange(_WORD, dtype=np.uint64)).astype(np.float64)


def exact_exponential_rows(
    utilities: ArrayLike | Iterable[PrivateNumbers],
    bits: RandomBits,
    *,
    epsilon: float | Fraction,
    sensitivity: float | Fraction = 1,
    monotone: bool = False,
    utility_range: tuple[float, float] = WIDEST_RANGE,
) -> NDArray[np.int64]:
    """Select an outcome for each query, with probabilities exactly proportional to exp(ε·u / (2Δu)) in its row.

    Each row is a release of its own, which costs ε.

    Args:
        utilities: one row a query and one utility an outcome, shape (queries, outcomes); larger is better.
        bits: the source of randomness.
        epsilon: ε of one row; as for `exact_exponential`, like the other parameters and the errors raised.
        sensitivity: Δu.
        monotone: whether a record moves all utilities of a row in the same direction.
        utility_range: the lowest and the highest utility, public.

    Returns:
        The index of each row's selected outcome, shape (queries,).

    Raises:
        TypeError: a parameter, or a utility, is not a number, by its type.
        ValueError: as for `exact_exponential`, or `utilities` has not two dimensions.
    """
    require_ieee_arithmetic()
    public: dict[str, Any] = {
        "epsilon": epsilon,
        "sensitivity": sensitivity,
        "monotone": monotone,
        "utility_range": utility_range,
    }
    rate, factor, low, high = public_parameters(epsilon, sensitivity, monotone, utility_range)
    given = _rows(utilities)
    outcomes = given.shape[1] if isinstance(given, np.ndarray) else len(given[0])
    depth = depth_for(outcomes)
    if outcomes >= _LONG or len(given) < _FEW:
        chosen = [exact_exponential_fast(row, 1, bits, **public) for row in given]
        return np.concatenate([np.empty(0, dtype=np.int64), *chosen])
    selected = np.empty(len(given), dtype=np.int64)
    together = max(1, _AT_ONCE // outcomes)
    with np.errstate(all="ignore"):  # under a caller's np.seterr(all="raise") an underflow would be an event
        for start in range(0, len(given), together):
            block = given[start : start + together]
            if isinstance(block, np.ndarray):
                limited, _ = within_range(block, low, high)
                columns = np.array(limited.T, order="C")
                rows = _Rows(columns, columns.max(axis=0), partial(_gap, rate, limited), factor, depth)
            else:
                levelled = [LevelledUtilities.of(row, **public) for row in block]
                columns = np.stack([row.doubles for row in levelled], axis=1)
                tops = np.array([row.top for row in levelled])
                rows = _Rows(columns, tops, partial(_gap_of, levelled), factor, depth)
            selected[start : start + together] = rows.draw(bits)
    return selected


def _gap(rate: mpq, utilities: NDArray[np.float64], row: int, outcome: int) -> mpq:
    return exact_gap(rate, float(utilities[row].max()), float(utilities[row, outcome]))


def _gap_of(rows: list[LevelledUtilities], row: int, outcome: int) -> mpq:
    return rows[row].gap(outcome)


def _rows(utilities: Any) -> NDArray[np.float64] | list[Any]:
    """Read utilities as doubles, shape (queries, outcomes), or as rows where they are not doubles."""
    if hasattr(utilities, "__array__"):
        array = np.asanyarray(utilities)
        if array.ndim != 2:
            raise ValueError(f"utilities must have two dimensions, not be of shape {array.shape}")
        if array.dtype == object:
            return _of_rows(list(array))
        read = exact_numbers("utilities", array.reshape(-1), signalling=True)
        return read.reshape(array.shape) if isinstance(read, np.ndarray) else list(array)
    if isinstance(utilities, str | bytes) or not isinstance(utilities, Iterable):
        raise TypeError(f"utilities must be rows of numbers, not {type(utilities).__name__}")
    return _of_rows(list(utilities))


def _of_rows(rows: list[Any]) -> NDArray[np.float64] | list[Any]:
    read = [exact_numbers("utilities", row) for row in rows]
    lengths = {len(row) for row in read}
    if len(lengths) != 1:
        raise ValueError(f"utilities must be rows of one length, not of {sorted(lengths)}")
    doubles = [row for row in read if isinstance(row, np.ndarray)]
    return np.stack(doubles) if len(doubles) == len(read) else rows


class _Rows:
    """A block of rows, each with the ends of its outcomes' words.

    Args:
        columns: shape (outcomes, rows), overwritten; a row's top less each of its numbers, rounded once, is how far an
            outcome lies below the best.
        tops: shape (rows,).
        gap: `gap(row, outcome)`, x_o exactly.
        factor: c of the levels.
        depth: the deepest level.
    """

    def __init__(
        self,
        columns: NDArray[np.float64],
        tops: NDArray[np.float64],
        gap: Callable[[int, int], mpq],
        factor: float,
        depth: int,
    ) -> None:
        self._gap, self._depth = gap, depth
        outcomes, self._rows = columns.shape
        self._last, self._section = outcomes - 1, math.isqrt(outcomes - 1) + 1
        self._exponents = exponents_below(tops, columns, factor, depth, out=columns)
        self._ends = weights_at(self._exponents, depth)
        for place in range(1, self._section):
            self._ends[place :: self._section] += self._ends[place - 1 : -1 : self._section]
        self._begins = np.zeros((-(-outcomes // self._section), self._rows), dtype=np.int64)
        for section in range(1, len(self._begins)):
            self._begins[section] = self._begins[section - 1] + self._ends[section * self._section - 1]
        self._totals = self._begins[-1] + self._ends[-1]
        powers = np.int64(1) << np.arange(depth, _WORD - 1)
        self._unread = (_WORD - depth - np.searchsorted(powers, self._totals)).astype(np.uint64)

    def draw(self, bits: RandomBits) -> NDArray[np.int64]:
        """Select an outcome for each row."""
        rows = np.arange(self._rows)
        selected, waiting = np.empty_like(rows), np.ones(len(rows), dtype=np.bool_)
        while rows.size:
            chosen, outcomes = self._selected(rows, bits.words(len(rows)), bits)
            # A row may have several words; what is written last, stays: the first of them that was accepted.
            selected[chosen[::-1]] = outcomes[::-1]
            waiting[chosen] = False
            rows = np.flatnonzero(waiting)
            rows = rows.repeat(max(1, _WORDS_AT_LEAST // max(rows.size, 1)))
        return selected

    def _selected(
        self, rows: NDArray[np.int64], words: NDArray[np.uint64], bits: RandomBits
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows in which words propose and accept an outcome, and these outcomes, in order."""
        unread = self._unread.take(rows)
        codes = (words >> unread).view(np.int64)
        proposing = np.flatnonzero(codes < self._totals.take(rows))
        rows, codes = rows.take(proposing), codes.take(proposing)
        words, unread = words.take(proposing), unread.take(proposing)
        outcomes, ends = self._proposed(rows, codes)
        exponents = self._exponents.take(outcomes * self._rows + rows)
        levels, weights = exponents.astype(np.int64), weights_at(exponents, self._depth)
        offsets = words - ((ends - weights).view(np.uint64) << unread)
        counts = weights * _POWERS.take(unread.view(np.int64))
        accepted, undecided = decided(exponents - levels, offsets, counts)
        undecided |= levels == self._depth
        for index in np.flatnonzero(undecided).tolist():
            gap = self._gap(int(rows[index]), int(outcomes[index]))
            beginning = BeginningWith(int(offsets[index]), int(counts[index]).bit_length() - 1, bits)
            accepted[index] = bernoulli_scaled_exp(gap, int(levels[index]), beginning)
        return rows[accepted], outcomes[accepted]

    def _proposed(
        self, rows: NDArray[np.int64], codes: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the outcomes whose codes these are, each in its row, and where their codes end."""
        sections = _passed(self._begins[1:].take(rows, axis=1), codes)
        begins = self._begins.take(sections * self._rows + rows)
        outcomes = sections * self._section
        nearby = np.minimum(outcomes + np.arange(self._section - 1)[:, None], self._last)
        nearby *= self._rows
        nearby += rows
        outcomes += _passed(self._ends.take(nearby), codes - begins)
        return outcomes, begins + self._ends.take(outcomes * self._rows + rows)


def _passed(ends: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the ends that each code has passed, of fewer than 256, shape (ends, codes)."""
    passed: NDArray[np.uint8] = (ends <= codes).sum(axis=0, dtype=np.uint8)
    return passed.astype(np.int64)


def decided(
    fraction: NDArray[np.float64], offsets: NDArray[np.uint64], counts: NDArray[np.float64]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Decide by a filter whether the outcomes are accepted that words propose.

    Args:
        fraction: f in [0, 1).
        offsets: the words' places among the outcomes' words.
        counts: how many words each outcome has, powers of 2.

    Returns:
        Which are accepted, and which are undecided.
    """
    probability = half_power(fraction)
    share = offsets.astype(np.float64) / counts
    accepted = share + 1 / counts <= probability - FILTER_ERROR
    return accepted, ~accepted & (share < probability + FILTER_ERROR)

"""The filter that finds discrete Gaussian noise in a table: what it decides, it decides rightly, for every word.

A word w is the first 64 bits of a uniform U, and the noise is the n with T(n + 1) < U < T(n), T(k) = P[X ≥ k]. With
m = min(w, 2^64 − 1 − w) the smaller tail p lies in [m, m + 1]·2^−64, |n| is the number of k ≥ 1 with p < T(k), and n is
negative for the upper half of the words, by symmetry.

The words are partitioned by the leading bits of m. In a cell with a guide, all p of the cell must lie between
T(|n| + 1) and T(|n|). In any other cell |n| is the number of entries t_k above m, and m is left open if it is an entry:
that is right if t_k = ⌊2^64·T(k)⌋ for all k, to where it is 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from checker.core.certificate import Refused
from checker.enclosures.discrete_gaussian import DiscreteGaussian
from checker.kinds.steps import integer, operands, require_step, step_of_result
from checker.kinds.trace import Step, Traced, entries, flatnonzero, isnan, look_up, searchsorted

WORD = 1 << 64
_BITS = 160
_MOST_ENTRIES = 4096


def require_tabled_filter(words: Traced, noise: object, undecided: object, variance: Fraction) -> dict[str, int]:
    """Check a filter for every word.

    Args:
        words: the traced words.
        noise: what it gives for the noise.
        undecided: what it gives for the places that it leaves open.
        variance: σ².

    Returns:
        How much was checked.

    Raises:
        Refused: it computes something else, or an entry is wrong.
    """
    guide, shift, thresholds = _tables(step_of_result(noise, "the noise"))
    for found, expected in zip((noise, undecided), _expected(words, guide, shift, thresholds), strict=True):
        require_step(step_of_result(found, "what the filter finds"), expected, "what the filter finds")
    ascending = entries(thresholds)
    if len(ascending) > _MOST_ENTRIES:
        raise Refused(f"the table has more than {_MOST_ENTRIES} entries")
    tails = _tails(variance, len(ascending) + 1)
    for k, entry in enumerate(reversed(ascending), start=1):
        low, high = tails[k]
        if not (low.__floor__() == entry == high.__floor__()):
            raise Refused(f"the entry for k = {k} is {entry}, and 2^64·T(k) is about {float(low)}")
    if not ascending or ascending[0] != 0:
        raise Refused("the table ends before its thresholds reach 0")
    return {"thresholds": len(ascending), "guide cells": _require_guide(entries(guide), shift, tails)}


def _tables(noise: Step) -> tuple[Step, int, Step]:
    """Find the guide, the bits by which m is shifted to look it up, and the thresholds."""
    pattern, _ = operands(noise, "view", "bitwise_xor")
    guided, _, counted = operands(pattern, "view", "scatter")
    guide, place = operands(guided, "take")
    _, passed = operands(counted, "astype", "subtract")
    return guide, integer(operands(place, "right_shift")[1]), operands(passed, "searchsorted")[0]


def _expected(words: Traced, guide: Step, shift: int, thresholds: Step) -> tuple[Traced, Traced]:
    """Write down what the filter is to compute, with its own tables."""
    signed = words.view("int64")
    smaller = signed ^ (signed >> 63)
    noise = look_up(guide, smaller >> shift)
    open_places = flatnonzero(isnan(noise))
    looked_for = smaller[open_places]
    passed = searchsorted(thresholds, looked_for, "right")
    noise[open_places] = len(entries(thresholds)) - passed
    noise.view("int64")[:] ^= signed & -(1 << 63)
    return noise, open_places[look_up(thresholds, passed - 1) == looked_for]


def _tails(variance: Fraction, last: int) -> list[tuple[Fraction, Fraction]]:
    """Enclose 2^64·T(0), …, 2^64·T(last)."""
    law = DiscreteGaussian(variance, last, _BITS)
    return [(WORD * low, WORD * high) for low, high in map(law.tail, range(last + 1))]


def _require_guide(guide: Sequence[float], shift: int, tails: Sequence[tuple[Fraction, Fraction]]) -> int:
    """Check that all words of a cell with a guide have its noise; the cells must cover all m < 2^63."""
    if not 0 <= shift < 63 or len(guide) << shift != WORD // 2:
        raise Refused(f"{len(guide)} cells of 2^{shift} words each do not cover half of the words")
    guided = 0
    for cell, size in enumerate(guide):
        if math.isnan(size):
            continue
        if not 0 <= size < len(tails) - 1 or size != int(size):
            raise Refused(f"the guide of cell {cell} is {size}")
        least, greatest = cell << shift, (cell + 1) << shift
        if tails[int(size) + 1][1] > least or tails[int(size)][0] < greatest:
            raise Refused(f"not all words of cell {cell} have noise of {size:g} steps")
        guided += 1
    return guided

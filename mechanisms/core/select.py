"""Selection with probabilities exactly proportional to e^(ε·u/(2Δu)), by integers that bound the weights.

An outcome o lies γ = ε·(max u − u_o)/(2Δu) below the best one; its weight is the real number r = 2^31·e^(−γ). Integers
L and W with L ≤ r ≤ L + W are found in a dozen operations on arrays (`bounds_below`). Imagine W + L intervals of length
1 for each outcome, [0, 1), [1, 2), …, all of them equally likely to be drawn, and a uniform point in the one drawn. The
outcome is accepted if the point lies below r, or else the draw is repeated: so it is selected in proportion to r, which
is the mechanism. In the first L intervals every point lies below r, and nothing remains to be drawn. Only the other W,
about one draw in 2^17 or in 2^10, look at r itself, in enclosures by MPFR that are narrowed until they decide.

So one draw, many draws and draws for rows are all a search in cumulative sums of integers.

Sources: McSherry and Talwar 2007, 'Mechanism Design via Differential Privacy', theorem 6; Dwork and Roth 2014, section
3.4; Durfee and Rogers 2019, 'Practical Differentially Private Top-k Selection', and Cesar and Rogers 2021, 'Bounding,
Concentrating, and Truncating', corollary 8 (a mechanism of ε-bounded range is ε²/8-zCDP).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, reduce
from typing import Any

import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from mechanisms.core.claims import ApproximateDP, Claim, ZeroConcentratedDP
from mechanisms.core.gaussian_tails import Enclosure, exponential
from mechanisms.core.numbers import convert, count, positive, truth
from mechanisms.core.rounding import rounding
from mechanisms.core.scores import Scores, Utilities
from mechanisms.core.term import OfQuery
from mechanisms.randomness import REJECTED, RandomBits

FINE = 17
"""The width b of `bounds_below` for many draws among the same outcomes."""

COARSE = 10
"""The width b for one draw per row: one draw in 10^3 has to compute r, and the bounds take half the time."""

Rows = NDArray[np.float64] | list[list[Fraction]]

WEIGHT_BITS = 31  # the best outcome weighs 2^31
_TABLE_BITS = 11  # each of two tables has 2^11 entries: 32 octaves of 2^6, and 2^11 steps of 2^−17 octave
_STEP_BITS = 17
_STEPS_PER_E = mpq(1442695040888963407359924681002, 10**30) * (2**_STEP_BITS + mpq(2) ** (_STEP_BITS - 50))
_RATES = mpq(1, 2**900), mpq(2**900)
_LAST_WORD = 2**64 - 1
_FARTHEST = 2.0**62  # steps, which fit 64 bits
_BLOCK = 1 << 10  # outcomes that are added up together, for one draw
_CHUNK = 1 << 17  # words, or utilities of rows: a call of numpy costs as much as thousands of them
_NARROWED = 64  # bits by which an enclosure is narrowed


@dataclass(frozen=True)
class Select(OfQuery):
    """The exponential mechanism: an outcome o is selected with probability proportional to e^(ε·u_o/(2Δu)).

    Moving each utility by at most Δu changes a weight, and the sum of the weights, by factors within e^(±ε/2), hence a
    probability by e^(±ε). If utilities move in one direction only, a weight and the sum change by factors within [1,
    e^(ε/2)] or both within [e^(−ε/2), 1], and twice the exponent is allowed: e^(ε·u_o/Δu). In both cases the ratios of
    probabilities of neighbours lie within a factor e^ε of one another for all outcomes (ε-bounded range), so that the
    mechanism is ε²/8-zCDP as well.

    Args:
        query: gives the utilities.
        epsilon: ε, above 0.
        concentrated: whether to claim ε²/8-zCDP in place of ε-DP.
    """

    query: Scores
    epsilon: Fraction
    concentrated: bool = False

    def __post_init__(self) -> None:
        convert(self, positive, "epsilon")
        convert(self, truth, "concentrated")
        self.rate  # noqa: B018 # there is one

    @property
    def claim(self) -> Claim:
        """ε-DP, or ε²/8-zCDP."""
        return ZeroConcentratedDP(self.epsilon**2 / 8) if self.concentrated else ApproximateDP(self.epsilon)

    @cached_property
    def rate(self) -> mpq:
        """The increase of the exponent per unit of utility; see `rate_of`."""
        return rate_of(self.epsilon, self.query)

    @cached_property
    def steps(self) -> float:
        """How many steps of 2^−17 octave a weight falls per unit of utility; see `steps_of`."""
        return steps_of(self.rate)

    def prepared(self, data: Any, width: int = FINE) -> Selection:
        """Return an object that draws outputs for this data; see `Mechanism.prepared`, `bounds_below` (for `width`)."""
        utilities = self.query.of(data)
        rows = utilities[np.newaxis] if isinstance(utilities, np.ndarray) else [utilities]
        return Selection.of(rows, self.rate, self.steps, width)

    def each(self, rows: Any, bits: RandomBits, width: int = FINE) -> NDArray[np.int64]:
        """Select an outcome for each row of utilities; all together keep the claim if neighbours differ in one row.

        Args:
            rows: shape (queries, outcomes).
            bits: the source of randomness.
            width: `FINE` or `COARSE`, which draw from the same law; see `bounds_below`.

        Returns:
            The index of each row's outcome, shape (queries,).
        """
        if not isinstance(self.query, Utilities):
            raise TypeError(f"each selects by utilities, and this term starts from {type(self.query).__name__}")
        utilities = self.query.of_each(rows)
        outcomes = len(utilities[0]) if len(utilities) else 1
        together = max(1, _CHUNK // outcomes)
        blocks = [utilities[start : start + together] for start in range(0, len(utilities), together)]
        drawn = [Selection.of(block, self.rate, self.steps, width).each(bits) for block in blocks]
        return np.concatenate([np.empty(0, dtype=np.int64), *drawn])

    def law(self, data: Any, precision: int = 128) -> list[Enclosure]:
        """Return bounds on the probability of each outcome, computed in arithmetic of `precision` bits."""
        prepared = self.prepared(data)
        weights = [exponential(-prepared.gap(0, outcome), precision) for outcome in range(prepared.outcomes)]
        down, up = rounding(precision)
        below = reduce(down.add, (weight.lower for weight in weights))
        above = reduce(up.add, (weight.upper for weight in weights))
        return [Enclosure(down.div(weight.lower, above), up.div(weight.upper, below)) for weight in weights]


@dataclass(frozen=True, eq=False)
class Selection:
    """Rows of utilities, and the words of 64 bits that select each of their outcomes.

    For a row of n outcomes let S = ΣL and E = ⌊S/2^b⌋ + 4n ≥ ΣW. Each interval gets m = ⌊(2^64 − 1)/(S + E)⌋ words.
    The lowest words are for the first L intervals of each outcome, outcome by outcome; the next ones for the other W,
    which look at r, again outcome by outcome. The rest of E selects nothing, nor do the last words, from m·(S + E) on:
    at most S + E of them. An outcome has at most 2^31 + 2^21 + 4 intervals, so that all these numbers fit 64 bits for
    any number of outcomes that memory holds.
    """

    utilities: Rows
    best: NDArray[np.float64] | list[Fraction]
    rate: mpq
    width: int
    below: NDArray[np.int64]

    @classmethod
    def of(cls, utilities: Rows, rate: mpq, steps: float, width: int = FINE) -> Selection:
        """Return the selection for rows of utilities; `rate` and `steps` are as in `Select`."""
        best = utilities.max(axis=1) if isinstance(utilities, np.ndarray) else [max(row) for row in utilities]
        return cls(utilities, best, rate, width, bounds_below(utilities, best, steps, width))

    def sums(self, row: int) -> list[int]:
        """Return the cumulative sums of L of a row, one at the end of each block of outcomes."""
        ends: list[int] = np.add.reduceat(self.below[row], np.arange(0, self.outcomes, _BLOCK)).cumsum().tolist()
        return ends

    def alike(self, total: Any) -> Any:
        """Return m, the number of words of an interval, in a row whose sum of L is `total`; elementwise on arrays."""
        return _LAST_WORD // (total + (total >> self.width) + 4 * self.outcomes)

    @cached_property
    def running(self) -> NDArray[np.int64]:
        """The cumulative sums of L over the outcomes of all rows, row after row, shape (rows · outcomes,)."""
        return self.below.reshape(-1).cumsum()

    @property
    def outcomes(self) -> int:
        """The number of outcomes of each row."""
        return int(self.below.shape[1])

    def gap(self, row: int, outcome: int) -> mpq:
        """Return γ = rate·(max u − u) for an outcome of a row, exactly."""
        return self.rate * (mpq(self.best[row]) - mpq(self.utilities[row][outcome]))

    def one(self, bits: RandomBits) -> int:
        """Select an outcome of the first row."""
        return bits.repeat(self._selected, 0)

    def many(self, trials: int, bits: RandomBits) -> NDArray[np.int64]:
        """Select outcomes of the first row, shape (trials,)."""
        selected = np.empty(count("trials", trials, 0), dtype=np.int64)
        alike = np.uint64(self.alike(int(self.running[-1])))
        for start in range(0, len(selected), _CHUNK):
            words = bits.words(min(_CHUNK, len(selected) - start))
            chunk = selected[start : start + _CHUNK]
            chunk[:] = self.running.searchsorted((words // alike).view(np.int64), side="right")
            self._complete(chunk, words, np.zeros_like(chunk), bits)
        return selected

    def each(self, bits: RandomBits) -> NDArray[np.int64]:
        """Select an outcome of each row, shape (rows,)."""
        words, rows = bits.words(len(self.below)), np.arange(len(self.below))
        after = self.running[self.outcomes - 1 :: self.outcomes]
        before = np.concatenate([[0], after[:-1]])
        ends = before + (words // self.alike((after - before).view(np.uint64))).view(np.int64)
        selected: NDArray[np.int64] = self.running.searchsorted(ends, side="right") - self.outcomes * rows
        np.minimum(selected, self.outcomes, out=selected)  # a word behind all outcomes of its row
        self._complete(selected, words, rows, bits)
        return selected

    def _complete(
        self, selected: NDArray[np.int64], words: NDArray[np.uint64], rows: NDArray[np.int64], bits: RandomBits
    ) -> None:
        """Replace each entry of `selected` beyond the last outcome by the outcome of its word, or by a new draw."""
        if selected.max(initial=0) < self.outcomes:
            return
        for place in np.flatnonzero(selected == self.outcomes).tolist():
            outcome = self._settled(int(rows[place]), int(words[place]), bits)
            selected[place] = bits.repeat(self._selected, int(rows[place])) if outcome is REJECTED else outcome

    def _selected(self, row: int, bits: RandomBits) -> int | None:
        word, sums = bits.take(64), self.sums(row)
        alike = self.alike(sums[-1])
        block = bisect_right(sums, word, key=lambda end: end * alike)
        first, before = block * _BLOCK, sums[block - 1] if block else 0
        ends = self.below[row, first : first + _BLOCK].cumsum().data  # whose items are Python's integers
        outcome = first + bisect_right(ends, word, key=lambda end: (before + end) * alike)
        return outcome if outcome < self.outcomes else self._settled(row, word, bits)

    def _settled(self, row: int, word: int, bits: RandomBits) -> int | None:
        """Return the outcome of a word above the first L intervals of all outcomes, or REJECTED if there is none."""
        sure = self.below[row]
        others = (sure >> self.width) + 4
        total = int(sure.sum())
        ends, alike = total + others.cumsum(), self.alike(total)
        outcome = bisect_right(ends.data, word, key=lambda end: end * alike)
        if outcome == self.outcomes:
            return REJECTED
        gap = self.gap(row, outcome)
        whole = whole_weight(gap)
        limit = int(ends[outcome] - others[outcome] - sure[outcome]) + whole
        if word < limit * alike or (word < (limit + 1) * alike and bits.call(lies_below, gap, whole)):
            return outcome
        return REJECTED


def rate_of(epsilon: Fraction, query: Scores) -> mpq:
    """Return the increase of the exponent per unit of utility: ε/(2Δu), or ε/Δu if utilities are monotone."""
    rate = mpq(epsilon) / mpq(query.sensitivity) / (1 if query.monotone else 2)
    if not _RATES[0] <= rate <= _RATES[1]:
        raise ValueError("epsilon/sensitivity must lie between 2^-899 and 2^900")
    return rate


def steps_of(rate: mpq) -> float:
    """Return how many steps of 2^−17 octave a weight falls per unit of utility, rounded up by at most a part in 2^48.

    It is raised by a part in 2^50, so that a product with it stays above the truth after two roundings.
    """
    return math.nextafter(float(rate * _STEPS_PER_E), math.inf)


def bounds_below(utilities: Rows, best: Any, steps: float, width: int = FINE) -> NDArray[np.int64]:
    """Return L for each outcome, shape (rows, outcomes): 0 ≤ L ≤ r ≤ L + W with r = 2^31·e^(−γ) and W = ⌊L/2^b⌋ + 4.

    First let the width b be 17.

    Let t be γ in steps of 2^−17 octave, r = 2^31·2^(−t/2^17), and y = fl(`steps`·fl(max u − u)). In any rounding mode
    t ≤ y ≤ t·(1 + 2^−47), or both are below 2^−900, or infinite. With Y = ⌊y⌋ = 2^11·i + j, or i = 2^11 − 1 if that is
    less,

        L = ⌊A_i·B_j/2^31⌋, 0 ≤ 2^31·2^(−i/2^6) − A_i ≤ 1.01, 0 ≤ 2^31·2^(−(j + 1)/2^17) − B_j ≤ 1.01.

    Where i is not less, t < Y + 1, so L ≤ 2^31·2^(−(Y + 1)/2^17) = X ≤ r; where it is, A_i = 0 and r < 1.001. On the
    other side L > X − 3.02, and t ≥ Y·(1 − 2^−47) ≥ Y − 2^−25, so r ≤ X·2^((1 + 2^−25)/2^17) < X·(1 + 0.7/2^17), and
    r − L < 0.7·L/2^17 + 3.03 < 0.7·⌊L/2^17⌋ + 3.73 < W. Products are at most 2^62.

    For b = 10 let Y be the last step of those that have ⌊y/2^7⌋ in common, which is found from y/2^7, exactly. Still
    t < Y + 1, and t ≥ Y + 1 − 2^7 − 2^−25, so that r and X are 2^7 steps apart, and 2^10 takes the place of 2^17.
    """
    if isinstance(utilities, list):
        utilities = -np.array([[float(top - u) for u in row] for row, top in zip(utilities, best, strict=True)])
        best = np.zeros(len(utilities))
    bounds, (octaves, within), coarse = np.empty(utilities.shape, dtype=np.int64), _powers(), _coarse_powers()
    steps = math.ldexp(steps, width - _STEP_BITS)
    with np.errstate(all="ignore"):  # under a caller's np.seterr(all="raise") an underflow would be an event
        for first in range(0, utilities.shape[1], _CHUNK):
            here = bounds[:, first : first + _CHUNK]
            exponents = here.view(np.float64)  # in the memory of the bounds: to touch more costs more than to compute
            np.subtract(best[:, np.newaxis], utilities[:, first : first + _CHUNK], out=exponents)
            exponents *= steps
            if exponents.max() > _FARTHEST:
                np.clip(exponents, 0.0, _FARTHEST, out=exponents)
            places = exponents.astype(np.int64)
            if width == COARSE:
                np.take(coarse, places, mode="clip", out=here)
                continue
            np.take(octaves, places >> _TABLE_BITS, mode="clip", out=here)
            places &= (1 << _TABLE_BITS) - 1
            here *= within.take(places, mode="clip")
            here >>= WEIGHT_BITS
    return bounds


@cache
def _powers() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the tables A and B of `bounds_below`, from square roots and products of 128 bits, all rounded down."""
    octave, step = _root_of_half(_TABLE_BITS - 5), _root_of_half(_STEP_BITS)
    return _powers_of(octave, 1 << 128), _powers_of(step, step)


@cache
def _coarse_powers() -> NDArray[np.int64]:
    """Return the table of L of `bounds_below` for b = 10, with one entry for every 2^7 steps: the L of the last one."""
    octaves, within = _powers()
    among = within[(1 << _STEP_BITS - COARSE) - 1 :: 1 << _STEP_BITS - COARSE]
    return (octaves[:, np.newaxis] * among >> WEIGHT_BITS).reshape(-1)


def _root_of_half(root: int) -> int:
    """Return 2^128·2^(−1/2^root), by square roots that are rounded down."""
    ratio = 1 << 127
    for _ in range(root):
        ratio = math.isqrt(ratio << 128)
    return ratio


def _powers_of(ratio: int, first: int) -> NDArray[np.int64]:
    powers = [first]
    while len(powers) < 1 << _TABLE_BITS:
        powers.append(powers[-1] * ratio >> 128)
    return np.array([power >> 128 - WEIGHT_BITS for power in powers], dtype=np.int64)


def scaled(gap: mpq, precision: int) -> tuple[int, int]:
    """Return integers l and u with l ≤ 2^precision·r ≤ u, where r = 2^31·e^(−gap)."""
    digits = precision + WEIGHT_BITS
    lower, upper = exponential(-gap, digits + _NARROWED)
    down, up = rounding(digits + _NARROWED)
    return int(down.floor(down.mul_2exp(lower, digits))), int(up.ceil(up.mul_2exp(upper, digits)))


def whole_weight(gap: mpq) -> int:
    """Return ⌊r⌋, where r = 2^31·e^(−gap) is the weight of a utility that lies `gap` below the largest."""
    precision = _NARROWED
    while True:
        lower, upper = (end >> precision for end in scaled(gap, precision))
        if lower == upper:
            return lower
        precision += _NARROWED


def lies_below(gap: mpq, whole: int, bits: RandomBits) -> bool:
    """Draw whether a uniform point of [whole, whole + 1) lies below r, where whole = ⌊r⌋.

    It takes bits of the point until they decide, which they do in the end: r = 2^31·e^(−gap) is irrational for every
    rational gap but 0, and an integer there.
    """
    point = drawn = precision = 0
    while True:
        if drawn == precision:
            precision += _NARROWED
            lower, upper = scaled(gap, precision)
        begin = ((whole << drawn) + point) << precision - drawn
        if begin + (1 << precision - drawn) <= lower:
            return True
        if begin >= upper:
            return False
        point, drawn = 2 * point + bits.take(1), drawn + 1

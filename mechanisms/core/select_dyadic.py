"""Selection by weights that are powers of a dyadic rational: integers over one power of two, and no real numbers.

Sources: Ilvento 2020, 'Implementing the Exponential Mechanism with Base-2 Differential Privacy', section 3; Balcer and
Vadhan 2018, 'Differential Privacy on Finite Computers' (why bounded time needs probabilities of finite precision). The
table of weights and the tickets of `SelectFixedWork` are our own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from gmpy2 import mpz
from numpy.typing import NDArray

from mechanisms.coins import bernoulli, uniform_below
from mechanisms.core.claims import ApproximateDP
from mechanisms.core.numbers import convert, count, rational
from mechanisms.core.rounding import log_above
from mechanisms.core.scores import Scored, Scores
from mechanisms.core.term import OfQuery, OneByOne
from mechanisms.randomness import REJECTED, RandomBits

MOST_BITS = 1 << 30
"""The most bits that a weight may have, 128 MiB."""

MOST_LEVELS = 1 << 20
"""The most levels that a table of weights may have."""


@dataclass(frozen=True)
class SelectBase2(OfQuery):
    """Select with probability proportional to ratio^s, where s = (top of the range − utility)/Δu.

    The s of an outcome is rounded at random to an integer, ⌊s + V⌋ with V uniform in [0, 1). For each V, numbers at
    most 1 apart become integers at most 1 apart, in the same direction. So for each V a record changes a weight, and
    the sum of the weights, by a factor within [ratio, 1/ratio], hence a probability by 1/ratio² at most, or by 1/ratio
    if utilities are monotone; what holds for each V holds on average. Outcomes of equal s form a level, of equal
    weights: a level is drawn in proportion to its number of outcomes times its weight, then one of its outcomes.

    Args:
        query: gives the utilities.
        ratio: 2^−η, above 0 and below 1, its denominator a power of two.
    """

    query: Scores
    ratio: Fraction

    def __post_init__(self) -> None:
        convert(self, dyadic, "ratio")
        if self.finest_bit > MOST_BITS:
            raise ValueError(
                f"the range of utilities spans {self.spread} times the sensitivity, so weights would take "
                f"{self.finest_bit} bits, more than {MOST_BITS}; narrow the range or take a ratio of fewer bits"
            )

    @property
    def spread(self) -> int:
        """The largest shortfall s, in units of the sensitivity, rounded up."""
        return math.ceil((self.query.upper - self.query.lower) / self.query.sensitivity)

    @property
    def finest_bit(self) -> int:
        """The least q for which all weights are multiples of 2^−q."""
        return (self.ratio.denominator.bit_length() - 1) * self.spread

    @property
    def claim(self) -> ApproximateDP:
        """ε-DP with ε = 2·ln(1/ratio), or ln(1/ratio) if utilities are monotone, rounded up."""
        return ApproximateDP((1 if self.query.monotone else 2) * log_above(1 / self.ratio))

    def prepared(self, data: Any) -> Levelled:
        """Return an object that draws outputs for this data; see `Mechanism.prepared`."""
        shortfalls = _shortfalls(self.query, self.query.of(data))
        return Levelled(tuple(divmod(shortfall, 1) for shortfall in shortfalls), self.ratio, self.finest_bit)


Weights = Callable[[tuple[int, ...], tuple[int, ...]], Iterable[mpz]]


@dataclass(frozen=True)
class Levelled:
    """Draws outcomes for one dataset, by levels whose weights are integers in units of 2^−q.

    Args:
        shortfalls: the s of each outcome, as its whole part and the rest, in [0, 1); private.
        ratio: as for `SelectBase2`.
        finest_bit: q, which is public.
    """

    shortfalls: tuple[tuple[int, Fraction], ...]
    ratio: Fraction
    finest_bit: int

    def one(self, bits: RandomBits) -> int:
        """Select an outcome."""
        return self._selected(self.weights, bits)

    def many(self, trials: int, bits: RandomBits) -> NDArray[np.int64]:
        """Select outcomes, shape (trials,). Long weights are slow to compute, so the latest ones are kept."""
        kept = lru_cache(maxsize=16)(lambda levels, counts: tuple(self.weights(levels, counts)))
        draws = range(count("trials", trials, 0))
        return np.array([self._selected(kept, bits) for _ in draws], dtype=np.int64)

    def weights(self, levels: tuple[int, ...], counts: tuple[int, ...]) -> Iterator[mpz]:
        """Yield weight times count for each of the levels, which must ascend; only one weight is held at a time."""
        numerator, shift = mpz(self.ratio.numerator), self.ratio.denominator.bit_length() - 1
        weight, reached = mpz(1) << self.finest_bit, 0
        for level, times in zip(levels, counts, strict=True):
            weight = (weight >> shift * (level - reached)) * numerator ** (level - reached)
            reached = level
            yield weight * times

    def _selected(self, weights: Weights, bits: RandomBits) -> int:
        members: dict[int, list[int]] = {}
        for outcome, (whole, rest) in enumerate(self.shortfalls):
            members.setdefault(whole + (bits.call(bernoulli, rest) if rest else 0), []).append(outcome)
        levels = tuple(sorted(members))
        chosen = members[bits.repeat(_level, weights, levels, tuple(len(members[level]) for level in levels))]
        return chosen[bits.call(uniform_below, len(chosen))]


def _level(weights: Weights, levels: tuple[int, ...], counts: tuple[int, ...], bits: RandomBits) -> int | None:
    """Return a level, drawn in proportion to weight times count, or REJECTED; it halves [0, 2^k) until bits decide.

    The lower end of the interval only rises, so that one pass over the running sums serves all the bits.
    """
    total = sum(weights(levels, counts))
    low, width = mpz(0), mpz(1) << (total - 1).bit_length()
    for level, end in zip(levels, accumulate(weights(levels, counts)), strict=True):
        while low < end:
            if low + width <= end:
                return level
            width >>= 1
            low += width * bits.take(1)
    return REJECTED


@dataclass(frozen=True)
class SelectFixedWork(OfQuery):
    """Select by one random integer of public length, a ticket, with the same number of operations for all utilities.

    A utility lies s·Δu below the top of the range; a = ⌊steps·s⌋, and its level is l = min(a − min a, the last level).
    Neighbours' a are at most `steps` apart (floor is monotone and commutes with whole steps), so an l moves by at
    least −steps − t and at most steps − t where min a moves by t, and clamping adds nothing. Weights are W(0) =
    2^precision and W(l + 1) = ⌈ratio·W(l)⌉, so that W(l) ≥ W(l + 1) ≥ ratio·W(l): a weight, and the sum of the weights,
    falls by a factor of ratio^(steps − t) at most and rises by ratio^−(steps + t) at most, and their quotient changes
    by R = ratio^(−2·steps) at most. If all utilities move the same way, l moves by −t to steps − t, 0 ≤ t ≤ steps, or
    the other way round, and R = ratio^−steps.

    An outcome of weight w has more than p − 2 and fewer than p + 2 of 2^k tickets (`Tickets`), p = w·2^k/T, and p ≥ M =
    2^spare as no weight is 0. So a probability changes by a factor of at most (R·p + 2)/(p − 2) ≤ (R·M + 2)/(M − 2).

    Args:
        query: gives the utilities.
        ratio: how much of its weight an outcome keeps from one level to the next, dyadic, above 0 and below 1.
        steps: how many levels the sensitivity spans.
        precision: the heaviest weight is 2^precision.
        spare: the lightest outcome has a share of at least 2^spare tickets; 2 or more.
    """

    query: Scores
    ratio: Fraction
    steps: int = 1
    precision: int = 64
    spare: int = 64

    def __post_init__(self) -> None:
        convert(self, dyadic, "ratio")
        for name, least in (("steps", 1), ("precision", 1), ("spare", 2)):
            object.__setattr__(self, name, count(name, getattr(self, name), least))
        if len(self.weights) > MOST_LEVELS:
            raise ValueError(f"weights would have more than {MOST_LEVELS} levels; narrow the range or raise epsilon")

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """The weights of the levels, until they no longer fall or the range ends; deeper levels get the last one."""
        span = (self.query.upper - self.query.lower) / self.query.sensitivity
        weights = [1 << self.precision]
        while len(weights) <= min(self.steps * math.ceil(span), MOST_LEVELS):
            following = math.ceil(weights[-1] * self.ratio)
            if following == weights[-1]:
                break
            weights.append(following)
        return tuple(weights)

    @property
    def claim(self) -> ApproximateDP:
        """ε-DP with ε = ln((R·M + 2)/(M − 2)), rounded up."""
        by_weights = 1 / self.ratio ** (self.steps if self.query.monotone else 2 * self.steps)
        return ApproximateDP(log_above((by_weights * (1 << self.spare) + 2) / ((1 << self.spare) - 2)))

    def prepared(self, data: Any) -> OneByOne:
        """Return an object that draws outputs for this data; see `Mechanism.prepared`."""
        depths = _depths(self.query, self.query.of(data), self.steps)
        best, last = min(depths), len(self.weights) - 1
        levels = tuple(min(depth - best, last) for depth in depths)
        tickets = Tickets(len(levels), self.precision, self.spare)
        table = tickets.padded(self.weights)
        return OneByOne(lambda bits: tickets.winner([table[level] for level in levels], bits))


@dataclass(frozen=True)
class Tickets:
    """Shares out 2^k integers by weights: k = h + spare, and the sum T of the weights is at most 2^h.

    With C the sum of the weights before an outcome and Q = ⌊2^(k + h)/T⌋, its first ticket is ⌊C·Q/2^h⌋: more than
    C·2^k/T − 2, as C ≤ 2^h, and at most C·2^k/T.

    No ticket is rejected, and each number is looked up, added, multiplied, shifted and compared, whatever the
    weights. To all weights, sums, remainders and quotients a public power of two is added, so that their lengths are
    public too; Q is found digit by digit, as the steps of a division would depend on the numbers. Python promises
    nothing about the time of an operation: a comparison ends at the first word that differs, a look-up leaves its trace
    in a cache.

    Args:
        outcomes: the number of outcomes.
        precision: no weight is more than 2^precision.
        spare: as for `SelectFixedWork`.
    """

    outcomes: int
    precision: int
    spare: int

    @property
    def bits(self) -> int:
        """k, the length of a ticket."""
        return self._shift + self.spare

    @property
    def _shift(self) -> int:
        """h: the sum of the weights is at most 2^h."""
        return self.precision + (self.outcomes - 1).bit_length()

    @property
    def pad(self) -> int:
        """The power of two that is added to each weight and each sum, so that their lengths are public."""
        return 4 << self._shift

    def padded(self, weights: Iterable[int]) -> list[int]:
        """Return each weight plus the pad, as `winner` and `thresholds` take them."""
        return [self.pad + weight for weight in weights]

    def winner(self, padded: list[int], bits: RandomBits) -> int:
        """Draw the index of an outcome, in proportion to the weights; `padded` must come from the method `padded`."""
        thresholds = self.thresholds(padded)
        ticket = bits.take(self.bits)
        return sum(ticket >= threshold for threshold in thresholds)

    def thresholds(self, padded: list[int]) -> list[int]:
        """Return the first ticket of each outcome but the first."""
        shift, pad, digits = self._shift, self.pad, self.bits + (self.outcomes - 1).bit_length() + 1
        sums = [total - others * pad for others, total in enumerate(accumulate(padded))]
        remainder, quotient = pad + (1 << self.precision - 1), 1
        for _ in range(digits):
            doubled = 2 * remainder - pad
            digit = doubled >= sums[-1]
            remainder = doubled + pad - (pad, sums[-1])[digit]
            quotient = 2 * quotient + digit
        # (C + pad)·(Q + 2^digits)/2^h = C·Q/2^h + C·2^(digits − h) + 4·Q + 4·2^digits; each term is padded.
        return [
            (before * quotient >> shift) + (4 << digits) - ((before << digits - shift) + 4 * quotient)
            for before in sums[:-1]
        ]


def dyadic(name: str, value: Any) -> Fraction:
    """Return a public parameter as a rational, which must be between 0 and 1 with a power of two as denominator."""
    ratio = rational(name, value)
    if not 0 < ratio < 1 or ratio.denominator.bit_count() > 1:
        raise ValueError(f"{name} must lie between 0 and 1 and have a power of two as its denominator, not {value}")
    return ratio


def _shortfalls(query: Scores, utilities: Scored) -> list[Fraction]:
    """Return s = (top of the range − utility)/Δu for each utility."""
    return [(query.upper - Fraction(utility)) / query.sensitivity for utility in utilities]


def _depths(query: Scores, utilities: Scored, steps: int) -> list[int]:
    """Return ⌊steps·s⌋ for each utility with shortfall s, computed in numpy if doubles hold every level exactly."""
    factor = steps / query.sensitivity
    top = query.upper * factor
    whole = all(end.denominator == 1 and abs(end) <= 1 << 52 for end in (top, query.lower * factor))
    shifts = factor.denominator == factor.numerator.bit_count() == 1 and factor <= 1 << 512
    if whole and shifts and isinstance(utilities, np.ndarray):
        depths: NDArray[np.int64] = (int(top) - np.ceil(utilities * float(factor))).astype(np.int64)
        listed: list[int] = depths.tolist()
        return listed
    return [math.floor(steps * shortfall) for shortfall in _shortfalls(query, utilities)]

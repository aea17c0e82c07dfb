"""Selection by weights that are powers of a dyadic rational: integers over one power of two, and no real numbers.

Source: Ilvento 2020, 'Implementing the Exponential Mechanism with Base-2 Differential Privacy', section 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
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
from mechanisms.core.term import OfQuery
from mechanisms.randomness import REJECTED, RandomBits

MOST_BITS = 1 << 30
"""The most bits that a weight may have, 128 MiB."""


@dataclass(frozen=True)
class SelectBase2(OfQuery):
    """Select with probability proportional to ratio^s, s how far a utility lies below the top of the range, in Δu.

    The s of an outcome is rounded at random to an integer, ⌊s + V⌋ with V uniform in [0, 1): given the same V, numbers
    at most 1 apart become integers at most 1 apart, on the same side. So for each V a record changes a weight, and the
    sum of the weights, by a factor within [ratio, 1/ratio], hence a probability by 1/ratio² at most, or by 1/ratio if
    utilities are monotone; what holds for each V holds on average over V. Weights of outcomes of equal s are equal: a
    level is drawn in proportion to its number of outcomes times its weight, then one of these outcomes.

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
        """The largest s once rounded."""
        return math.ceil((self.query.upper - self.query.lower) / self.query.sensitivity)

    @property
    def finest_bit(self) -> int:
        """The least q for which all weights are multiples of 2^−q."""
        return (self.ratio.denominator.bit_length() - 1) * self.spread

    @property
    def claim(self) -> ApproximateDP:
        """ε-DP with ε = 2·ln(1/ratio), or half of it, rounded up."""
        return ApproximateDP((1 if self.query.monotone else 2) * log_above(1 / self.ratio))

    def prepared(self, data: Any) -> Levelled:
        """Look at the data; see `Mechanism.prepared`."""
        shortfalls = _shortfalls(self.query, self.query.of(data))
        return Levelled(tuple(divmod(shortfall, 1) for shortfall in shortfalls), self.ratio, self.finest_bit)


Weights = Callable[[tuple[int, ...], tuple[int, ...]], Iterable[mpz]]


@dataclass(frozen=True)
class Levelled:
    """Outcomes by their s, and the weights of levels in units of 2^−q.

    Args:
        shortfalls: the whole part of each s, and what is left of it, in [0, 1); private.
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
        """Select outcomes, shape (trials,); long weights take longer to compute than to draw by, so some are kept."""
        kept = lru_cache(maxsize=16)(lambda levels, counts: tuple(self.weights(levels, counts)))
        draws = range(count("trials", trials, 0))
        return np.array([self._selected(kept, bits) for _ in draws], dtype=np.int64)

    def weights(self, levels: tuple[int, ...], counts: tuple[int, ...]) -> Iterator[mpz]:
        """Compute the weights of levels, from the heaviest on, each times a count; only one is held at a time."""
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
    """Draw a level in proportion to its weight, by halving [0, 2^k) until all of a part is one level's.

    The lower end of the part only ever rises, so that one pass over the running sums serves all the bits.
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


def dyadic(name: str, value: Any) -> Fraction:
    """Take a public number between 0 and 1 whose denominator is a power of two."""
    ratio = rational(name, value)
    if not 0 < ratio < 1 or ratio.denominator.bit_count() > 1:
        raise ValueError(f"{name} must lie between 0 and 1 and have a power of two as its denominator, not {value}")
    return ratio


def _shortfalls(query: Scores, utilities: Scored) -> list[Fraction]:
    """Measure how far utilities lie below the top of the range, in units of the sensitivity."""
    return [(query.upper - Fraction(utility)) / query.sensitivity for utility in utilities]

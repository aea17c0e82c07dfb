"""Sampling an index in proportion to integer weights, without division: every probability is exactly weight/total.

Three samplers with the same law. Rejection draws a whole integer below a power of two; bisection draws it bit
by bit and stops as soon as the bits decide; rejection with a minimum of rounds hides how many rounds it took,
up to that number.

Source: Ilvento 2020, section 3.3, Algorithms 2, 3 and 4. Where we differ from the text as printed: integers in
place of binary fractions, so that the grid reaches the finest bit of any weight; the printed Algorithms 2 and 4
sum r_i·2^(g−i), g = ⌊log2 total⌋, from i = 1 and never reach 2^g; Algorithm 3's dummy outcome ends at 2^k and the
index that is left is returned; Algorithm 4 continues until a draw is in range *and* the rounds are reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Protocol

from gmpy2 import mpz

from mechanisms.coins import uniform_below
from mechanisms.randomness import REJECTED, RandomBits


class Weights(Protocol):
    """Non-negative integers with a positive total, which can be iterated over any number of times."""

    @property
    def total(self) -> int:
        """The sum of the weights."""

    def __iter__(self) -> Iterator[int]: ...


@dataclass(frozen=True)
class IntegerWeights:
    """Weights given as a tuple."""

    values: tuple[int, ...]
    total: int = field(init=False)

    def __post_init__(self) -> None:
        if any(weight < 0 for weight in self.values) or not any(self.values):
            raise ValueError(f"weights must be non-negative and not all 0, not {self.values}")
        object.__setattr__(self, "total", sum(self.values))

    def __iter__(self) -> Iterator[int]:
        return iter(self.values)


Sampler = Callable[[Weights, RandomBits], int]


def sample_by_rejection(weights: Weights, bits: RandomBits) -> int:
    """Return an index, by drawing below the next power of two until the draw is below the total (Algorithm 2)."""
    return _index_at(weights, bits.call(uniform_below, weights.total))


def sample_by_bisection(weights: Weights, bits: RandomBits) -> int:
    """Return an index, by halving the draw's range until it is in one weight's share or beyond the total (Algorithm 3).

    The range's lower end only ever rises, so one pass over the running sums serves all the bits.
    """
    return bits.repeat(_bisected, weights)


def _bisected(weights: Weights, bits: RandomBits) -> int | None:
    low, width = mpz(0), mpz(1) << (weights.total - 1).bit_length()
    for index, end in enumerate(accumulate(weights)):
        while low < end:
            if low + width <= end:
                return index
            width >>= 1
            if bits.take(1):
                low += width
        if low >= weights.total:
            break
    return REJECTED


def sample_by_rejection_rounds(weights: Weights, bits: RandomBits, *, rounds: int) -> int:
    """Return an index, chosen by the first draw below the total; there are at least `rounds` draws (Algorithm 4).

    `partial(sample_by_rejection_rounds, rounds=…)` is a `Sampler`. Only the rounds beyond the
    minimum are alike, so only these are drawn by `uniform_below`.
    """
    if rounds < 1:
        raise ValueError(f"rounds must be at least 1, not {rounds}")
    width = (weights.total - 1).bit_length()
    draws = [bits.take(width) for _ in range(rounds)]
    in_range = [draw for draw in draws if draw < weights.total]
    return _index_at(weights, in_range[0] if in_range else bits.call(uniform_below, weights.total))


def _index_at(weights: Weights, draw: int) -> int:
    """Return the index of the weight whose share of [0, total) contains the draw."""
    return next(index for index, end in enumerate(accumulate(weights)) if draw < end)

"""The exponential mechanism by rejection from powers of 2, and in base 2 with integer weights.

Sources: McSherry and Talwar 2007 (the law); canonical prefix codes, any textbook of data compression; Ilvento 2020,
section 3.3 (drawing in proportion to integers).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from checker.core.tape import published
from checker.models.coins import uniform_below


@published(lambda counts, codewords, shortest: _members(counts))  # noqa: ARG005
def codeword(counts: Sequence[int], codewords: int, shortest: int, bits: Any) -> tuple[int, int] | None:
    """Read a codeword of a canonical prefix code, bit by bit; None once the bits can no longer make one.

    A member of level k has a codeword of `shortest` + k bits; codewords are consecutive integers in order of level.
    """
    read = bits.take(shortest)
    least = 0
    for level, count in enumerate(counts):
        if read < least + count:
            return level, read - least
        if read << (len(counts) - 1 - level) >= codewords:
            return None
        least = 2 * (least + count)
        read = 2 * read + bits.take(1)
    return None


@published(lambda counts: _members(counts))
def propose(counts: Sequence[int], bits: Any) -> Any:
    """A member of a level, each member of level k with probability in proportion to 2^−k."""
    return bits.repeat(codeword, counts, *code(counts))


def code(counts: Sequence[int]) -> tuple[int, int]:
    """Return the sum of 2^(deepest − level) over all members, and the bits of the shortest codewords."""
    deepest = len(counts) - 1
    total = sum((count << deepest) >> level for level, count in enumerate(counts))
    shortest = 0
    while total > 1 << (deepest + shortest):
        shortest += 1
    return total, shortest


def _members(counts: Sequence[int]) -> list[tuple[int, int]]:
    """Return the members of all levels, a few of each."""
    return [
        (level, rank)
        for level, count in enumerate(counts)
        for rank in sorted({*range(min(count, 3)), count - 1} - {-1})
    ]


@published(lambda gap, level: (True,) if not hasattr(gap, "terms") and gap == 0 == level else (False, True))
def scaled_exp(gap: Any, level: int, bits: Any) -> bool:
    """True with probability 2^level·e^−gap; what the mechanism has for it is decided by enclosures, not by dialogue."""
    raise NotImplementedError


class Exact(Fraction):
    """A rational that is the same as a double of its value."""

    def same(self, other: Any) -> bool:
        """Whether another number has this value."""
        return bool(self == (Fraction(other) if isinstance(other, float) else other))


@published(lambda members, rate, best, utilities: [*range(len(utilities))])  # noqa: ARG005
def kept(
    members: Sequence[Sequence[int]], rate: Fraction, best: Any, utilities: Sequence[Any], bits: Any
) -> int | None:
    """One round: a proposal with probability in proportion to 2^−level, kept with probability 2^level·e^−gap."""
    level, rank = bits.call(propose, tuple(len(one) for one in members))
    outcome = members[level][rank]
    return outcome if bits.call(scaled_exp, (best - utilities[outcome]) * rate, level) else None


class Weights:
    """Integers in the proportion of decay^level times how many outcomes have the level, over one power of 2.

    Args:
        decay: a dyadic rational below 1.
        spread: the largest level there can be.
        counts: how many outcomes are on each level that occurs, in order of level.
    """

    def __init__(self, decay: Fraction, spread: int, counts: Sequence[tuple[int, int]]) -> None:
        over, under = decay.numerator, decay.denominator
        self.listed = [over**level * under ** (spread - level) * count for level, count in counts]
        self.total = sum(self.listed)

    def __iter__(self) -> Any:
        return iter(self.listed)

    def same(self, other: Any) -> bool:
        """Whether other weights are these integers."""
        return [int(one) for one in other] == self.listed and int(other.total) == self.total


@published(lambda weights: [*range(len(weights.listed))])
def weighted(weights: Weights, bits: Any) -> int:
    """An index in proportion to its weight; a sampler's law is compared with the weights themselves."""
    raise NotImplementedError


@published(lambda eta, spread, levels, sampler: [*range(len(levels))])  # noqa: ARG005
def selected(eta: Any, spread: int, levels: Sequence[int], sampler: Any, bits: Any) -> int:  # noqa: ARG001
    """An outcome in proportion to decay^level: first its level, then one of those that have it, uniformly."""
    members = {level: [one for one, of in enumerate(levels) if of == level] for level in sorted(set(levels))}
    decay = Fraction(eta.x, 2**eta.y) ** eta.z
    weights = Weights(decay, spread, [(level, len(of)) for level, of in members.items()])
    chosen = list(members.values())[bits.call(weighted, weights)]
    outcome: int = chosen[bits.call(uniform_below, len(chosen))]
    return outcome


def by_rejection(weights: Any, bits: Any) -> int:
    """An index in proportion to its weight: a uniform integer below the total lies in its share."""
    drawn = bits.call(uniform_below, weights.total)
    end = 0
    for index, weight in enumerate(weights):
        end += weight
        if drawn < end:
            return index
    raise AssertionError("what was drawn below the total lies in no share")

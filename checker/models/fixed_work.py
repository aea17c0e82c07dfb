"""Selection with a fixed number of bits: mechanisms/exponential/README.md, 'Fixed work'."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Any

from checker.core.tape import published


def weights_of(work: Any, spread: int) -> tuple[int, ...]:
    """Return the weights of levels 0, 1, …: 2^precision, each further one ⌈q·the one before⌉, while they fall.

    Args:
        work: has the integers `precision` and `spare`, and `eta` with x, y and z: q = (x/2^y)^z < 1.
        spread: the largest level there can be.
    """
    return _weights(work.eta.x, work.eta.y, work.eta.z, work.precision, spread)


@lru_cache(maxsize=8)
def _weights(x: int, y: int, z: int, precision: int, spread: int) -> tuple[int, ...]:
    decay = Fraction(x, 1 << y) ** z
    weights = [1 << precision]
    while len(weights) <= spread:
        weights.append(-int(-weights[-1] * decay // 1))
        if weights[-1] == weights[-2]:
            return tuple(weights[:-1])
    return tuple(weights)


def tickets_of(work: Any, spread: int, levels: Sequence[int]) -> tuple[int, list[int]]:
    """Return the number of bits of a ticket, and the first ticket of every outcome but the first.

    Args:
        work: see `weights_of`.
        spread: likewise.
        levels: of the outcomes.
    """
    weights = weights_of(work, spread)
    more = 0
    while len(levels) > 1 << more:
        more += 1
    sums = list(accumulate(weights[level] for level in levels))
    bits = work.precision + more + work.spare
    over = 1 << (work.precision + more)
    quotient = (over << bits) // sums[-1]
    return bits, [before * quotient // over for before in sums[:-1]]


@published(lambda work, spread, levels: [*range(len(levels))])  # noqa: ARG005
def ticketed(work: Any, spread: int, levels: Sequence[int], bits: Any) -> int:
    """The outcome whose tickets a uniform integer is one of."""
    count, firsts = tickets_of(work, spread, levels)
    ticket = bits.take(count)
    return len([first for first in firsts if ticket >= first])

"""Selection with a fixed number of bits: mechanisms/exponential/README.md, 'Fixed work'."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

from checker.core.tape import published


def weights_of(decay: Fraction, precision: int, spread: int) -> list[int]:
    """Return the weights of levels 0, 1, …: 2^precision, each further one ⌈decay·the one before⌉, while they fall.

    Args:
        decay: q, below 1.
        precision: see above.
        spread: the largest level there can be.
    """
    weights = [1 << precision]
    while len(weights) <= spread:
        weights.append(-int(-weights[-1] * decay // 1))
        if weights[-1] == weights[-2]:
            return weights[:-1]
    return weights


def tickets_of(work: Any, spread: int, levels: Sequence[int]) -> tuple[int, list[int]]:
    """Return the number of bits of a ticket, and the first ticket of every outcome but the first.

    Args:
        work: has the integers `precision` and `spare`, and `eta` with x, y and z.
        spread: the largest level there can be.
        levels: of the outcomes.
    """
    weights = weights_of(Fraction(work.eta.x, 1 << work.eta.y) ** work.eta.z, work.precision, spread)
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

"""How many random words a generator has given: a cost of drawing that is the same on every machine.

PCG64 steps through its states s ↦ a·s + c mod 2^128, one step a word of 64 bits. Bit i of a state changes with a period
of 2^(i+1) steps, so the number of steps between two states is found bit by bit.

Source: O'Neill 2014, 'PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for Random Number
Generation', section 4.3.1 (jump-ahead, after Brown 1994); the search is the same computation backwards.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

_FACTOR: Final = 0x2360ED051FC65DA44385DF649FCCF645
_MASK: Final = (1 << 128) - 1


def words_between(before: dict[str, Any], after: dict[str, Any]) -> int:
    """The number of words of 64 bits that a generator gave between two of its states.

    Args:
        before: the state of a `PCG64`, as numpy gives it.
        after: a later state of the same generator.
    """
    state, end, step = before["state"]["state"], after["state"]["state"], before["state"]["inc"]
    factor, words, bit = _FACTOR, 0, 1
    while state != end and bit <= _MASK:
        if (state ^ end) & bit:
            state = (state * factor + step) & _MASK
            words |= bit
        step = (factor + 1) * step & _MASK
        factor = factor * factor & _MASK
        bit <<= 1
    return words


def state_of(rng: np.random.Generator) -> dict[str, Any]:
    """The state of a generator, which is a `PCG64` as `np.random.default_rng` makes it."""
    return dict(rng.bit_generator.state)

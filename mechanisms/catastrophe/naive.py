"""The catastrophe mechanism as a program writes it: `random() < δ`.

`random()` gives multiples of 2^−53, so the event has the probability of the least such multiple that is not below δ.
"""

from __future__ import annotations

from typing import TypeVar

from mechanisms.randomness import RandomBits

Data = TypeVar("Data")

WORD = 53
"""The number of random bits in a `random()`."""


def naive_catastrophe(data: Data, bits: RandomBits, *, delta: float) -> Data | None:
    """Publish the data if a uniform double in [0, 1) is below δ."""
    return data if bits.take(WORD) < delta * 2.0**WORD else None

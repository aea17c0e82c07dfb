"""The catastrophe mechanism with an exact coin. README.md has the proof."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeVar

from mechanisms.coins import bernoulli
from mechanisms.randomness import RandomBits

Data = TypeVar("Data")


def exact_catastrophe(data: Data, bits: RandomBits, *, delta: Fraction) -> Data | None:
    """Publish the data with a probability of exactly δ: (0, δ)-DP for every relation of neighbours."""
    return data if bits.call(bernoulli, delta) else None

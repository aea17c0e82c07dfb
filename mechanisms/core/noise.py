"""Noise of an integer law: one number by inversion, arrays by a table that is made when the first one is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mechanisms.core.inversion import invert
from mechanisms.core.laws import Law
from mechanisms.core.numbers import count
from mechanisms.core.table import Table
from mechanisms.randomness import RandomBits


@dataclass(frozen=True)
class Noise:
    """Draws independent noise of one law.

    Args:
        law: the law.
    """

    law: Law

    @cached_property
    def table(self) -> Table:
        """The table for arrays, which depends on the law alone."""
        return Table(self.law)

    def one(self, bits: RandomBits) -> int:
        """Draw one number."""
        return bits.call(invert, self.law)

    def add(self, values: NDArray[np.int64], bits: RandomBits) -> None:
        """Add to each of many integers noise of its own, brought to ±2^62 where it is beyond."""
        self.table.add(values, bits)

    def many(self, draws: int, bits: RandomBits) -> NDArray[np.int64]:
        """Draw several numbers; see `add`."""
        noise = np.zeros(count("draws", draws, least=0), dtype=np.int64)
        self.add(noise, bits)
        return noise

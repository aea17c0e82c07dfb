"""Noise of an integer law: one number by inversion, arrays by a table that is made when the first one is asked for.

A source of bits may draw one number by the table as well, as that has the same law; see `RandomBits.call`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mechanisms.core.inversion import invert
from mechanisms.core.laws import Law
from mechanisms.core.numbers import count
from mechanisms.core.table import Table, table_of
from mechanisms.randomness import RandomBits

GREATEST_SPREAD = 1 << 46
"""In steps: a double shows no more of noise this large, and less than 2^−90000 of it lies beyond 2^62,
where arrays end.
"""


@dataclass(frozen=True)
class Noise:
    """Draws independent noise of one law."""

    law: Law

    def __post_init__(self) -> None:
        if self.law.spread > GREATEST_SPREAD:
            raise ValueError(
                f"the grid is too fine: noise would spread over about 2^{int(self.law.spread).bit_length() - 1} steps, "
                "and 2^46 are the most; take a larger exponent, or a larger epsilon"
            )

    @property
    def table(self) -> Table:
        """The table for arrays, which depends on the law alone; it is no part of a copy or a pickle."""
        return table_of(self.law)

    def one(self, bits: RandomBits) -> int:
        """Draw one number."""
        return bits.call(invert, self.law)

    def add(self, values: NDArray[np.int64], bits: RandomBits) -> None:
        """Add independent noise, clamped to ±2^62, to each of many integers."""
        self.table.add(values, bits)

    def many(self, draws: int, bits: RandomBits) -> NDArray[np.int64]:
        """Draw several numbers; see `add`."""
        noise = np.zeros(count("draws", draws, least=0), dtype=np.int64)
        self.add(noise, bits)
        return noise

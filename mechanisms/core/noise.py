"""Integer noise: a single number is drawn by inversion, an array by a table, which is made on first use.

A source of bits may draw single numbers by the table as well, as it has the same law; see `RandomBits.call`.
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
"""The largest spread of a law, in steps. A double shows no more of noise this large, and less than 2^−90000 of it
lies beyond 2^62, where arrays end.
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
        """The table that draws arrays. It depends on the law alone, and no copy or pickle contains it."""
        return table_of(self.law)

    def one(self, bits: RandomBits) -> int:
        """Draw one number."""
        return bits.call(invert, self.law)

    def add(self, values: NDArray[np.int64], bits: RandomBits) -> None:
        """Add independent noise, clamped to ±2^62, to each integer of an array, in place."""
        self.table.add(values, bits)

    def many(self, draws: int, bits: RandomBits) -> NDArray[np.int64]:
        """Return an array of `draws` independent numbers, each clamped to ±2^62."""
        noise = np.zeros(count("draws", draws, least=0), dtype=np.int64)
        self.add(noise, bits)
        return noise

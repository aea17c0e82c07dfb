"""Cells of integers by the leading bits of their doubles: how the fast paths look up a polynomial for each uniform."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Cells:
    """The integers from 2^(top − binades) to 2^top, cut into 2^bits cells a binade.

    Cells are numbered from 1 on, the lowest first. An integer below all cells has a number below 1, and one that is
    rounded to 2^top has one above all; so look-ups that clip need an entry at either end of their tables.

    Args:
        top: at most 63.
        binades: how many.
        bits: the logarithm of how many cells each of them has.
    """

    top: int
    binades: int
    bits: int

    def __len__(self) -> int:
        return self.binades << self.bits

    def middles(self) -> NDArray[np.float64]:
        """Return the middles of all cells: integers of `bits` + 2 bits and zeros, if top − binades is above `bits`."""
        mantissas = 2 * ((1 << self.bits) + np.arange(1 << self.bits, dtype=np.float64)) + 1
        places = np.arange(self.top - self.binades, self.top) - self.bits - 1
        return np.ldexp(mantissas, places[:, np.newaxis]).ravel()

    def each(self, of_binades: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each cell what its binade has."""
        return np.repeat(of_binades, 1 << self.bits)

    def locate(self, integers: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
        """Find the cells of integers from 0 to 2^63 − 1, shape (n,).

        Returns:
            The integers rounded to binary64, the numbers of their cells, and the middles of these; each of shape (n,),
            and none of them used elsewhere.
        """
        shift = 52 - self.bits
        rounded = integers.astype(np.float64)
        pattern = rounded.view(np.int64)
        cells = pattern >> np.int64(shift)
        cells -= np.int64(((1023 + self.top - self.binades) << self.bits) - 1)
        middles = pattern & np.int64(-(1 << shift))
        middles |= np.int64(1 << shift - 1)
        return rounded, cells, middles.view(np.float64)

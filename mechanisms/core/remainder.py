"""What remains of a law when its table's cells have taken their part: drawn by inversion, a few times in 10^6."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from gmpy2 import mpfr, mpq
from numpy.typing import NDArray

from mechanisms.core.cells import WORD, Cells
from mechanisms.core.gaussian_tails import Enclosure
from mechanisms.core.inversion import inverted
from mechanisms.core.laws import HEIGHT_BITS
from mechanisms.core.rounding import rounding
from mechanisms.randomness import RandomBits

_GUARD_BITS = 64
_PRECISION = 128
_LEAST_SLOPE = 1e-30


class Remainder:
    """The law with the tails (T(k) − G(k))/(1 − G): T those of a law, G what its cells are given.

    No step is given more than it has, so these are tails; and a draw that is among what is given with probability G,
    and else from here, has the law T.
    """

    def __init__(self, cells: Cells) -> None:
        self._cells = cells

    def tail(self, outcome: int, precision: int) -> Enclosure:
        """Enclose the probability of an outcome or more."""
        given, ends = self._cells.given(outcome), []
        whole = self._cells.law.tail(outcome, precision + _GUARD_BITS)
        for context, end in zip(rounding(precision), whole, strict=True):
            with context:
                ends.append(mpfr((mpq(end) - given) / self._cells.remaining))
        return Enclosure(*ends)

    def draw(self, word: int, bits: RandomBits) -> int:
        """Draw an outcome by a word and the bits that follow it."""
        return inverted(self, word, self.guess(mpq(2 * word + 1, 2 << WORD)), bits)

    def guess(self, uniform: float | mpq) -> int:
        """Find the outcome of a uniform by Newton's method, or by halving where that leads away from it."""
        cells, law = self._cells, self._cells.law
        above = mpq(uniform) * cells.remaining
        low, high = law.guess(1 - (cells.remaining - above)) - 2, law.guess(above) + 2
        outcome, following = low, self._rough_guess(float(above), float(cells.remaining - above))
        while following != outcome and high - low > 1:
            outcome = following if low < following < high else (low + high) // 2
            excess = mpq(law.tail(outcome, _PRECISION).lower) - cells.given(outcome) - above
            low, high = (outcome, high) if excess > 0 else (low, outcome)
            density = mpq(law.heights([abs(outcome)])[0], 1 << HEIGHT_BITS)
            density += cells.given(outcome + 1) - cells.given(outcome)
            following = outcome + int(excess // density) if density > 0 else low
        return outcome if following == outcome else low

    def _rough_guess(self, above: float, below: float) -> int:
        """Guess the outcome with so much of what remains above and below it.

        In a cell the line touches the law at the far end, so what remains of a step grows with the square of the
        distance from there, and the sum with the cube.
        """
        ends, width = self._ends_below, self._cells.width
        place = int(np.searchsorted(ends, below, side="right")) - 1
        if not 0 <= place < len(ends) - 1:
            return self._cells.law.guess(1 - below if place < 0 else above)
        start = self._cells.cells[place].start
        share = min((below - ends[place]) / (ends[place + 1] - ends[place]), 1.0)
        return start + min(int(width * (math.cbrt(share) if start < 0 else 1 - math.cbrt(1 - share))), width - 1)

    @cached_property
    def _ends_below(self) -> NDArray[np.float64]:
        """About how much remains below each cell, and at last below all that is above them.

        Between multiples of W, d apart in ln P and with a second difference of −c there, the sum is that of a
        geometric series, and a part of (1 − W^−2)·c/12 more.
        """
        width = self._cells.width
        logs = np.log(np.array(self._cells.bounds, dtype=np.float64)) - HEIGHT_BITS * math.log(2)
        with np.errstate(all="ignore"):
            slopes = np.maximum(-np.diff(logs), _LEAST_SLOPE)
            bends = np.diff(slopes, prepend=slopes[0])
            sums = (
                np.exp(logs[:-1]) * np.expm1(-slopes) / np.expm1(-slopes / width) * (1 + bends / 12 * (1 - width**-2))
            )
            masses = np.concatenate([(sums * np.exp(-slopes / width))[::-1], sums])
        words = [cell.each * width + cell.even + cell.ramp for cell in self._cells.cells]
        rest = np.maximum(masses - np.array(words, dtype=np.float64) * 2.0**-64, 0.0)
        end = max((float(self._cells.remaining) - rest.sum()) / 2, 0.0)
        return np.concatenate([[end], end + np.cumsum(rest)])

"""What remains of a law when its table's cells have taken their part: drawn by inversion, a few times in 10^6."""

from __future__ import annotations

from gmpy2 import mpfr, mpq

from mechanisms.core.cells import WORD, Cells
from mechanisms.core.gaussian_tails import Enclosure
from mechanisms.core.inversion import inverted
from mechanisms.core.laws import HEIGHT_BITS
from mechanisms.core.rounding import rounding
from mechanisms.randomness import RandomBits

_GUARD_BITS = 64
_PRECISION = 128


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
        """Find the outcome of a uniform by Newton's method, or by halving where that leads away from it.

        A wrong one costs time and nothing else.
        """
        cells, law = self._cells, self._cells.law
        above = mpq(uniform) * cells.remaining
        low, high = law.guess(1 - (cells.remaining - above)) - 2, law.guess(above) + 2
        outcome, following = low, (low + high) // 2
        while following != outcome and high - low > 1:
            outcome = following if low < following < high else (low + high) // 2
            excess = mpq(law.tail(outcome, _PRECISION).lower) - cells.given(outcome) - above
            low, high = (outcome, high) if excess > 0 else (low, outcome)
            density = mpq(law.heights([abs(outcome)])[0], 1 << HEIGHT_BITS)
            density += cells.given(outcome + 1) - cells.given(outcome)
            following = outcome + int(excess // density) if density > 0 else low
        return outcome if following == outcome else low

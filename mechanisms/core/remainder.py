"""The part of a law that the cells of its table leave over. It is drawn by inversion, in a few draws of 10^6."""

from __future__ import annotations

from gmpy2 import mpfr, mpq

from mechanisms.core.cells import WORD, Cells
from mechanisms.core.gaussian_tails import Enclosure
from mechanisms.core.inversion import inverted
from mechanisms.core.laws import HEIGHT_BITS, last_that
from mechanisms.core.rounding import rounding
from mechanisms.randomness import RandomBits

_GUARD_BITS = 64


class Remainder:
    """The law with the tails (T(k) − G(k))/(1 − G), for a law with tails T(k) and cells with tails G(k), G in total.

    No step has more in the cells than in the law, so these are tails. A draw from the cells with probability G, and
    from here otherwise, has the tails T(k).
    """

    def __init__(self, cells: Cells) -> None:
        self._cells = cells

    def tail(self, outcome: int, precision: int) -> Enclosure:
        """Enclose P[outcome or more] between two numbers of `precision` bits."""
        given, ends = self._cells.given(outcome), []
        whole = self._cells.law.tail(outcome, precision + _GUARD_BITS)
        for context, end in zip(rounding(precision), whole, strict=True):
            with context:
                ends.append(mpfr((mpq(end) - given) / self._cells.remaining))
        return Enclosure(*ends)

    def draw(self, word: int, bits: RandomBits) -> int:
        """Draw an outcome by inverting the law at a uniform number: `word` is its first 64 bits, `bits` the rest."""
        cells, law = self._cells, self._cells.law
        above = mpq(2 * word + 1, 2 << WORD) * cells.remaining

        def is_reached(outcome: int) -> bool:
            return bool(law.rough_tail(outcome) > (above + cells.given(outcome)) * 2**HEIGHT_BITS)

        return inverted(self, word, last_that(is_reached, 0, int(law.spread) + 1), bits)

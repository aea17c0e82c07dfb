"""Cells of steps, and the words that each may be given: what a table of noise is made from.

The steps are cut into cells of W = 2^j: the steps start … start + W − 1, start a multiple of W. In each cell the law
lies above a line, and the cell is given at most what the line allows, in words of which there are 2^64:

- `each`: m words for each of its steps;
- `even`: words that leave all its steps alike probable;
- `ramp`: words that make its step the greater one of two uniform numbers below W, counted from the end far from 0. That
  one is i with probability (2i + 1)/W².

*Why no step is given more than it has.* Let a cell reach from its end near 0, with probability a, to its far end, with
b ≤ a. There the law is log-concave, so at the part t of the way from far to near it is at least b^(1 − t)·a^t. That is
at least

- b·(1 + t·ln(a/b)) ≥ b·(1 + t·2(a − b)/(a + b)), the line: e^x ≥ 1 + x, and ln x ≥ 2(x − 1)/(x + 1) for x ≥ 1;
- 1/((1 − t)/b + t/a), the weighted harmonic mean, by which the ends of cells are bounded from the probabilities of
  multiples of W. (Where W = 1 the ends are multiples, and the mean is exact.)

Lower bounds of a and b will do, as the line at both ends grows with either. The step i from the far end is given
m + even/W + ramp·(2i + 1)/W² words, which is linear in i as the line is; it is not above the line at i = 0 by the
choice of m and even, and rises no faster by the choice of ramp. All that is divisions of integers, rounded down.

Source: Devroye 1986, 'Non-Uniform Random Variate Generation', section II.4 (mixtures).
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import NamedTuple

from gmpy2 import mpq

from mechanisms.core.laws import HEIGHT_BITS, Law

WORD = 64

MOST_CELLS = 4000
"""On either side of 0: so 2^13 slots suffice where at most one word in fifty is open."""

_FRACTION_BITS = HEIGHT_BITS - WORD
_MARGIN = 1 << 32
"""What a height is taken less, so that a check in another arithmetic, of an error below 2^−96, allows these words."""

_LEAST_TAIL = 2.0**-20
_LEAST_MASS = 2.0**-65
_PRECISION = 128


class Cell(NamedTuple):
    """The first step of a cell, and its words; see the module."""

    start: int
    each: int
    even: int
    ramp: int


class Cells:
    """The cells of a law, from the lowest on, as many below 0 as above.

    Attributes:
        width_bits: j.
        bounds: at most 2^HEIGHT_BITS times the probabilities of 0, W, 2W, …
        remaining: the probability that no cell is given.
    """

    def __init__(self, law: Law) -> None:
        self.law = law
        self.width_bits = _width_bits(law)
        width = self.width
        count = min(MOST_CELLS, law.guess(_LEAST_MASS) // width + 1)
        heights = law.heights(range(0, (count + 1) * width, width))
        self.bounds = list(accumulate((max(height - _MARGIN, 1) for height in heights), min))
        at_least_0, below_0 = [], []
        for place, (near, far) in enumerate(pairwise(self.bounds)):  # at place·W from 0, and W farther
            at_least_0.append(_cell(place * width, near, _between(near, far, 1, width), width))
            below_0.append(_cell(-(place + 1) * width, _between(near, far, width - 1, width), far, width))
        self.cells = below_0[::-1] + at_least_0
        words = [cell.each * width + cell.even + cell.ramp for cell in self.cells]
        self._words_from = [*accumulate(reversed(words), initial=0)][::-1]
        self.remaining = 1 - mpq(self._words_from[0], 1 << WORD)

    @property
    def width(self) -> int:
        """W, how many steps a cell has."""
        return 1 << self.width_bits

    def given(self, outcome: int) -> mpq:
        """Return the probability of an outcome or more, of that which cells are given."""
        middle = len(self.cells) // 2
        place, below = divmod(outcome, self.width)
        if not -middle <= place < middle:
            return 1 - self.remaining if place < 0 else mpq(0)
        cell, along = self.cells[place + middle], mpq(self.width - below, self.width)  # the part of its steps
        ramp = along**2 if place >= 0 else 1 - (1 - along) ** 2
        words = (cell.each * self.width + cell.even) * along + cell.ramp * ramp
        return (self._words_from[place + middle + 1] + words) / (1 << WORD)


def _width_bits(law: Law) -> int:
    """Return j: `MOST_CELLS` cells of 2^j steps leave out at most `_LEAST_TAIL` of a tail."""
    width_bits = max(int(law.spread) // MOST_CELLS, 1).bit_length() - 1
    while law.tail(MOST_CELLS << width_bits, _PRECISION).upper > _LEAST_TAIL:
        width_bits += 1
    return width_bits


def _between(near: int, far: int, steps: int, width: int) -> int:
    """Bound the law from below, this many steps on the way from `far` to `near`, by the harmonic mean."""
    return width * near * far // ((width - steps) * near + steps * far)


def _cell(start: int, near: int, far: int, width: int) -> Cell:
    """Return a cell with its words; `near` and `far` are the probabilities at its ends, in units of 2^−HEIGHT_BITS."""
    rise = 2 * far * (near - far)  # of the line from one end to the other, times near + far
    ramp = rise * width**2 // ((near + far) * max(width - 1, 1)) >> _FRACTION_BITS + 1
    words = far * width - -(-(ramp << _FRACTION_BITS) // width) >> _FRACTION_BITS  # for all steps, as at the far end
    each, even = divmod(words, width)
    return Cell(start, each, even, ramp)

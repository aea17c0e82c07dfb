"""Cells: a law of integer noise is cut into runs of steps, and each run gets some of the 2^64 words of a table.

A cell is the steps start … start + W − 1, where W = 2^j and start is a multiple of W. In each cell a line bounds the
law from below. A cell gets at most the probability below its line, as a number of words of probability 2^−64 each:

- `each`: m words for every step of the cell;
- `even`: words that choose a step of the cell uniformly;
- `ramp`: words that choose the step by the greater one of two uniform numbers below W, counted from the end far from
  0. This number is i with probability (2i + 1)/W².

*Why no step gets more than its probability.* Let a be the probability of the cell's end near 0, and b ≤ a the
probability of its far end. The law is log-concave in between, so at a fraction t of the way from far to near it is at
least b^(1 − t)·a^t. This is at least

- b·(1 + t·ln(a/b)) ≥ b·(1 + t·2(a − b)/(a + b)), the line: e^x ≥ 1 + x, and ln x ≥ 2(x − 1)/(x + 1) for x ≥ 1;
- 1/((1 − t)/b + t/a), the weighted harmonic mean. It bounds the probability at the ends of cells from the
  probabilities of multiples of W. (If W = 1, all ends are multiples, and the mean is exact.)

Lower bounds of a and b are enough, as the line at both ends grows with a and with b. The step i from the far end gets
m + even/W + ramp·(2i + 1)/W² words, which is linear in i like the line. By the choice of m and even it is not above
the line at i = 0; by the choice of ramp it rises no faster. All of this is integer division, rounded down.

Source: Devroye 1986, 'Non-Uniform Random Variate Generation', section II.4 (mixtures).
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import NamedTuple

from gmpy2 import mpq

from mechanisms.core.laws import HEIGHT_BITS, Law

WORD = 64

MOST_CELLS = 4000
"""The most cells on each side of 0: 2^13 slots are enough for a table if at most 2 % of words are `even` or `ramp`."""

_FRACTION_BITS = HEIGHT_BITS - WORD
_MARGIN = 1 << 32
"""Subtracted from each height, so that a check in other arithmetic, with an error below 2^−96, allows these words."""

_LEAST_TAIL = 2.0**-20
_LEAST_MASS = 2.0**-65
_PRECISION = 128


class Cell(NamedTuple):
    """A run of W integers from `start` on, and its numbers of table words of three kinds, explained in the module."""

    start: int
    each: int
    even: int
    ramp: int


class Cells:
    """The cells of a law in increasing order, with an equal number below 0 and from 0 on.

    Attributes:
        width_bits: j, where a cell has W = 2^j steps.
        bounds: integer lower bounds of 2^HEIGHT_BITS·P[N = k] for k = 0, W, 2W, …, which never increase.
        remaining: the probability that is left when all cells have their words.
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
        """W, the number of steps in a cell."""
        return 1 << self.width_bits

    def given(self, outcome: int) -> mpq:
        """Return the probability that a word belongs to a cell and chooses a step of at least `outcome`."""
        middle = len(self.cells) // 2
        place, below = divmod(outcome, self.width)
        if not -middle <= place < middle:
            return 1 - self.remaining if place < 0 else mpq(0)
        cell, along = self.cells[place + middle], mpq(self.width - below, self.width)  # the part of its steps
        ramp = along**2 if place >= 0 else 1 - (1 - along) ** 2
        words = (cell.each * self.width + cell.even) * along + cell.ramp * ramp
        return (self._words_from[place + middle + 1] + words) / (1 << WORD)


def _width_bits(law: Law) -> int:
    """Return a j for which the tail beyond `MOST_CELLS` cells of 2^j steps is at most `_LEAST_TAIL`."""
    width_bits = max(int(law.spread) // MOST_CELLS, 1).bit_length() - 1
    while law.tail(MOST_CELLS << width_bits, _PRECISION).upper > _LEAST_TAIL:
        width_bits += 1
    return width_bits


def _between(near: int, far: int, steps: int, width: int) -> int:
    """Return a lower bound on the law `steps` of `width` steps from the end `far` towards `near`: the harmonic mean."""
    return width * near * far // ((width - steps) * near + steps * far)


def _cell(start: int, near: int, far: int, width: int) -> Cell:
    """Return a cell; `near` and `far` bound the probabilities of its ends from below, in units of 2^−HEIGHT_BITS."""
    rise = 2 * far * (near - far)  # of the line from one end to the other, times near + far
    ramp = rise * width**2 // ((near + far) * max(width - 1, 1)) >> _FRACTION_BITS + 1
    words = far * width - -(-(ramp << _FRACTION_BITS) // width) >> _FRACTION_BITS  # for all steps, as at the far end
    each, even = divmod(words, width)
    return Cell(start, each, even, ramp)

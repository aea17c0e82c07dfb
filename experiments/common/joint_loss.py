"""What output and random bits together lose, of exact mechanisms: by counting words, or bounded by how rare a word is.

*Noise by inversion* compares words of 64 bits with the law's tails. After j words it has told the outcome n if its
64j bits lie wholly inside step n, so the mass of (n, 64j bits) is a number of words over 2^(64j): `words_law`.

*Tabled noise* gives words to steps by counting them: most outcomes take one word, some take three, and what remains is
an inversion. The masses of cells with either number of words stand in the table: `table_loss`.

*A bound for the rest.* If w(o) bits are taken for an output o on every input, but with probability τ at most, then
output and bits keep (ε, δ + (1 + e^ε)·τ) wherever the output keeps (ε, δ): for an event E of both, and the event U that
bits are the usual ones, P[E] ≤ P[E ∩ U] + τ ≤ e^ε·Q[E ∩ U] + δ + τ, as E ∩ U is an event of the output with less
removed from it than τ has on either side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gmpy2 import mpq

from attacklab.laws import Bounds, Law, exp_bounds, smallest_delta, smallest_epsilon
from mechanisms.core.cells import Cell, Cells
from mechanisms.core.inversion import WORD, Tails
from mechanisms.core.laws import Law as NoiseLaw
from mechanisms.core.laws import last_that
from mechanisms.core.rounding import ceiling, exp_above, floor, fraction

WORDS = 2
"""So many words are counted; more are taken with a probability of about 2^−115."""

_GUARD_BITS = 32
"""How much finer than the words an inversion's tails are; as `mechanisms.core.inversion` has it."""

_TAIL_BITS = 256
"""The precision of tails where a mass is enclosed."""

MORE = "more"
"""Stands for all pairs of an output and bits that are not counted one by one."""


@dataclass(frozen=True)
class Loss:
    """What two laws lose.

    Attributes:
        delta: bounds on the smallest δ at the claimed ε.
        epsilon: bounds on the smallest ε at the claimed δ; infinite where none suffices.
    """

    delta: Bounds
    epsilon: tuple[float, float]


def loss(epsilon: Fraction, delta: Fraction, p: Law, q: Law, *, rest_is_apart: bool = False) -> Loss:
    """Measure what two laws lose at a claimed (ε, δ).

    Args:
        epsilon: ε.
        delta: δ.
        p: the law on one of two neighbouring inputs.
        q: the law on the other.
        rest_is_apart: whether what the laws leave open lies on none of the outcomes that either lists.
    """
    open_ = smallest_delta(p, q, epsilon), smallest_epsilon(p, q, delta)
    if not rest_is_apart:
        return Loss(*open_)
    first, second = (Law([*law.masses.items(), (MORE, law.unresolved)]) for law in (p, q))
    merged = smallest_delta(first, second, epsilon), smallest_epsilon(first, second, delta)
    return Loss(
        Bounds(max(open_[0].lower, merged[0].lower), open_[0].upper),
        (max(open_[1][0], merged[1][0]), max(open_[1][1], merged[1][0])),
    )


def words_law(tails: Tails, output: Callable[[int], Any]) -> Law:
    """The joint law of the output and the bits of noise by inversion; what takes more than `WORDS` words is left open.

    Args:
        tails: those of the noise.
        output: what is released for each outcome of the noise.
    """
    return Law(
        ((output(outcome), WORD * words), mass)
        for words in range(1, WORDS + 1)
        for outcome, mass in _told_by(tails, words)
    )


def _told_by(tails: Tails, words: int) -> Iterator[tuple[int, mpq]]:
    """The outcomes, and the probability that each is told by so many words and not by fewer."""
    before = dict(_told(tails, WORD * (words - 1))) if words > 1 else {}
    for outcome, mass in _told(tails, WORD * words):
        yield outcome, mass - before.get(outcome, 0)


def _told(tails: Tails, width: int) -> Iterator[tuple[int, mpq]]:
    """The outcomes that so many bits can tell, and the probability that they do."""

    def tail(outcome: int) -> Any:
        return tails.tail(outcome, width + _GUARD_BITS)

    outcome = last_that(lambda k: floor(tail(k).lower, width) > 0, 0)
    above = 1
    while above < 1 << width:
        ends = tail(outcome)
        if (told := floor(ends.lower, width) - above) > 0:
            yield outcome, mpq(told, 1 << width)
        above, outcome = ceiling(ends.upper, width), outcome - 1


def added(epsilon: Fraction, unusual: Fraction) -> Fraction:
    """At most so much do bits add to δ at ε: (1 + e^ε)·τ, and 1 at most.

    Args:
        epsilon: ε.
        unusual: τ; with this probability at most bits are not what the output says, on either input.
    """
    return min((1 + exp_above(epsilon)) * unusual, Fraction(1))


@dataclass(frozen=True)
class TableLoss:
    """What a value of an array and its number of words lose together.

    Attributes:
        delta: bounds on the smallest δ at the claimed ε.
        epsilon: the smallest ε at the claimed δ is at least this.
        opened: the probability that a value takes more than one word.
        inverted: the probability that it is drawn from what remains of the law.
    """

    delta: Bounds
    epsilon: float
    opened: Fraction
    inverted: Fraction


def table_loss(law: NoiseLaw, shift: int, epsilon: Fraction, delta: Fraction) -> TableLoss:
    """Bound what tabled noise and its words lose where neighbours' answers are `shift` steps apart.

    The steps of a cell are given as many single words each, and of pairs of further words a share that is linear in the
    step. So the sums over steps of what either gives beyond e^ε times its neighbour are known exactly. Of what remains
    at least the excess of whole cells is told, and at most all of it. One direction is as good as the other: the law
    and its cells are symmetric.

    Raises:
        ValueError: the shift is not a whole number of cells.
    """
    cells = Cells(law)
    apart, rest = divmod(shift, cells.width)
    if rest:
        raise ValueError(f"answers {shift} steps apart are not a whole number of cells of {cells.width}")
    given = {cell.start // cells.width: _Given.of(cell, law, cells.width) for cell in cells.cells}
    least, most = exp_bounds(epsilon)
    nothing = _Given(mpq(0), mpq(0), mpq(0), Bounds(mpq(0), cells.remaining))
    lower = upper = mpq(0)
    for place, first in given.items():
        second = given.get(place - apart, nothing)
        lower += first.excess(second, most, cells.width) + max(first.left.lower - most * second.left.upper, mpq(0))
        upper += first.excess(second, least, cells.width)
    told = [((place, words), mass) for place, cell in given.items() for words, mass in cell.by_words(cells.width)]
    first_law, second_law = (
        Law([*(((place + moved, words), mass) for (place, words), mass in told), (MORE, cells.remaining)])
        for moved in (0, apart)
    )
    return TableLoss(
        Bounds(lower, min(upper + cells.remaining, mpq(1))),
        smallest_epsilon(first_law, second_law, delta)[0],
        1 - fraction(sum((mass for (_, words), mass in told if words == 1), mpq(0))),
        fraction(cells.remaining),
    )


@dataclass(frozen=True)
class _Given:
    """What a cell is given, as probabilities.

    Attributes:
        one: of each of its steps by a single word.
        base: a, where its step k has a + b·(2k + 1) by three words.
        slope: b.
        left: bounds on what the cell has that remains.
    """

    one: mpq
    base: mpq
    slope: mpq
    left: Bounds

    @classmethod
    def of(cls, cell: Cell, law: NoiseLaw, width: int) -> _Given:
        """What a cell of so many steps is given; its ramp rises from the end far from 0."""
        one, even, ramp = (mpq(words, 1 << WORD) for words in (cell.each, cell.even, cell.ramp))
        low, high = (law.tail(cell.start + steps, _TAIL_BITS) for steps in (0, width))
        words = one * width + even + ramp
        left = Bounds(
            max(mpq(low.lower) - mpq(high.upper) - words, mpq(0)), max(mpq(low.upper) - mpq(high.lower) - words, mpq(0))
        )
        if cell.start < 0:
            return cls(one, even / width, ramp / width**2, left)
        return cls(one, (even + 2 * ramp) / width, -ramp / width**2, left)

    def by_words(self, width: int) -> Iterator[tuple[int, mpq]]:
        """Numbers of words, and the probability of the cell with each."""
        yield 1, self.one * width
        yield 3, self.base * width + self.slope * width**2

    def excess(self, other: _Given, factor: mpq, width: int) -> mpq:
        """The sum over steps, and over one word and three, of what this has beyond so many times what the other has."""
        base, slope = self.base - factor * other.base, self.slope - factor * other.slope
        return max(self.one - factor * other.one, mpq(0)) * width + _positive_part(base, slope, width)


def _positive_part(base: mpq, slope: mpq, width: int) -> mpq:
    """The sum over 0 ≤ k < width of max(base + slope·(2k + 1), 0)."""
    first, end = 0, width
    if slope:
        crossing = (-base / slope - 1) / 2  # of k
        if slope > 0:
            first = min(max(int(crossing // 1) + 1, 0), width)
        else:
            end = min(max(-int(-crossing // 1), 0), width)
    elif base <= 0:
        return mpq(0)
    return base * (end - first) + slope * (end**2 - first**2)

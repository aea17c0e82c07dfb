"""What output and random bits together lose, of exact mechanisms: by counting words, or bounded by how rare a word is.

*Noise by inversion* compares words of 64 bits with the law's tails. After j words it has told the outcome n if its
64j bits lie wholly inside step n, so the mass of (n, 64j bits) is a number of words over 2^(64j): `words_law`.

*Tabled noise* gives words to steps by counting them: most outcomes take one word, some take three, and what remains is
an inversion. The masses of cells with either number of words stand in the table: `table_laws`.

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
from attacklab.laws.enclosures import PRECISION
from mechanisms.core.cells import Cells
from mechanisms.core.inversion import WORD, Tails
from mechanisms.core.laws import Law as NoiseLaw
from mechanisms.core.laws import last_that
from mechanisms.core.rounding import ceiling, floor

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
    apart = [Law([*law.masses.items(), (MORE, law.unresolved)]) for law in (p, q)]
    merged = smallest_delta(*apart, epsilon), smallest_epsilon(*apart, delta)
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


def most_undecided(law: NoiseLaw) -> Fraction:
    """At most so probable is it that one word does not tell the noise: a word for each tail above 2^−64, and the ends."""
    steps = last_that(lambda k: ceiling(law.tail(k, 2 * WORD).upper, WORD) > 1, 1)
    return Fraction(2 * steps + 2, 1 << WORD)


def bounded(epsilon: Fraction, delta: Fraction, unusual: Fraction) -> Fraction:
    """At most so large is δ at ε for output and bits, where the output keeps (ε, δ) and bits are rarely unusual."""
    _, most = exp_bounds(epsilon, PRECISION)
    factor = Fraction(int(most.numerator), int(most.denominator))
    return min(delta + (1 + factor) * unusual, Fraction(1))


@dataclass(frozen=True)
class TableLaws:
    """Two joint laws of a value from a table and its words, for answers some cells apart.

    Attributes:
        coarse: of the cell and the number of words: a function of output and words, so that no event of it wins more.
        fine: of the cell, and how its words were shared out: output and words are a randomised function of it, but for
            what it leaves open.
        inversions: the probability that a value comes from what remains.
        opened: the probability that it takes more than one word.
    """

    coarse: tuple[Law, Law]
    fine: tuple[Law, Law]
    inversions: Fraction
    opened: Fraction


def table_laws(law: NoiseLaw, shift: int) -> TableLaws:
    """The laws of arrays' noise and words, and the same for an answer that is `shift` steps larger.

    All steps of a cell are given alike many of its single words; further words are even, or rise linearly away from the
    far end. So given the cell, and which of the three it was, the step has one law on either side of the pair.

    Raises:
        ValueError: the shift is not a whole number of cells.
    """
    cells = Cells(law)
    apart, rest = divmod(shift, cells.width)
    if rest:
        raise ValueError(f"the answers are {shift} steps apart, which is not a whole number of cells of {cells.width}")
    coarse: list[list[tuple[Any, mpq]]] = [[], []]
    fine: list[list[tuple[Any, mpq]]] = [[], []]
    for cell in cells.cells:
        one, even, ramp = (mpq(words, 1 << WORD) for words in (cell.each * cells.width, cell.even, cell.ramp))
        ends = law.tail(cell.start, _TAIL_BITS).lower, law.tail(cell.start + cells.width, _TAIL_BITS).upper
        left = max(mpq(ends[0]) - mpq(ends[1]) - one - even - ramp, mpq(0))
        for side in (0, 1):
            place = cell.start // cells.width + side * apart
            coarse[side] += [((place, 1), one), ((place, 3), even + ramp), ((place, MORE), left)]
            side_of_zero = "rising" if cell.start < 0 else "falling"
            fine[side] += [((place, "one"), one), ((place, "even"), even), ((place, side_of_zero), ramp)]
    opened = sum(Fraction(cell.even + cell.ramp, 1 << WORD) for cell in cells.cells)
    inversions = Fraction(int(cells.remaining.numerator), int(cells.remaining.denominator))
    return TableLaws(
        (Law(coarse[0]), Law(coarse[1])), (Law(fine[0]), Law(fine[1])), inversions, Fraction(opened) + inversions
    )

"""Pairs of true answers: 0 and Δ, tiny, large and negative numbers, halves, and places where rounding moves most.

Powers of two are paired with the next number below. All are numbers of the outputs' format, because rounding other
answers to it is not the target's doing.

If answers are rounded to multiples of a unit g, and neighbours move them by s = k·g + r with 0 ≤ r < g, then rounded
answers move by k·g or (k + 1)·g. They move by (k + 1)·g if the answer lies less than r below an edge: an odd multiple
of g/2 for rounding to nearest, a multiple of g for rounding up or down. If r is 0 and k is odd, rounding half to even
moves 0.5·g and (k + 0.5)·g to numbers that are (k + 1)·g apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from attacklab.model.floats import Format, power_of_two_within
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target

_USUAL = ("1", "10", "0.1", "100", "0.5", "0.01", "5", "0.05", "1000", "50", "0.001", "500", "10000", "100000")
UNITS = tuple(map(Fraction, _USUAL))  # numbers to multiples of which answers are often rounded

FINEST, COARSEST = Fraction(1, 8), 1 << 12
"""The units that are tried, in steps: finer ones move an answer little further, coarser ones round all answers alike.
"""
LARGE = (2.0**24, 2.0**53, 1e6, 1e9)  # answers at which formats stop holding every integer, and large round numbers

PRECISIONS = (8, 11, 24)
"""The bits of bfloat16, binary16 and binary32. With p bits, every other integer is rounded from 2^p on."""


def answers_before_edges(step: Fraction) -> Iterator[Fraction]:
    """Yield answers greater than 0 that, when moved up by a step, cross one more edge of rounding than most others.

    Args:
        step: how far neighbours move the answer, greater than 0.
    """
    for unit in UNITS:
        if FINEST * step <= unit <= COARSEST * step:
            whole, rest = divmod(step, unit)
            if rest:
                yield from (unit / 2 - rest / 2, unit - rest / 2)
            elif whole % 2:
                yield unit / 2


def pairs_of_answers(target: Target, released: Format) -> Iterator[NeighbouringPair]:
    """Yield pairs of answers to try.

    Args:
        target: its sensitivity and claim decide which pairs.
        released: the format of its outputs.
    """
    step = target.sensitivity
    for first, second in _pairs(step, step / target.claim.nominal.epsilon, released):
        # A format may have no other number this near.
        if first != second and abs(Fraction(first) - Fraction(second)) <= Fraction(step):
            yield NeighbouringPair.answers(first, second, sensitivity=step)


def _pairs(step: float, scale: float, released: Format) -> Iterator[tuple[float, float]]:
    def apart(first: float) -> tuple[float, float]:
        first = released.at_most(first)
        return first, released.at_most(_at_most_above(first, step))

    power = round(math.log2(scale))
    yield apart(0.0)
    centred = released.at_most(step / 2)
    yield -centred, centred
    edges = [apart(float(answer)) for answer in answers_before_edges(Fraction(step))]
    yield from edges
    yield from (apart(2.0 ** (power + k)) for k in (3, 10, 20, 40, 50))
    yield from ((0.0, released.at_most(tiny)) for tiny in (step * 2.0**-10, step * 2.0**-40, released.least))
    for k in (-4, -2, -1, 0, 1, 2, 4):
        answer = released.at_most(2.0 ** (power + k))
        yield answer, float(released.next_below(released.rounded(np.array([answer])))[0])
    yield from (apart(answer) for answer in (1.0, 0.5, 10.0, 0.1, *LARGE))
    yield from (apart(answer - step) for answer in LARGE if answer > step)
    # 2^p + 2 is held in p bits, and the tie above it is rounded up.
    yield from (apart((2.0**precision + 2) * power_of_two_within(step)) for precision in PRECISIONS)
    mirrored = [apart(0.0), *edges, *(apart(answer) for answer in (1.0, 10.0, *LARGE))]
    yield from ((-first, -second) for first, second in mirrored)


def _at_most_above(answer: float, step: float) -> float:
    """Return the largest double that is at most answer + step in exact arithmetic."""
    above = answer + step
    return above if Fraction(above) - Fraction(answer) <= Fraction(step) else math.nextafter(above, -math.inf)

"""Pairs of true answers: 0 and Δ, tiny, large and negative numbers, halves, and places where rounding moves most.

Powers of two stand beside the next number below. All are numbers of the outputs' format, because rounding other answers
to it is not the target's doing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from attacklab.attacks.black_box.candidate_pairs.rounding import answers_before_edges
from attacklab.floats import Format
from attacklab.neighbours import NeighbouringPair
from attacklab.targets import Target

LARGE = (2.0**24, 2.0**53, 1e6, 1e9)  # answers at which formats stop holding every integer, and large round numbers


def pairs_of_answers(target: Target, released: Format) -> Iterator[NeighbouringPair]:
    """Pairs of answers to try.

    Args:
        target: its sensitivity and claim decide which.
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
        one = released.at_most(2.0 ** (power + k))
        yield one, float(released.next_below(released.rounded(np.array([one])))[0])
    yield from (apart(answer) for answer in (1.0, 0.5, 10.0, 0.1, *LARGE))
    yield from (apart(answer - step) for answer in LARGE if answer > step)
    mirrored = [apart(0.0), *edges, *(apart(answer) for answer in (1.0, 10.0, *LARGE))]
    yield from ((-first, -second) for first, second in mirrored)


def _at_most_above(answer: float, step: float) -> float:
    """The largest double that is above an answer by no more than a step."""
    above = answer + step
    return above if Fraction(above) - Fraction(answer) <= Fraction(step) else math.nextafter(above, -math.inf)

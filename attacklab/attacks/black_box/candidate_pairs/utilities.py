"""Pairs of utilities: many moves, from ties, from one outcome ahead, from evenly spaced utilities and from far below 0.

There are also opposite moves at heights where short formats hold only even numbers of steps, so that utilities 2 steps
apart come out 4 apart, and equal ones stay equal.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from attacklab.attacks.base import Probe, is_dear
from attacklab.model.floats import power_of_two_within
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target

FEW = 8  # up to this many outcomes, all moves are tried from all starts; for more, only those from ties
MANY = 1024  # of more outcomes only opposite moves are tried, and none where an output takes a random word for each

HEIGHTS = (2.0**11, 2.0**24, 2.0**8, 0.0)
"""The heights, in steps, from which binary16, binary32 and bfloat16 hold even numbers only; and 0."""


def pairs_of_utilities(target: Target, probe: Probe, outcomes: Sequence[int]) -> Iterator[NeighbouringPair]:
    """Yield pairs of utilities to try.

    Args:
        target: its sensitivity decides which pairs.
        probe: draws outputs of the target.
        outcomes: the numbers of utilities to try.
    """
    few = [count for count in outcomes if count <= MANY] or outcomes[:1]
    for count in few:
        yield from _moved(count, target.sensitivity, from_ties=True)
        yield from _opposite(count, target.sensitivity)
    for count in few:
        if count <= FEW:
            yield from _moved(count, target.sensitivity, from_ties=False)
    many = [count for count in outcomes if count not in few]
    for count in many if many and not is_dear(probe, np.zeros(max(few))) else ():
        yield from _opposite(count, target.sensitivity)


def _moved(count: int, step: float, *, from_ties: bool) -> Iterator[NeighbouringPair]:
    row = np.arange(count)
    first, last = (np.where(row == place, step, 0.0) for place in (0, count - 1))
    all_ = np.full(count, step)
    halves = np.where(row < count // 2, step, -step)
    moves = (first, -first, 2 * first - all_, all_ - 2 * first, last, halves, all_, -all_)
    ties, exact = np.zeros(count), power_of_two_within(step)
    starts = (ties, exact * first / step, -8 * exact * row, np.where(row == 0, 64 * exact, 0.0), ties - 1024 * exact)
    for start in starts[:1] if from_ties else starts[1:]:
        for move in moves:
            with contextlib.suppress(ValueError):  # a sum of the two may be rounded
                yield NeighbouringPair.utilities(start, start + move, sensitivity=step)


def _opposite(count: int, step: float) -> Iterator[NeighbouringPair]:
    """Yield pairs of one outcome, or half of them, two steps ahead of the others, against equal utilities."""
    exact = power_of_two_within(step)
    for height, ahead in itertools.product(HEIGHTS, (1, count // 2)):
        units = height + np.where(np.arange(count) < ahead, 3.0, 1.0)
        with contextlib.suppress(ValueError):  # beyond the doubles
            yield NeighbouringPair.utilities(exact * units, np.full(count, exact * (height + 2)), sensitivity=step)

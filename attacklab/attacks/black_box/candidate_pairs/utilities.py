"""Pairs of utilities: every way in which they may move together, from ties, from one ahead, from rows and from depths.

Besides, steps of lines on which all utilities fall together, all rise together, or one rises while the rest fall, or
the other way round; down to where e^−x is 0 in every binary format in use. And opposite moves at heights where short
formats hold even numbers of steps only, so that utilities 2 steps apart come out 4 apart, and equal ones stay equal.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from attacklab.attacks.base import Probe, is_dear
from attacklab.attacks.bets import DEEPEST_NATS
from attacklab.attacks.black_box.candidate_pairs.lines import broken_steps
from attacklab.model.floats import Doubles, power_of_two_within
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target

FEW = 8  # up to so many outcomes, all moves are tried from all starts; for more, only those from ties
MANY = 1024  # of more outcomes only opposite moves are tried, and none where an output takes a random word for each

HEIGHTS = (2.0**11, 2.0**24, 2.0**8, 0.0)
"""From how many steps on binary16, binary32 and bfloat16 hold even numbers only; and 0."""


def pairs_of_utilities(target: Target, probe: Probe, outcomes: Sequence[int]) -> Iterator[NeighbouringPair]:
    """Pairs of utilities to try.

    Args:
        target: its sensitivity and claim decide which.
        probe: draws outputs of the target.
        outcomes: the numbers of utilities; lines are searched for the least and the largest of them.
    """
    few = [count for count in outcomes if count <= MANY] or outcomes[:1]
    for place, count in enumerate(few):
        yield from _moved(count, target.sensitivity, from_ties=True)
        yield from _opposite(count, target.sensitivity)
        for end in sorted({min(few), max(few)}) if place == 0 else ():
            yield from _on_lines(target, probe, end)
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
    """One outcome, or half of them, two steps ahead of the others, against all alike; at several heights."""
    exact = power_of_two_within(step)
    for height, ahead in itertools.product(HEIGHTS, (1, count // 2)):
        units = height + np.where(np.arange(count) < ahead, 3.0, 1.0)
        with contextlib.suppress(ValueError):  # beyond the doubles
            yield NeighbouringPair.utilities(exact * units, np.full(count, exact * (height + 2)), sensitivity=step)


def _on_lines(target: Target, probe: Probe, count: int) -> Iterator[NeighbouringPair]:
    # Multiples of a power of two are exact, so consecutive vectors are exactly neighbours.
    gap = power_of_two_within(target.sensitivity)
    nats = target.claim.nominal.epsilon / 2 * (gap / target.sensitivity)
    last = 1 << max(1, math.ceil(math.log2(DEEPEST_NATS / nats)))
    unit, all_ = np.zeros(count), np.ones(count)
    unit[0] = 1.0
    # If all move together, one outcome is ahead, so that not all outcomes are alike.
    for start, direction in ((unit, -all_), (unit, all_), (0 * unit, 2 * unit - all_), (0 * unit, all_ - 2 * unit)):
        line = partial(_on_line, gap=gap, start=start, direction=direction)
        steps = broken_steps(line, last, target.claim.nominal, probe)
        for step in dict.fromkeys((*steps, 0)):
            with contextlib.suppress(ValueError):  # from 2^53 steps on, multiples are rounded
                yield NeighbouringPair.utilities(line(step), line(step + 1), sensitivity=target.sensitivity)


def _on_line(step: int, *, gap: float, start: Doubles, direction: Doubles) -> Doubles:
    return np.asarray(gap * (start + step * direction))

"""Candidate neighbouring pairs for a target that nobody wrote an attack for, by its kind.

For answers: 0 and Δ, 0 and tiny numbers, large numbers, and powers of two beside the next number below. All are numbers
of the outputs' format, because rounding other answers to it is not the target's doing. For means: records at the
bounds, and one more at a bound or far outside; if the claim holds for substitute only, that record replaces another
instead.

For sums and utilities: steps of lines. A line is a family of inputs in which consecutive ones are neighbours. Records
move from one bound to the other, one by one; all utilities fall together, all rise together, or one rises while the
rest fall, or the other way round. One sample at each of 1, 2, 4, 8, … steps shows where the output's law changes by
more than group privacy allows for so many steps. If that is not chance, some single step among them breaks the claim
itself, and bisection looks for it. For utilities the line extends to where e^−x is 0 in every binary format in use.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Probe, as_floats, bounds_of, origin
from attacklab.attacks.common.datasets import ends, on_path
from attacklab.attacks.common.failures import sampled
from attacklab.attacks.common.thresholds import DEEPEST_NATS
from attacklab.bisection import steepest_step
from attacklab.claims import PrivacyClaim, directions
from attacklab.errors import OutsideDomain
from attacklab.floats import Format, format_of, power_of_two_within
from attacklab.neighbours import NeighbouringPair, Relation
from attacklab.targets import Kind, Target

LINE_OUTPUTS = 64
"""How many outputs are drawn at each point of a line."""

BISECTED = 2
"""How many of the intervals of a line are bisected."""

FAR_OUTSIDE = 2.0**20
"""How many widths of the range a record lies outside it, where it should count as the nearer bound."""

SIZES = (1, 2, 16, 256)
"""The numbers of records of means that are tried."""

PATHS = (1, 16, 1024)
"""The numbers of records of sums that are tried, powers of two; a path of n records has n steps from bound to bound."""


def candidate_pairs(target: Target, probe: Probe, outcomes: Iterable[int]) -> Iterator[NeighbouringPair]:
    """Pairs to try on a target of any kind but DATASET.

    Args:
        target: its kind, sensitivity, bounds and claim decide which.
        probe: draws outputs of the target.
        outcomes: the numbers of utilities to try, for selections.

    Returns:
        The pairs; each is exactly a neighbouring pair.
    """
    match target.kind:
        case Kind.NOISE:
            return _of_answers(target, format_of(sampled(probe, origin(target), LINE_OUTPUTS)))
        case Kind.SELECTION:
            return _of_utilities(target, probe, outcomes)
        case Kind.SUM:
            return _of_replaced_records(target, probe)
        case Kind.MEAN:
            return _of_as_many_records(target) if target.relation is Relation.SUBSTITUTE else _of_added_records(target)
        case _:
            raise ValueError(f"pairs of a {target.kind} target must be given: pass pairs=... to BlackBox")


def _of_answers(target: Target, released: Format) -> Iterator[NeighbouringPair]:
    step = target.sensitivity
    scale = step / target.claim.nominal.epsilon
    power = round(math.log2(scale))
    powers = [released.at_most(2.0 ** (power + k)) for k in (-4, -2, -1, 0, 1, 2, 4)]
    large = [released.at_most(2.0 ** (power + k)) for k in (3, 10, 20, 40, 50)]
    firsts = [0.0, -released.at_most(step / 2), *large]
    pairs = [(first, released.at_most(_at_most_above(first, step))) for first in firsts]
    pairs += [(0.0, released.at_most(tiny)) for tiny in (step * 2.0**-10, step * 2.0**-40, released.least)]
    pairs += [(first, float(released.next_below(released.rounded(np.array([first])))[0])) for first in powers]
    for first, second in pairs:
        # A format may have no other number this near.
        if 0 < abs(first - second) <= step:
            yield NeighbouringPair.answers(first, second, sensitivity=step)


def _at_most_above(answer: float, step: float) -> float:
    """The largest double that is above an answer by no more than a step."""
    above = answer + step
    return above if Fraction(above) - Fraction(answer) <= Fraction(step) else math.nextafter(above, -math.inf)


def _of_replaced_records(target: Target, probe: Probe) -> Iterator[NeighbouringPair]:
    near, far = ends(target)
    for size in PATHS:
        line = partial(on_path, near, far, size)
        for step in sorted({0, size // 2, size - 1, *_broken_steps(line, size, target.claim.nominal, probe)}):
            yield NeighbouringPair.records(line(step), line(step + 1), Relation.SUBSTITUTE)


def _of_as_many_records(target: Target) -> Iterator[NeighbouringPair]:
    for size, base, other in _at_bounds(target):
        if other != base:
            records = np.full(size, base)
            yield NeighbouringPair.records(records, np.append(records[1:], other), Relation.SUBSTITUTE)


def _of_added_records(target: Target) -> Iterator[NeighbouringPair]:
    for size, base, added in _at_bounds(target):
        records = np.full(size, base)
        yield NeighbouringPair.records(records, np.append(records, added), Relation.ADD_REMOVE)
    low, high = bounds_of(target)
    for size in SIZES:
        # Chunks of two equal records: with one more record in front, the two records of every chunk differ.
        twos = np.tile([low, low, high, high], -(-size // 4))[:size]
        yield NeighbouringPair.records(twos, np.concatenate([[high], twos]), Relation.ADD_REMOVE)


def _at_bounds(target: Target) -> Iterator[tuple[int, float, float]]:
    """Numbers of records, the bound at which they all lie, and one other record: at either bound or far outside."""
    low, high = bounds_of(target)
    outside = FAR_OUTSIDE * (high - low)
    others = (low, high, low - outside, high + outside)
    yield from itertools.product(SIZES, (low, high), others)


def _of_utilities(target: Target, probe: Probe, outcomes: Iterable[int]) -> Iterator[NeighbouringPair]:
    # Multiples of a power of two are exact, so consecutive vectors are exactly neighbours.
    gap = power_of_two_within(target.sensitivity)
    nats = target.claim.nominal.epsilon / 2 * (gap / target.sensitivity)
    last = 1 << max(1, math.ceil(math.log2(DEEPEST_NATS / nats)))
    for count in outcomes:
        one, all_ = np.zeros(count), np.ones(count)
        one[0] = 1.0
        # If all move together, one outcome is ahead, so that not all outcomes are alike.
        for start, direction in ((one, -all_), (one, all_), (0 * one, 2 * one - all_), (0 * one, all_ - 2 * one)):
            line = partial(_on_line, gap=gap, start=start, direction=direction)
            steps = _broken_steps(line, last, target.claim.nominal, probe)
            for step in sorted({0, *steps}):
                with contextlib.suppress(ValueError):  # from 2^53 steps on, multiples are rounded
                    yield NeighbouringPair.utilities(line(step), line(step + 1), sensitivity=target.sensitivity)


def _on_line(
    step: int, *, gap: float, start: NDArray[np.float64], direction: NDArray[np.float64]
) -> NDArray[np.float64]:
    return gap * (start + step * direction)


def _broken_steps(line: Callable[[int], Any], last: int, claim: PrivacyClaim, probe: Probe) -> list[int]:
    """Steps of a line at which the law seems to change by more than the claim allows."""

    def values(step: int) -> NDArray[np.float64]:
        try:
            outputs = sampled(probe, line(step), LINE_OUTPUTS)
        except OutsideDomain:
            return np.full(LINE_OUTPUTS, -np.inf)
        return np.nan_to_num(as_floats(outputs), nan=-np.inf)

    points = [0, *(1 << power for power in range(last.bit_length()))]
    seen = functools.cache(values)
    for point in points:
        seen(point)

    def excess(low: int, high: int) -> float:
        return _excess(seen(low), seen(high), claim.epsilon * (high - low))

    intervals = sorted(itertools.pairwise(points), key=lambda ends_: -excess(*ends_))
    return [steepest_step(excess, *interval) for interval in intervals[:BISECTED]]


def _excess(first: NDArray[np.float64], second: NDArray[np.float64], epsilon: float) -> float:
    """The largest p − e^ε·q over half-lines and their complements, both ways; p and q are the observed rates."""
    ends_ = np.unique(np.concatenate([first, second]))
    p, q = (np.searchsorted(np.sort(side), ends_, "right") / len(side) for side in (first, second))
    factor = math.exp(min(epsilon, 700.0))
    return float(max((here - factor * there).max() for here, there in directions((p, p), (q, q))))

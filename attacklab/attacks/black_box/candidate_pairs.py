"""Candidate neighbouring pairs for a target that nobody wrote an attack for, by kinds of input; each comes once.

**Answers**: 0 and Δ, tiny, large and negative numbers, halves, and places where rounding moves most. Powers of two are
paired with the next number below. All are numbers of the outputs' format, because rounding other answers to it is not
the target's doing. If answers are rounded to multiples of a unit g, and neighbours move them by s = k·g + r with
0 ≤ r < g, then rounded answers move by k·g or (k + 1)·g. They move by (k + 1)·g if the answer lies less than r below
an edge: an odd multiple of g/2 for rounding to nearest, a multiple of g for rounding up or down. If r is 0 and k is
odd, rounding half to even moves 0.5·g and (k + 0.5)·g to numbers that are (k + 1)·g apart.

**Utilities**: many moves, from ties, from one outcome ahead, from evenly spaced utilities and from far below 0; and
opposite moves at heights where short formats hold only even numbers of steps, so that utilities 2 steps apart come out
4 apart, and equal ones stay equal.

**Records** of sums and means: at every corner of the bounds, outside them, and where rounding shows. Sizes run from
none to a thousand. The record that differs is at the first, the middle or the last position. Under add-remove it comes
or goes; under substitute it replaces another; a claim that names no relation is taken to hold for both, as
`Target.sum` says. Other datasets have the pairs of `domains.shapes`.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

import numpy as np

from attacklab.attacks.base import Probe, adapted_pairs, bounds_of, is_dear, origin
from attacklab.attacks.failures import sampled
from attacklab.model.domains import datasets
from attacklab.model.floats import Format, format_of, power_of_two_within
from attacklab.model.neighbours import NeighbouringPair, Relation, fingerprint
from attacklab.model.targets import Kind, Target

FORMAT_OUTPUTS = 64  # how many outputs show in which format they come


def candidate_pairs(target: Target, probe: Probe, outcomes: Sequence[int], most: int) -> Iterator[NeighbouringPair]:
    """Yield pairs to try on a target: each lies in the target's domain, and none comes twice.

    Args:
        target: its kind, sensitivity, bounds, relation, domain and claim decide which pairs are tried.
        probe: draws outputs of the target.
        outcomes: the numbers of utilities to try, for selections.
        most: the largest number of pairs.

    Returns:
        The pairs; each is exactly a neighbouring pair. Those on which most flaws show come first.
    """
    return itertools.islice(_each_once(adapted_pairs(target, _of_kind(target, probe, outcomes))), most)


def _of_kind(target: Target, probe: Probe, outcomes: Sequence[int]) -> Iterable[NeighbouringPair]:
    match target.kind:
        case Kind.NOISE:
            return pairs_of_answers(target, format_of(sampled(probe, origin(target), FORMAT_OUTPUTS)))
        case Kind.SELECTION:
            return pairs_of_utilities(target, probe, outcomes)
        case Kind.SUM | Kind.MEAN:
            return pairs_of_records(target)
        case _:
            return () if target.domain is None else target.domain.pairs(target.relation)


def _each_once(pairs: Iterable[NeighbouringPair]) -> Iterator[NeighbouringPair]:
    seen = set()
    for pair in pairs:
        sides = frozenset(fingerprint(side) for side in (pair.first, pair.second))
        if sides not in seen:
            seen.add(sides)
            yield pair


_USUAL = ("1", "10", "0.1", "100", "0.5", "0.01", "5", "0.05", "1000", "50", "0.001", "500", "10000", "100000")
UNITS = tuple(map(Fraction, _USUAL))  # numbers to multiples of which answers are often rounded

FINEST, COARSEST = Fraction(1, 8), 1 << 12
"""The least and the largest unit that are tried, in steps. A finer one moves answers hardly further than a step.
A coarser one rounds nearly all answers alike."""
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


FEW = 8  # up to this many outcomes, all moves are tried from all starts; for more, only those from ties
MANY = 1024  # of more outcomes only opposite moves are tried, and none where an output takes a random word for each

HEIGHTS = (2.0**11, 2.0**24, 2.0**8, 0.0)
"""Heights in steps: 0, and those from which binary16, binary32 and bfloat16 hold only even numbers."""


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
    """Yield pairs (u, v) of utilities: in u one outcome, or half of them, is two steps ahead; in v all are equal."""
    exact = power_of_two_within(step)
    for height, ahead in itertools.product(HEIGHTS, (1, count // 2)):
        units = height + np.where(np.arange(count) < ahead, 3.0, 1.0)
        with contextlib.suppress(ValueError):  # beyond the doubles
            yield NeighbouringPair.utilities(exact * units, np.full(count, exact * (height + 2)), sensitivity=step)


SIZES = (0, 1, 15, 255, 4095)  # the numbers of records besides the one that differs
CLAMPED = (15, 0, 1, 2)  # the same where that one lies outside the bounds
HALVES = ((11, 1024), (8, 128))  # the significant bits of binary16 and bfloat16, and how many records double a sum

OUTSIDE = (1.0, 2.0**20, 2.0**-3, 2.0**40)
"""How far outside the bounds a record lies, in widths of their range; it should count as the nearer bound."""

DISTINCT = 8  # how many different records a dataset without repetition has


def pairs_of_records(target: Target) -> Iterator[NeighbouringPair]:
    """Yield pairs of datasets to try on a sum or a mean.

    Args:
        target: its kind, bounds, domain and relation decide which pairs.
    """
    low, high = bounds_of(target)
    families: list[Iterable[datasets.Datasets]] = []
    for by in datasets.RELATIONS if target.relation is None else (target.relation,):
        families += [
            datasets.at_ends((low, high), SIZES, by),
            _outside(low, high, by),
            _before_edges(target, by),
            datasets.at_counts(low, high, 0, datasets.COUNTS[-1] + 1, by),
            datasets.at_places(low, high, datasets.FEW, by),
            datasets.at_places(low, high, 16, by),
            _before_halves(low, high, by),
            datasets.repeated(np.linspace(low, high, DISTINCT).tolist(), by),
        ]
        if low < 0 < high:
            families.append(datasets.at_ends((0.0, low, high), (0, 15), by))
    for first, second, by in datasets.interleaved(*families):
        yield NeighbouringPair.records(np.array(first, dtype=np.float64), np.array(second, dtype=np.float64), by)


def _outside(low: float, high: float, relation: Relation) -> Iterator[datasets.Datasets]:
    """Yield pairs with one record outside the bounds, below and above, near and far, among records at a bound."""
    width = high - low
    for size in CLAMPED:
        for widths in OUTSIDE:
            for outlier, usual in (
                (low - widths * width, low),
                (high + widths * width, high),
                (low - widths * width, high),
                (high + widths * width, low),
            ):
                if math.isfinite(outlier):
                    rest = [usual] * size
                    yield [*rest, outlier], rest if relation is Relation.ADD_REMOVE else [*rest, usual], relation


def _before_halves(low: float, high: float, relation: Relation) -> Iterator[datasets.Datasets]:
    """Yield pairs that differ in a first, large record; after it, a sum in a short format counts small records double.

    Each small record is a little more than half an ulp of a sum as large as the first, so it is rounded up to an ulp.
    """
    near, far = (0.0, max((low, high), key=abs)) if low <= 0 <= high else sorted((low, high), key=abs)
    for bits, size in HALVES:
        little = far * 2.0**-bits * (1 + 2.0 ** (1 - bits))
        if low <= little <= high:
            rest = [little] * size
            yield [far, *rest], rest if relation is Relation.ADD_REMOVE else [near, *rest], relation


def _before_edges(target: Target, relation: Relation) -> Iterator[datasets.Datasets]:
    """Yield pairs of datasets whose sum or mean lies where rounding moves it most when one record changes."""
    low, high = map(Fraction, bounds_of(target))
    if target.kind is Kind.MEAN:
        # Where the number of records changes the mean, no record moves it further than a replaced one does.
        for size in (2, 16) if relation is Relation.SUBSTITUTE else ():
            for mean in answers_before_edges((high - low) / size):
                rest = _filled(mean * size - low, low, high, size - 1)
                yield from _replaced(rest, low, high)
        return
    if relation is Relation.SUBSTITUTE:
        for total in answers_before_edges(high - low):
            for wanted in (total, total - (high - low) - 2 * total):  # the second is the first mirrored
                yield from _replaced(_filled(wanted - low, low, high), low, high)
        return
    for added in filter(None, (high, low)):
        sign = 1 if added > 0 else -1
        for total in answers_before_edges(abs(added)):
            rest = _filled(sign * total, low, high)
            if rest is not None:
                yield [*rest, float(added)], rest, relation


def _replaced(rest: list[float] | None, low: Fraction, high: Fraction) -> Iterator[datasets.Datasets]:
    if rest is not None:
        yield [*rest, float(high)], [*rest, float(low)], Relation.SUBSTITUTE


def _filled(total: Fraction, low: Fraction, high: Fraction, size: int | None = None) -> list[float] | None:
    """Return records within bounds that add up to a total, all but one of them at the bounds; None if none do.

    There are `size` records or, if that is None, as few as possible.
    """
    if size is None:
        reach = high if total > 0 else low
        size = math.ceil(total / reach) if total and total * reach > 0 else 0
    if not (size * low <= total <= size * high and size <= COARSEST):
        return None
    full = min(size, math.floor((total - size * low) / (high - low)))
    records = [float(high)] * full + [float(low)] * (size - full)
    if full < size:
        records[full] = float(total - full * high - (size - full - 1) * low)
    return records

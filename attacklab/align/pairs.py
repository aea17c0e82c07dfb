"""The neighbours that are tried: declared pairs, pairs of the domain, and the worst pairs of floats."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.domains import Domain, Records
from attacklab.model.errors import OutsideDomain, UsageError
from attacklab.model.neighbours import NeighbouringPair, Relation, as_array
from attacklab.model.targets import Kind, Target

LARGE = 2.0**53
"""From here on doubles are further than 1 apart, so that adding a record may change nothing, or twice as much."""

MOST_LISTED = 1 << 10
"""The most pairs of a domain that are listed, to sort them by how their inputs differ."""

MOST_RECORDS = 256
MOST_SUMMED = 1024


def pairs_of(target: Target) -> Iterator[NeighbouringPair]:
    """Yield the pairs to try on a target: its own pairs first, then pairs that fit its domain and kind."""
    yield from target.pairs
    families: list[Iterable[NeighbouringPair]] = []
    if target.domain is not None and target.domain.shape is not None:
        families.append(_by_change(itertools.islice(target.domain.pairs(target.relation), MOST_LISTED)))
    if target.kind in (Kind.SUM, Kind.MEAN) and target.bounds is not None:
        families.append(_records(target, *target.bounds))
    elif target.kind is Kind.NOISE:
        families.append(_answers(target))
    elif target.kind is Kind.SELECTION:
        families.append(_utilities(target))
    for pair in _interleaved(families):
        with contextlib.suppress(OutsideDomain):
            near = target.adapted(pair)
            if target.covers(near):
                yield near


def _interleaved(families: Sequence[Iterable[NeighbouringPair]]) -> Iterator[NeighbouringPair]:
    """Yield one pair of each family in turn, until all have ended."""
    ended = object()
    for row in itertools.zip_longest(*families, fillvalue=ended):
        for pair in row:
            if isinstance(pair, NeighbouringPair):
                yield pair


def _by_change(pairs: Iterable[NeighbouringPair]) -> Iterator[NeighbouringPair]:
    """Yield one pair of each kind in turn. Kinds differ in how many numbers of a vector go up, and how many go down."""
    changes = defaultdict[Any, list[NeighbouringPair]](list)
    for pair in pairs:
        change = None
        if is_numeric(pair) and np.shape(pair.first) == np.shape(pair.second):
            by = as_array(pair.second) - as_array(pair.first)
            change = int((by > 0).sum()), int((by < 0).sum())
        changes[change].append(pair)
    yield from _interleaved(list(changes.values()))


def _records(target: Target, lower: float, upper: float) -> Iterator[NeighbouringPair]:
    """Yield pairs of datasets with records at the bounds and between, of sizes at which sums round or wrap around."""
    relations = (Relation.ADD_REMOVE, Relation.SUBSTITUTE) if target.relation is None else (target.relation,)
    ordinary = Domain(shape=Records(least=1, most=MOST_RECORDS), bounds=(lower, upper)).pairs(target.relation)
    wrapping = [math.ceil(2**bits / abs(upper)) for bits in (7, 15) if 2**bits < MOST_SUMMED * abs(upper)]
    sizes = dict.fromkeys((*wrapping, MOST_SUMMED, MOST_RECORDS - 56))
    many = [
        _changed(np.array([upper] * raised + [lower] * (size - raised)), size - 1, upper, by)
        for size in sizes
        for raised in dict.fromkeys((size - 1, size // 32 - 1, size // 32, size // 2))
        for by in relations
    ]
    unlike = np.array([upper, *([upper * 2.0**-53] * 40), lower])
    worst = [_changed(unlike, place, value, by) for place in (0, 40) for value in (lower, upper) for by in relations]
    yield from _interleaved([ordinary, many, worst])


def _changed(records: NDArray[np.float64], place: int, value: float, by: Relation) -> NeighbouringPair:
    """Pair a dataset with a neighbour: the record at `place` is deleted, or replaced (by `value` if that differs)."""
    if by is Relation.ADD_REMOVE:
        return NeighbouringPair(records, np.delete(records, place), by)
    other = records.copy()
    other[place] = value if records[place] != value else 2 * float(records.mean()) - value
    return NeighbouringPair(records, other, by)


def _answers(target: Target) -> Iterator[NeighbouringPair]:
    for at in (0.0, 1.0, -1.0, 100.0, LARGE):
        for first, second in ((at, at + target.sensitivity), (at + target.sensitivity, at)):
            try:
                yield NeighbouringPair.answers(first, second, sensitivity=target.sensitivity)
            except UsageError:
                continue


def _utilities(target: Target) -> Iterator[NeighbouringPair]:
    step = target.sensitivity
    for base in ([0.0] * 3, [0.0, 5.0, 10.0], [1.0] * 8):
        zeros = np.array(base)
        for moved in (np.eye(len(base))[0], -np.eye(len(base))[0], np.ones(len(base)), 1 - 2 * np.eye(len(base))[0]):
            yield NeighbouringPair(zeros, zeros + step * moved, None)


def is_numeric(pair: NeighbouringPair) -> bool:
    """Whether both inputs are vectors of numbers, or rows of them, which a search can change."""
    return all(
        as_array(side).ndim in (1, 2) and as_array(side).dtype.kind in "iuf" for side in (pair.first, pair.second)
    )

"""Pairs of datasets for sums and means: records at every corner of the bounds, outside them, and where rounding shows.

Sizes run from none to a thousand. The record that differs is at the first, the middle or the last position. Under
add-remove it comes or goes; under substitute it replaces another; a claim that names no relation is taken to hold for
both, as `Target.sum` says.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction

import numpy as np

from attacklab.attacks.base import bounds_of
from attacklab.attacks.black_box.candidate_pairs.answers import COARSEST, answers_before_edges
from attacklab.model.domains import datasets
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Kind, Target

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
    """Yield pairs in which the largest record comes first or not at all, and records follow that a short sum doubles.

    Each of these is a little more than half an ulp of a sum as large as that record, so it is rounded up to an ulp.
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

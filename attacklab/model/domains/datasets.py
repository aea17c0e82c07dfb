"""Datasets of few different values, one record apart: the neighbours on which flaws of statistics and sums show.

Whatever a record is, the same places are worth a look: nothing against something; a record at either end among records
at either end; the first, the middle and the last position; the first, second, third record of a value, where thresholds
lie; and a record that repeats another.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from attacklab.model.neighbours import Relation

Datasets: TypeAlias = tuple[list[Any], list[Any], Relation]
"""Two lists of records, and what makes them neighbours."""

RELATIONS = (Relation.ADD_REMOVE, Relation.SUBSTITUTE)
"""What makes datasets of one record a person neighbours."""

COUNTS = (*range(13), 16, 20, 24, 32, 50, 64, 100, 128, 200, 256, 500, 1000)
"""How many records of a value there are besides the one that is added: thresholds often lie at a few or a round number.
"""

FEW = 3
"""The size of a dataset in which the first, the middle and the last record differ."""


def at_ends(values: Sequence[Any], sizes: Iterable[int], relation: Relation) -> Iterator[Datasets]:
    """Datasets that are all of one value, and a record of any of the values added, or put in place of the last.

    Args:
        values: of records, the usual ones first.
        sizes: how many records there are besides the one that is added, or is replaced.
        relation: add-remove or substitute.
    """
    replaced = relation is Relation.SUBSTITUTE
    for size, usual, added in itertools.product(sizes, values, values):
        if not replaced or added != usual:
            yield [usual] * size + [added], [usual] * (size + replaced), relation


def at_places(low: Any, high: Any, size: int, relation: Relation) -> Iterator[Datasets]:
    """The first, the middle or the last record is another, or one more, among equal, halved and alternating records."""
    halves = [low] * (size // 2) + [high] * (size - size // 2)
    for base in ([low] * size, [high] * size, halves, [low, high] * (size // 2) + [low] * (size % 2)):
        for place in dict.fromkeys((0, size // 2, size - 1)):
            replacement = low if base[place] == high else high
            if relation is Relation.SUBSTITUTE:
                yield [*base[:place], replacement, *base[place + 1 :]], list(base), relation
                continue
            for added in (replacement, base[place]):
                yield [*base[:place], added, *base[place:]], list(base), relation


def at_counts(usual: Any, rare: Any, usual_count: int, most: int, relation: Relation) -> Iterator[Datasets]:
    """One more record of a rare value than there are, among some usual ones: the counts at which thresholds lie.

    Args:
        usual: the value of the usual records.
        rare: the value that is counted.
        usual_count: how many usual records there are.
        most: how many records there may be.
        relation: add-remove or substitute.
    """
    for count in COUNTS:
        if usual_count + count + 1 > most:
            return
        others = [usual] * (usual_count + (relation is Relation.SUBSTITUTE))
        yield [usual] * usual_count + [rare] * (count + 1), others + [rare] * count, relation


def repeated(distinct: Sequence[Any], relation: Relation) -> Iterator[Datasets]:
    """Two pairs: records that are all different against records with one repetition; and the reverse."""
    values = list(distinct)
    if len(values) < FEW:
        return
    if relation is Relation.ADD_REMOVE:
        yield [*values, values[-1]], values, relation
        yield [values[0], *values], values, relation
        yield values, values[:-1], relation
        yield values, values[1:], relation
    else:
        yield [*values[:-1], values[0]], values, relation
        yield [values[-1], *values[1:]], values, relation
        yield [values[0]] * (len(values) - 1) + [values[-1]], [values[0]] * len(values), relation


def interleaved(*families: Iterable[Datasets]) -> Iterator[Datasets]:
    """One of each family in turn, so that a short list has some of all."""
    for turn in itertools.zip_longest(*families):
        yield from (datasets for datasets in turn if datasets is not None)

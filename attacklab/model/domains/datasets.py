"""Datasets of few different values, one record apart: neighbours that show flaws of statistics and sums.

For records of any type, the same neighbours are worth a try: an empty dataset and one record; an extreme record among
extreme records; a change at the first, the middle or the last position; one more record of a value, for each small
count, because thresholds lie there; and a record that repeats another.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from attacklab.model.neighbours import Relation

Datasets: TypeAlias = tuple[list[Any], list[Any], Relation]
"""Two lists of records, and the relation by which they are neighbours."""

RELATIONS = (Relation.ADD_REMOVE, Relation.SUBSTITUTE)
"""The relations for datasets with one record a person."""

COUNTS = (*range(13), 16, 20, 24, 32, 50, 64, 100, 128, 200, 256, 500, 1000)
"""How many records have the rare value before one is added. Thresholds often lie at small or round numbers."""

FEW = 3
"""The smallest number of records for which the first, the middle and the last are three records."""


def at_ends(values: Sequence[Any], sizes: Iterable[int], relation: Relation) -> Iterator[Datasets]:
    """Yield pairs of datasets: equal records and one last record of any of the values, against equal records only.

    Args:
        values: the values of records, the usual ones first.
        sizes: the numbers of records besides the one that is added or replaced.
        relation: add-remove or substitute.
    """
    replaced = relation is Relation.SUBSTITUTE
    for size, usual, added in itertools.product(sizes, values, values):
        if not replaced or added != usual:
            yield [usual] * size + [added], [usual] * (size + replaced), relation


def at_places(low: Any, high: Any, size: int, relation: Relation) -> Iterator[Datasets]:
    """Yield pairs: a dataset of `low` and `high`, changed or extended at its start, middle or end, and unchanged."""
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
    """Yield pairs of datasets with count + 1 and with count records of a rare value, for each count in `COUNTS`.

    Args:
        usual: the value of the usual records.
        rare: the value that is counted.
        usual_count: the number of usual records, if a dataset has room for them.
        most: the largest number of records of a dataset.
        relation: add-remove or substitute.
    """
    for count in filter(most.__gt__, COUNTS):
        others = [usual] * min(usual_count, most - count - 1)
        replaced = [usual] * (relation is Relation.SUBSTITUTE)
        yield others + [rare] * (count + 1), others + replaced + [rare] * count, relation


def repeated(distinct: Sequence[Any], relation: Relation) -> Iterator[Datasets]:
    """Yield datasets one record apart whose records are all different, or in which one value repeats."""
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
    """Yield one pair of datasets from each family in turn, so that the first few come from all families."""
    for turn in itertools.zip_longest(*families):
        yield from (datasets for datasets in turn if datasets is not None)

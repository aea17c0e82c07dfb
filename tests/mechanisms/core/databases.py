"""All small databases, and pairs of neighbours among them."""

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement
from typing import Any


def databases(records: Sequence[Any], most: int) -> list[tuple[Any, ...]]:
    """Every database of up to so many of the records, as a multiset."""
    return [x for size in range(most + 1) for x in combinations_with_replacement(records, size)]


def one_more(records: Sequence[Any], most: int) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Every pair of databases of up to so many of the records of which the second has one more."""
    for x in databases(records, most - 1):
        for record in records:
            yield x, tuple(sorted((*x, record)))


def one_replaced(records: Sequence[Any], size: int) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Every pair of databases of so many of the records that differ in one."""
    for x in combinations_with_replacement(records, size - 1):
        for first in records:
            for second in records:
                if first < second:
                    yield tuple(sorted((*x, first))), tuple(sorted((*x, second)))

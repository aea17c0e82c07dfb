"""Counts of pairs: of records that agree, and of predictions by two records each.

A record agrees with any number of others, so one record more moves the number of agreeing pairs by up to n. How many
records have each value moves by 1, and the pairs follow from it. A record that is paired by its rank, or by halves of a
list, moves the pairs of others. One that is paired by its public place is in one pair, and moves that.

Arguments are those of `mechanisms.summation.exact`. Sources: McSherry 2009, 'Privacy Integrated Queries', section 4.2;
OpenDP, issue 2950, on pairs by halves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mechanisms.core.column import Column
from mechanisms.core.compose import Mapped
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.core.noisy import noisy
from mechanisms.core.numbers import Number, positive, rational
from mechanisms.core.records import CountFrom, Histogram
from mechanisms.core.term import Relation


@dataclass(frozen=True)
class AgreeingPairs:
    """Released counts, shape (..., cells): how many pairs agree; the variance of each count's noise is taken off."""

    variance: float

    def __call__(self, counts: Any) -> Any:
        """Return the number of pairs, without bias, shape (...)."""
        return ((counts * (counts - 1) - self.variance) / 2).sum(axis=-1)


def exact_agreeing_pairs(*, epsilon: Number, cells: Iterable[Hashable], relation: Relation = "add-remove") -> Mapped:
    """Return the number of pairs of records of one public cell; the noise is on the counts, one record moves one by 1.

    A relation that replaces a record moves two counts.
    """
    query, loss = Histogram(tuple(cells), relation), positive("epsilon", epsilon)
    ratio = math.exp(-float(loss / query.stability))
    return Mapped(noisy(query, DiscreteLaplace, loss), AgreeingPairs(2 * ratio / (1 - ratio) ** 2))


def pairs_by_place(places: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return the pairs of neighbouring public places, each in one, an even number; who is absent leaves None."""
    return list(zip(places[::2], places[1::2], strict=True))


def predictions_from(*, bound: Number, predict: Callable[[tuple[Any, Any]], Number]) -> Column:
    """Return how many pairs predict at least a bound; pairs are its records, and one of them is replaced.

    Args:
        bound: the bound.
        predict: a public function of a pair; a pair on which it raises, such as one with None, is not counted.
    """
    return Column(CountFrom(rational("bound", bound), "substitute"), predict)

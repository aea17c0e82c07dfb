"""A column: one number of each record, by a public function of that record alone.

Source: McSherry 2009, 'Privacy Integrated Queries', section 4.2 (Select: a map of records has stability 1).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from mechanisms.core.grid import Grid
from mechanisms.core.numbers import Number, exact
from mechanisms.core.records import CountFrom, Total
from mechanisms.core.term import Query, Relation


@dataclass(frozen=True)
class Column(Query[int]):
    """A query on one number of each record.

    The function is called with one record at a time. So a database with one record more has a column with one number
    more, and one with another record a column with another number: neighbours stay neighbours, for any number of
    records, and the column moves the query as far as records do. Where the function raises, or returns what is not a
    number by its type, the number is NaN, which a total counts as its lower bound and a count leaves out.

    Args:
        query: a total or a count of numbers.
        number: the function. It depends on its argument alone, keeps no state and prints nothing; its warnings are
            dropped.
    """

    query: Total | CountFrom
    number: Callable[[Any], Number]

    def __post_init__(self) -> None:
        if not isinstance(self.query, Total | CountFrom):
            raise TypeError(
                f"a column is added up or counted, by Total or CountFrom, not by {type(self.query).__name__}"
            )

    @property
    def relation(self) -> Relation:
        """The relation of the query."""
        return self.query.relation

    @property
    def grid(self) -> Grid:
        """The grid of the query."""
        return self.query.grid

    @property
    def stability(self) -> int:
        """The stability of the query."""
        return self.query.stability

    def of(self, data: Iterable[Any]) -> int:
        """Return the query's value for the column."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.query.of([self._number(record) for record in data])

    def _number(self, record: Any) -> Number:
        try:
            number = self.number(record)
            exact("number", number)
        except KeyboardInterrupt:
            raise
        except BaseException:  # whatever the function raises tells of the record
            return math.nan
        return number

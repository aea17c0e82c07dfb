"""A column: a public function turns each record into one number.

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
    """A total or a count of one number of each record.

    The function is called with one record at a time. So adding, removing or replacing a record adds, removes or
    replaces one number. Neighbouring databases have neighbouring columns, and the stability is the query's. If the
    function raises, or returns a value whose type is not a number's, the number is NaN. A total counts NaN as its
    lower bound, and a count leaves it out.

    Args:
        query: the total or the count of the numbers.
        number: the function from a record to its number. It depends on the record alone, keeps no state and prints
            nothing; its warnings are dropped.
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

"""A column moves a query as far as records do, whatever its function returns or raises."""

from __future__ import annotations

import functools
import math
import warnings
from fractions import Fraction
from typing import Any

import pytest

from mechanisms.core.column import Column
from mechanisms.core.grid import Grid
from mechanisms.core.records import CountFrom, Total
from mechanisms.core.term import encoded
from tests.statistical.mechanisms.core.test_records import RELATIONS, farthest, neighbours

VALUES = ("bread", 3.5, None, True, -1)


def odd(record: Any) -> Any:
    """Answer in every way that a function of a record can."""
    warnings.warn("tells of the record", stacklevel=1)
    if record is None:
        raise ValueError("tells of the record")
    return {"bread": "not a number", 3.5: Fraction(7, 3), True: math.inf, -1: -0.25}[record]


@pytest.mark.parametrize("relation", RELATIONS)
def test_no_neighbour_moves_a_column_beyond_its_stability(relation: Any) -> None:
    total = Total(Fraction(-1), Fraction(3), Grid(-2), relation)
    for query in (Column(total, odd), Column(CountFrom(Fraction(0), relation), odd)):
        assert farthest(query, neighbours(VALUES, 3, relation)) == query.stability


TYPED = (1, True, 1.0, Fraction(1), "1", (1,), 2)


def by_type(record: Any) -> Any:
    """Tell apart records that are equal."""
    return {int: 3, bool: 5, float: 2, Fraction: 4}.get(type(record), 9)


@pytest.mark.parametrize("relation", RELATIONS)
def test_equal_records_count_each_time_and_equal_ones_of_two_types_are_two(relation: Any) -> None:
    """All bounds are above 0, so that a record that is lost or taken for another one shows."""
    query = Column(Total(Fraction(2), Fraction(5), Grid(0), relation), by_type)
    for pair in neighbours(TYPED, 2, relation):
        values = [sum(min(by_type(record), 5) for record in records) for records in pair]
        assert [query.of(records) for records in pair] == values
        assert abs(values[0] - values[1]) <= query.stability


@functools.cache
def cached(record: Any) -> int:
    return int(type(record) is bool)


def test_a_function_that_keeps_what_it_returned_gets_no_certificate() -> None:
    """For a cache 1.0 and True are one record, so that one would decide what the other one counts as."""
    with pytest.raises(TypeError, match="without its cache"):
        encoded(Column(CountFrom(), cached))

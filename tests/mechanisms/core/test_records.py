"""Queries: each value is its definition's, in rational numbers, and no neighbour moves it beyond its stability."""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from attacklab.model.random_bits import SeededBits
from mechanisms.core.grid import LIMIT, Grid
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.core.noisy import noisy
from mechanisms.core.records import Answer, Count, CountFrom, Counts, Histogram, Total
from mechanisms.core.sample import FixedSample, PoissonSample
from mechanisms.core.term import Query

EITHER = "add-remove or substitute"
RELATIONS = ("add-remove", "substitute", EITHER)
VALUES = (-3.0, -0.3, 0.0, 0.25, 0.49999999999999994, 0.75, 1.0, 7.0, math.nan, math.inf, -math.inf)


def neighbours(values: tuple[Any, ...], size: int, relation: str) -> Iterator[tuple[list[Any], list[Any]]]:
    """All pairs of neighbours with up to so many records of these values."""
    for count in range(size + 1):
        for records in product(values, repeat=count):
            for place in range(count):
                rest = [*records[:place], *records[place + 1 :]]
                if relation != "substitute":
                    yield list(records), rest
                if relation != "add-remove":
                    for value in values:
                        yield list(records), [*records[:place], value, *records[place + 1 :]]


def farthest(query: Query[Any], pairs: Iterator[tuple[list[Any], list[Any]]]) -> int:
    """How far the query moves between any of these neighbours, at the most."""
    values: dict[str, Any] = {}

    def of(records: list[Any]) -> Any:
        key = repr(records)
        if key not in values:
            values[key] = np.atleast_1d(query.of(records))
        return values[key]

    return max(int(np.abs(of(first) - of(second)).sum()) for first, second in pairs)


TOTALS = [
    (Fraction(-1, 2), Fraction(1), False, {"add-remove": 4, "substitute": 6, EITHER: 6}),
    (Fraction(1, 2), Fraction(1), False, {"add-remove": 4, "substitute": 2, EITHER: 4}),
    (Fraction(1, 2), Fraction(1), True, {"add-remove": 2, "substitute": 2, EITHER: 2}),
    (Fraction(-2), Fraction(-1), False, {"add-remove": 8, "substitute": 4, EITHER: 8}),
    (Fraction(1, 16), Fraction(17, 16), True, {"add-remove": 4, "substitute": 4, EITHER: 4}),
]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("lower", "upper", "above", "stabilities"), TOTALS)
def test_a_total_moves_by_its_stability_and_no_further(
    lower: Fraction, upper: Fraction, above: bool, stabilities: dict[str, int], relation: Any
) -> None:
    query = Total(lower, upper, Grid(-2), relation, above)
    assert query.stability == stabilities[relation]
    assert farthest(query, neighbours(VALUES, 2, relation)) == stabilities[relation]


@pytest.mark.parametrize(("lower", "upper", "above", "_"), TOTALS)
def test_a_total_is_the_sum_of_records_that_are_clamped_and_rounded(
    lower: Fraction, upper: Fraction, above: bool, _: Any
) -> None:
    query, origin = Total(lower, upper, Grid(-2), "add-remove", above), lower if above else Fraction(0)
    for records in product(VALUES, repeat=3):
        kept = [
            lower if math.isnan(x) else Fraction(min(max(x, float(lower)), float(upper)))
            if abs(x) == math.inf else min(max(Fraction(x), lower), upper)
            for x in records
        ]  # fmt: skip
        expected = sum(math.floor((x - origin) * 4 + Fraction(1, 2)) for x in kept)
        assert query.of(list(records)) == expected
        assert query.of(np.array(records)) == expected


@pytest.mark.parametrize("size", [2**k + d for k in (8, 15, 16, 20) for d in (-1, 0, 1)])
def test_totals_and_counts_of_many_records_are_exact(size: int) -> None:
    widest = Total(-(2**53), 2**53, Grid(0))
    for sign in (1, -1):
        assert widest.of(np.full(size, sign * 2.0**53)) == sign * size * 2**53
    records = np.arange(size, dtype=np.float64)
    assert Total(0, 2**21, Grid(0)).of(records) == size * (size - 1) // 2
    assert Total(0, 2**21, Grid(-1)).of(records) == size * (size - 1)
    assert Count().of(records) == size
    if size < 2**17:  # it takes long
        assert CountFrom(size - 3).of(records) == 3


def test_an_answer_moves_by_the_sensitivity_rounded_up() -> None:
    for sensitivity, steps in ((1, 4), (Fraction(1, 4), 1), (0.3, 2), (1e-9, 1)):
        query = Answer(sensitivity, Grid(-2))
        assert query.stability == steps
        below_ties = [Fraction(tie, 8) - Fraction(1, 10**12) for tie in range(-9, 9, 2)]
        far = max(abs(query.of(x) - query.of(x + Fraction(sensitivity))) for x in below_ties)
        assert far == steps
    assert Answer(1, Grid(0)).of(math.inf) == LIMIT
    assert Answer(1, Grid(0)).of_each([0.5, 2]).tolist() == [1, 2]


@pytest.mark.parametrize("relation", RELATIONS)
def test_counts_move_by_one_record(relation: Any) -> None:
    histogram, count, yes = Histogram(("a", "b"), relation), Count(relation), CountFrom(Fraction(1, 2), relation)
    expected = {"add-remove": (1, 1, 1), "substitute": (2, 0, 1), EITHER: (2, 1, 1)}[relation]
    assert (histogram.stability, count.stability, yes.stability) == expected
    assert farthest(histogram, neighbours(("a", "b", "c"), 3, relation)) == expected[0]
    assert farthest(count, neighbours((0, 1), 3, relation)) == expected[1]
    assert farthest(yes, neighbours((0, 1, math.nan), 3, relation)) == expected[2]


def test_histograms_count_every_cell_in_its_place() -> None:
    assert Histogram(("b", "a", "z")).of(["a", "b", "a", "q"]).tolist() == [1, 2, 0]
    size = 2**16 + 1
    counted = Histogram(tuple(range(size))).of([0, size - 1, size - 1])
    assert (counted[0], counted[-1], counted.sum()) == (1, 2, 3)
    assert Histogram(("a",)).of(["a"] * size).tolist() == [size]
    assert Counts().of([3, 2.0, 10**30]).tolist() == [3, 2, LIMIT]


@pytest.mark.parametrize("form", [list, np.array])
def test_a_sum_that_no_double_holds_is_exact(form: Any) -> None:
    assert Total(0, 2**53, Grid(0)).of(form([2**53, 1])) == 2**53 + 1
    assert Total(-(2**53), 2**53, Grid(0)).of(form([2.0**53] * 3 + [1.0, -1.0, 1.0])) == 3 * 2**53 + 1


@pytest.mark.parametrize("size", [2**8 + 1, 2**15 + 1, 2**16 + 1])
def test_large_data_are_sampled_whole(size: int) -> None:
    """By Hoeffding a count is off by 6·√size with a probability below 1e-31."""
    poisson = PoissonSample(noisy(CountFrom(), DiscreteLaplace, 64), Fraction(1, 2)).release(
        [1] * size, SeededBits(size)
    )
    assert abs(poisson - size / 2) < 6 * math.sqrt(size)
    fixed = noisy(CountFrom(1, "substitute"), DiscreteLaplace, 64)
    assert FixedSample(fixed, size - 1, size).release([1] * size, SeededBits(size)) == size - 1

"""One person moves one chunk's answer, and one record one number of a column, whatever the functions do."""

import functools
import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product
from typing import Any, Literal

import numpy as np
import pytest

from mechanisms.core.chunks import ChunkTotal
from mechanisms.core.column import Column
from mechanisms.core.grid import Grid
from mechanisms.core.records import CountFrom, Total
from mechanisms.core.term import encoded
from tests.mechanisms.core.test_records import RELATIONS, farthest, neighbours

Statistic = Callable[[np.ndarray], Any]
ROUNDED = (3.0, 2.0**54, -(2.0**54), 0.7, 0.0, -0.0, math.nan)
"""Values whose floating-point sum depends on their order, zeros that are equal and differ, and none."""
SIZES = [size + more for size in (2**8, 2**15, 2**16) for more in (-1, 0, 1)]


def query(statistic: Statistic = np.max, chunks: int = 2, width: int = 2, grid: Grid = Grid(0)) -> ChunkTotal:  # noqa: B008
    return ChunkTotal(statistic, chunks, b"public", Fraction(0), Fraction(width), grid)


def unruly(values: np.ndarray) -> float:
    """A statistic that fails on some databases and escapes the range on others."""
    if values.sum() == 2:
        raise RuntimeError("two")
    return 1e300 * float(values.prod()) if len(values) > 1 else float(values[0]) - 1


@pytest.mark.parametrize("statistic", [np.max, np.mean, unruly])
def test_one_person_with_all_their_records_moves_the_total_by_the_stability_and_some_do(statistic: Statistic) -> None:
    people = ["Ada", "Bo", "Cy"]
    chunks = query(statistic)
    assert {chunks.chunk_of(person) for person in people} == {0, 1}
    choices: list[tuple[int, ...]] = [(), (0,), (1,), (2,), (0, 2)]  # absent, one record, or two
    totals = {
        holdings: chunks.of([(p, value) for p, held in zip(people, holdings, strict=True) for value in held])
        for holdings in product(choices, repeat=3)
    }
    moves = {
        abs(totals[x] - totals[(*x[:place], (), *x[place + 1 :])]) for x in totals for place in range(3) if x[place]
    }
    assert max(moves) <= chunks.stability == 2
    assert max(moves) >= 1


def test_one_record_without_a_person_moves_the_total_by_the_stability_at_most_in_any_order() -> None:
    records = [0.0, -0.0, 0.5, 2, math.nan, math.inf, 10**400, Fraction(1, 3)]
    total = replace(query(np.mean, chunks=3, width=4, grid=Grid(-4)), named=False)
    moves = set()
    for size in range(4):
        for x in combinations_with_replacement(records, size):
            here = total.of(x)
            assert {total.of(order) for order in permutations(x)} == {here}
            moves |= {abs(total.of([*x, record]) - here) for record in records}
    assert 32 < max(moves) <= total.stability == 64


@pytest.mark.parametrize("statistic", [np.mean, np.sum, lambda values: float(np.sign(1 / values[0]))])
def test_the_order_of_records_and_the_sign_of_zero_reach_no_statistic(statistic: Statistic) -> None:
    """Another person's answer stays the same, bit for bit, in whatever order the records are."""
    ada, bo = "Ada", "Cy"
    chunks = query(statistic, width=32, grid=Grid(-4))
    hers = chunks.chunk_of(ada)
    assert chunks.chunk_of(bo) != hers
    for values in combinations_with_replacement(ROUNDED, 3):
        with np.errstate(all="ignore"):
            alone = {chunks.of([(bo, value) for value in order]) for order in permutations(values)}
        assert len(alone) == 1, values
        (total,) = alone
        # Ada's chunk was empty and answered the middle, 16; now it answers what hers alone is
        assert chunks.of([(ada, 3.0), *((bo, value) for value in values)]) - total == chunks.of(
            [(ada, 3.0)]
        ) - chunks.of([])


def raising(error: type[BaseException]) -> Statistic:
    def statistic(_: np.ndarray) -> Any:
        raise error

    return statistic


FAILING: list[tuple[Statistic, int]] = [
    *((raising(error), 256) for error in (SystemExit, MemoryError, GeneratorExit, KeyError)),
    *((lambda _, it=it: it, 256) for it in ("five", None, np.ma.masked, [1.0, 2.0], np.longdouble(1))),
    *((lambda _, it=it: it, steps) for it, steps in ((np.float64(0), 0), (10**400, 512), (Fraction(1, 3), 5))),
    (lambda _: warnings.warn("two", RuntimeWarning, stacklevel=1) or 0.0, 0),
    (lambda _: float(np.log(np.array([0.0]))[0]), 0),
    (lambda values: float((values * 1e308 * 10).sum()), 512),
]
"""Statistics, and what their chunk answers between 0 and 32 in steps of 1/16: 256 is the middle."""


@pytest.mark.parametrize("action", ["error", "always"])
def test_whatever_a_statistic_does_nothing_but_a_chunks_answer_shows_it(
    action: Literal["error", "always"], capfd: pytest.CaptureFixture[str]
) -> None:
    for statistic, steps in FAILING:
        with warnings.catch_warnings(record=True) as shown, np.errstate(all="raise" if action == "error" else "warn"):
            warnings.simplefilter(action)
            total = query(statistic, chunks=1, width=32, grid=Grid(-4)).of([("Ada", 1.0)])
        assert (total, shown) == (steps, [])
    assert capfd.readouterr() == ("", "")


def test_chunks_are_those_of_a_keyed_hash_that_others_can_compute() -> None:
    """Python: int.from_bytes(hashlib.blake2b(name, digest_size=16, key=b"public").digest()) mod 600."""
    chunks = ChunkTotal(np.mean, 600, b"public", Fraction(0), Fraction(1), Grid(0))
    assert [chunks.chunk_of(name) for name in ("Ada", "", "17.0, number 3", "\ud800")] == [445, 523, 445, 516]


@pytest.mark.parametrize("size", SIZES)
def test_no_person_is_lost_at_any_size(size: int) -> None:
    count = query(lambda values: Fraction(len(values)), chunks=3, width=2**30)
    assert count.of((str(person), 0.0) for person in range(size)) == size
    assert replace(count, named=False).of(np.arange(size)) == size


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

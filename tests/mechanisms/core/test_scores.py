"""Utilities: given ones, ranks and distances are what the formula says, and move by the sensitivity at most."""

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from mechanisms.core.distances import Distances
from mechanisms.core.grid import Grid
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.core.noisy import Noisy
from mechanisms.core.ranks import RankScores
from mechanisms.core.scores import utilities
from tests.mechanisms.core.databases import one_more

QUERY = utilities(2, (-1, 3), monotone=True)
VALUES = [-7.0, -1.0, 0.5, 3.0, 3.5, math.inf, -math.inf, math.nan]
KEPT = [-1.0, -1.0, 0.5, 3.0, 3.0, 3.0, -1.0, -1.0]


def test_doubles_stay_doubles_and_everything_else_is_exact() -> None:
    for given in (VALUES, np.array(VALUES)):
        kept = QUERY.of(given)
        assert isinstance(kept, np.ndarray)
        assert (kept.dtype, kept.tolist()) == (np.dtype(np.float64), KEPT)
    assert QUERY.of([Fraction(1, 3), 7, math.nan]) == [Fraction(1, 3), 3, -1]
    third = utilities(1, (Fraction(1, 3), 1)).of([0.0, 0.5])
    assert third == [Fraction(1, 3), Fraction(1, 2)]


def test_negative_integers_that_no_double_holds_stay_what_they_are() -> None:
    assert list(map(Fraction, utilities().of(np.array([-(2**53) - 1, 0])))) == [-(2**53) - 1, 0]


def test_utilities_take_no_noise_of_a_single_number() -> None:
    with pytest.raises(TypeError, match="RankScores gives utilities"):
        Noisy(RankScores(Fraction(1, 2), Fraction(0), Fraction(9), Grid(0)), DiscreteLaplace(Fraction(1)))


QUANTILES = (Fraction(0), Fraction(1, 2), Fraction(3, 4), Fraction(1, 10), Fraction(1))
SIZES = [size + more for size in (2**8, 2**15, 2**16, 2**20) for more in (-1, 0, 1)]


def scores(quantile: Fraction, first: float = 0, last: float = 3, grid: Grid = Grid(0)) -> RankScores:  # noqa: B008
    return RankScores(quantile, Fraction(first), Fraction(last), grid)


def distance(records: list[Any], candidate: float, quantile: Fraction) -> int:
    """q·|rank − α·n|, where records that equal the candidate are left out of the count."""
    below = sum(1 for record in records if record < candidate)
    above = sum(1 for record in records if record > candidate)
    return abs(int(quantile.denominator * (below - quantile * (below + above))))


@pytest.mark.parametrize("quantile", QUANTILES)
def test_the_utility_is_the_distance_in_rank(quantile: Fraction) -> None:
    values = [0.0, 0.5, 1.0, 1.0 + 2**-52, 3.0]
    for size in range(4):
        for records in map(list, product(values, repeat=size)):
            expected = [-distance(records, float(candidate), quantile) for candidate in range(4)]
            assert scores(quantile).of(records).tolist() == expected
            assert scores(quantile).of(np.array(records)).tolist() == expected


@pytest.mark.parametrize("quantile", QUANTILES)
def test_one_record_moves_utilities_by_the_sensitivity_at_most_and_some_by_as_much(quantile: Fraction) -> None:
    query, records = scores(quantile), [-math.inf, 0.0, 0.5, Fraction(5, 3), 2, 3.0, 2**70]
    moves = {float(np.abs(query.of(more) - query.of(fewer)).max()) for fewer, more in one_more(records, 4)}
    moves |= {float(np.abs(query.of([*fewer, math.nan]) - query.of(fewer)).max()) for fewer, _ in one_more([0, 3], 3)}
    assert max(moves) == query.sensitivity == max(quantile.numerator, quantile.denominator - quantile.numerator)


def test_integers_and_fractions_are_compared_as_they_are() -> None:
    """A fraction just above 1 is not a double; rounded, it would equal a candidate."""
    query = scores(Fraction(1, 2), 2**53 - 2, 2**53, Grid(1))
    assert query.of([2**53 - 1]).tolist() == query.of(np.array([2**53 - 1])).tolist() == [-1.0, -1.0]
    query = scores(Fraction(1, 2), 0, 2, Grid(0))
    assert query.of([1 + Fraction(1, 10**30)]).tolist() == [-1.0, -1.0, -1.0]
    assert query.of([1]).tolist() == query.of(np.array([1], dtype=np.uint64)).tolist() == [-1.0, 0.0, -1.0]


@pytest.mark.parametrize("size", SIZES)
def test_no_record_is_lost_at_any_size(size: int) -> None:
    records = np.zeros(size)
    records[-1] = 3.0
    utilities = scores(Fraction(1, 2)).of(records)
    assert utilities.tolist() == [-1.0, -(size - 2.0), -(size - 2.0), -(size - 1.0)]
    assert utilities.dtype == np.float64


DISTANCES = Distances(Fraction(1), Fraction(-1), Fraction(2), Grid(-1))
"""−1, −½, …, 2."""


@pytest.mark.parametrize(
    ("answer", "centre"),
    [(0.3, Fraction(0.3)), (-math.inf, -1), (math.nan, -1), (9, 2), (10**400, 2), (Fraction(1, 3), Fraction(1, 3))],
)
def test_utilities_are_minus_the_distances_from_the_clamped_answer(answer: Any, centre: Fraction) -> None:
    assert DISTANCES.of(answer) == [-abs(centre - Fraction(step, 2)) for step in range(-2, 5)]


def test_utilities_lie_in_their_range_and_move_by_no_more_than_the_answer_and_not_in_one_direction() -> None:
    answers = [Fraction(tenth, 10) for tenth in range(-15, 26)]
    directions = set()
    for one, other in product(answers, answers):
        moves = [b - a for a, b in zip(DISTANCES.of(one), DISTANCES.of(other), strict=True)]
        assert max(map(abs, moves)) <= abs(one - other)
        assert all(DISTANCES.lower <= utility <= DISTANCES.upper for utility in DISTANCES.of(one))
        directions.add((min(moves) < 0, max(moves) > 0))
    assert (True, True) in directions
    assert not DISTANCES.monotone

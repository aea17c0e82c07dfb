"""Distances to an answer are exact, move by no more than the answer, and make a Laplace mechanism of a selection."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import pytest

from mechanisms.core.distances import Distances
from mechanisms.core.grid import Grid
from mechanisms.core.select_dyadic import SelectBase2
from tests.unit.mechanisms.enumeration import law_of

QUERY = Distances(Fraction(1), Fraction(-1), Fraction(2), Grid(-1))
"""−1, −½, …, 2."""


@pytest.mark.parametrize(
    ("answer", "centre"),
    [(0.3, Fraction(0.3)), (-math.inf, -1), (math.nan, -1), (9, 2), (10**400, 2), (Fraction(1, 3), Fraction(1, 3))],
)
def test_utilities_are_minus_the_distances_from_the_clamped_answer(answer: Any, centre: Fraction) -> None:
    assert QUERY.of(answer) == [-abs(centre - Fraction(step, 2)) for step in range(-2, 5)]


def test_utilities_lie_in_their_range_and_move_by_no_more_than_the_answer_and_not_in_one_direction() -> None:
    answers = [Fraction(tenth, 10) for tenth in range(-15, 26)]
    directions = set()
    for one, other in product(answers, answers):
        moves = [b - a for a, b in zip(QUERY.of(one), QUERY.of(other), strict=True)]
        assert max(map(abs, moves)) <= abs(one - other)
        assert all(QUERY.lower <= utility <= QUERY.upper for utility in QUERY.of(one))
        directions.add((min(moves) < 0, max(moves) > 0))
    assert (True, True) in directions
    assert not QUERY.monotone


def test_a_selection_by_distances_decays_by_the_same_factor_at_every_step() -> None:
    law = law_of(
        partial(SelectBase2(Distances(Fraction(2), Fraction(0), Fraction(10), Grid(1)), Fraction(3, 4)).release, 6)
    )
    weights = {place: Fraction(3, 4) ** abs(place - 3) for place in range(6)}
    assert law == {place: weight / sum(weights.values()) for place, weight in weights.items()}

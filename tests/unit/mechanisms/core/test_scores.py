"""Given utilities: what is an array stays one, what is exact stays exact, and everything is brought into the range."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from mechanisms.core.scores import Utilities, utilities

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


@pytest.mark.parametrize(
    ("given", "are_doubles"),
    [
        ([0, 2**53], True),
        ([-(2**53), 1], True),
        ([0, 2**53 + 1], False),
        ([-(2**53) - 1, 0], False),
        ([2**63 - 1], False),
    ],
)
def test_integers_are_doubles_as_far_as_that_is_exact(given: list[int], are_doubles: bool) -> None:
    kept = Utilities().of(np.array(given))
    assert isinstance(kept, np.ndarray) is are_doubles
    assert [int(each) for each in kept] == given


def test_rows_are_an_array_of_two_dimensions_if_they_are_doubles() -> None:
    for rows in ([VALUES[:4], VALUES[4:]], np.array(VALUES).reshape(2, 4)):
        kept = QUERY.of_each(rows)
        assert isinstance(kept, np.ndarray)
        assert kept.tolist() == [KEPT[:4], KEPT[4:]]
    assert QUERY.of_each(np.array([[2, 9], [-5, 0], [1, 1]])).tolist() == [[2, 3], [-1, 0], [1, 1]]
    large = np.array([[2**53 + 1, 0, 1], [5, 2**53 + 3, 2]])
    assert Utilities().of_each(large) == large.tolist()
    mixed = QUERY.of_each([[0.5, 1.0], [Fraction(1, 3), 2]])
    assert mixed == [[Fraction(1, 2), 1], [Fraction(1, 3), 2]]
    assert QUERY.of_each([]) == []
    assert QUERY.of_each(np.zeros((0, 3))).shape == (0, 3)

"""No person moves the rounded mean by more than its local sensitivity."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement

import pytest

from mechanisms.grid import Grid
from mechanisms.local_sensitivity.domain import Domain
from mechanisms.local_sensitivity.mean.exact import local_sensitivity, rounded_mean


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_no_person_moves_the_rounded_mean_by_more_than_its_local_sensitivity(width: int) -> None:
    domain = Domain(0, width, Grid(0))
    for size in range(6):
        largest_move = 0
        for x in combinations_with_replacement(range(width + 1), size):
            mean = rounded_mean(sum(x), len(x), domain)
            if size:
                assert mean == math.floor(Fraction(sum(x), size) + Fraction(1, 2))
            removed = [x[:i] + x[i + 1 :] for i in range(size)]
            added = [(*x, record) for record in range(width + 1)]
            for y in removed + added:
                largest_move = max(largest_move, abs(mean - rounded_mean(sum(y), len(y), domain)))
        assert largest_move <= local_sensitivity(size, width)


def test_removing_a_record_moves_a_mean_by_more_than_the_textbook_allows() -> None:
    for size in range(2, 50):
        mean_with, mean_without = Fraction(100, size), Fraction(0)
        assert mean_with - mean_without == Fraction(100, size) > Fraction(100, size + 1)
        assert local_sensitivity(size, 100) >= Fraction(100, size)

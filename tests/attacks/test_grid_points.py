"""Windows of grid points, against lists made one row at a time."""

from __future__ import annotations

import itertools
import math

import numpy as np

from attacklab.attacks.samplers import MOST_POINTS, GridPoints, marked, too_many


def _by_row(points: GridPoints) -> list[list[float]]:
    return [points.values[points.rows == row].tolist() for row in range(len(points.counts))]


def test_each_row_gets_the_grid_points_in_its_window() -> None:
    centre = np.array([1.0, 0.1, -3.0, 2.6, math.nan, 9.9])
    width = np.array([0.5, 0.1, 0.25, 0.05, 1.0, 5.0])
    points = GridPoints.within(centre, width, 0.25, -12, 39)
    expected = [
        [k for k in range(-12, 40) if abs(k * 0.25 - one) <= reach] for one, reach in zip(centre, width, strict=True)
    ]
    assert expected[3] == expected[4] == []
    assert _by_row(points) == expected
    assert points.counts.tolist() == [len(row) for row in expected]


def test_a_window_of_too_many_points_is_not_listed() -> None:
    points = GridPoints.within(np.array([0.0, 0.0]), np.array([1.0, 1e300]), 1.0, -1e9, 1e9)
    assert _by_row(points) == [[-1, 0, 1], []]
    assert points.counts.tolist() == [3, MOST_POINTS + 1]
    assert too_many(points.counts).tolist() == [False, True]


def test_every_two_points_of_a_wanted_row_are_combined() -> None:
    one = GridPoints.within(np.array([0.0, 5.0, 7.5, 3.0]), np.array([1.0, 0.0, 0.1, 2.0]), 1.0, -99, 99)
    other = GridPoints.within(np.array([4.0, 4.0, 4.0, -4.0]), np.array([0.0, 1.0, 2.0, 1.0]), 1.0, -99, 99)
    wanted = np.array([True, True, True, False])
    mine, its = one.with_each_of(other, wanted)
    found = list(zip(one.rows[mine].tolist(), one.values[mine].tolist(), other.values[its].tolist(), strict=True))
    expected = [
        (row, first, second)
        for row, (firsts, seconds) in enumerate(zip(_by_row(one), _by_row(other), strict=True))
        if wanted[row]
        for first, second in itertools.product(firsts, seconds)
    ]
    assert found == expected


def test_marked_rows_are_the_certain_ones_and_those_found() -> None:
    certain = np.array([True, False, False])
    assert marked(certain, np.array([2, 2])).tolist() == [True, False, True]
    assert certain.tolist() == [True, False, False]

"""Half-lines: the typical answer is one of the answers, and some half-line separates any two answers."""

from __future__ import annotations

import math

import numpy as np

from attacklab.attacks.bets import half_lines, typical


def test_the_typical_output_is_the_median_of_those_that_are_not_failures() -> None:
    assert typical(np.array([None, 5.0, 1.0, None, 2.0], dtype=object)) == 2
    assert typical(np.array([None, None], dtype=object)) == 0


def test_half_lines_separate_any_two_answers_and_go_both_ways_if_they_are_equal() -> None:
    above = math.nextafter(1.0, 2)
    for low, high in [(1.0, 3.0), (1.0, above), (1.0, math.inf), (-2.0, -1.0)]:
        assert half_lines(low, high)[0].contains(np.array([low, high])).tolist() == [False, True]
    inclusive, exclusive = half_lines(1.0, 1.0)
    outputs = np.array([math.nextafter(1, 0), 1.0, above])
    assert inclusive.contains(outputs).tolist() == [False, True, True]
    assert exclusive.contains(outputs).tolist() == [False, False, True]

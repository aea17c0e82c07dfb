"""Noise on answers, totals and vectors, and what a mechanism accepts as a number."""

import math
from fractions import Fraction

import numpy as np
import pytest

from attacklab.model.random_bits import SeededBits
from mechanisms.core.grid import LIMIT, Grid
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.core.noisy import noisy
from mechanisms.core.numbers import clamped
from mechanisms.core.records import Answer, Counts, Histogram, Total

QUARTERS = Answer(1, Grid(-2))


def test_outputs_beyond_the_grid_are_its_ends_in_every_way_of_drawing() -> None:
    term, end = noisy(Answer(1, Grid(0)), DiscreteLaplace, 1), float(LIMIT)
    for answer, sign in ((math.inf, 1), (-math.inf, -1), (10**400, 1), (-1e300, -1)):
        one = [term.release(answer, SeededBits(seed)) for seed in range(20)]
        many = term.many(answer, 200, SeededBits(0)).tolist()
        each = term.each([answer] * 200, SeededBits(0)).tolist()
        for drawn in (one, many, each):
            assert max(sign * output for output in drawn) == end
            assert min(sign * output for output in drawn) > end - 100
    assert abs(term.release(math.nan, SeededBits(0))) < 100


def test_a_total_beyond_64_bits_is_the_end_of_the_grid() -> None:
    term = noisy(Total(-(2**53), 2**53, Grid(0)), DiscreteLaplace, 2**20)
    assert LIMIT - 2**43 < term.release(np.full(5000, 2.0**53), SeededBits(0)) <= LIMIT
    for sign in (1, -1):
        records, bits = np.full(5000, sign * 2.0**53), SeededBits(0)
        for drawn in (term.many(records, 50, bits), np.array([term.release(records, bits) for _ in range(50)])):
            assert LIMIT - 2**43 < (sign * drawn).min() < (sign * drawn).max() == LIMIT


@pytest.mark.parametrize("size", [2**k + d for k in (8, 15, 16, 20) for d in (-1, 0, 1)])
def test_every_answer_of_an_array_gets_its_own_output_in_its_place(size: int) -> None:
    """Noise of scale 1/64: below ½ of a step but with probability e^−64 a place."""
    term = noisy(Answer(1, Grid(0)), DiscreteLaplace, 64)
    answers = np.arange(size, dtype=np.float64) % 1009
    assert np.array_equal(term.each(answers, SeededBits(size)), answers)
    assert np.array_equal(term.many(7, size, SeededBits(size)), np.full(size, 7.0))
    counts = noisy(Counts(), DiscreteLaplace, 64).release(answers[:300], SeededBits(size))
    assert counts.tolist() == answers[:300].tolist()


def test_shapes_are_kept() -> None:
    term, bits = noisy(QUARTERS, DiscreteLaplace, 1), SeededBits(5)
    assert term.each(np.zeros((3, 4, 5)), bits).shape == (3, 4, 5)
    assert term.each([], bits).shape == (0,)
    assert term.each(np.zeros((2, 0)), bits).shape == (2, 0)
    assert term.many(0, 0, bits).shape == (0,)
    histogram = noisy(Histogram(("a", "b", "c")), DiscreteLaplace, 64)
    assert histogram.many(["a", "a", "c"], 5, bits).tolist() == [[2.0, 0.0, 1.0]] * 5
    assert histogram.release(["a", "a", "c"], bits).tolist() == [2.0, 0.0, 1.0]


def test_clamping_brings_everything_into_the_range() -> None:
    low, high, missing = Fraction(-1), Fraction(2), Fraction(1, 2)
    for number, expected in (
        (Fraction(5), 2), (Fraction(-5), -1), (math.inf, 2), (-math.inf, -1), (math.nan, missing), (Fraction(1), 1),
    ):  # fmt: skip
        brought = clamped(number, low, high, missing=missing)
        assert brought == expected
        assert type(brought) is Fraction

"""The filters that round normal noise, judged by MPFR's error function at the thresholds that they round at."""

from __future__ import annotations

import math
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpfr, mpq
from hypothesis import given, settings
from hypothesis import strategies as st

from attacklab.random_bits import SeededBits
from mechanisms.gaussian.rounding_filter import RoundingFilter

PARTS = st.sampled_from([Fraction(1), Fraction(999, 1000)])
SCALES = st.builds(lambda power, part: Fraction(2) ** power * part, st.integers(-3, 24), PARTS)
SHIFTS = st.fractions(Fraction(-1, 2), Fraction(1, 2), max_denominator=1000)


def uniform_above(z: mpq) -> int:
    """Return ⌊2^64·P[Z > z]⌋."""
    with gmpy2.context(precision=200):
        return int(gmpy2.floor(gmpy2.erfc(mpfr(z) / gmpy2.sqrt(mpfr(2))) * mpfr(2) ** 63))


@pytest.mark.ci
@settings(derandomize=True, deadline=None, max_examples=300)
@given(SCALES, SHIFTS, st.floats(-4.8, 4.8), st.integers(-3, 3))
def test_what_is_decided_near_a_threshold_is_decided_rightly(
    scale: Fraction, shift: Fraction, near: float, beside: int
) -> None:
    """The word in which U has shift + scale·Z = n + ½, for some n, and the words next to it."""
    threshold = math.floor(shift + scale * Fraction(near)) + Fraction(1, 2)
    word = uniform_above(mpq(threshold - shift) / mpq(scale)) + beside
    nearest, undecided = RoundingFilter(scale)(np.array([word], dtype=np.uint64), float(shift))
    if not len(undecided):
        exact = int(nearest[0])
        assert uniform_above(mpq(exact + Fraction(1, 2) - shift) / mpq(scale)) < word
        assert word + 1 <= uniform_above(mpq(exact - Fraction(1, 2) - shift) / mpq(scale))


@pytest.mark.parametrize("power", [0, 4, 14, 20, 24])
def test_all_but_a_few_words_are_decided(power: int) -> None:
    words = SeededBits(np.random.default_rng(7)).words(100_000)
    assert len(RoundingFilter(Fraction(2) ** power)(words, 0.3)[1]) <= 10


@pytest.mark.parametrize("scale", [Fraction(3), Fraction(2**20)])
def test_words_beyond_the_table_are_left_open(scale: Fraction) -> None:
    words = np.array([0, 1, 2**42, 2**63 - 1, 2**63, 2**64 - 1], dtype=np.uint64)
    assert RoundingFilter(scale)(words, 0.0)[1].tolist() == list(range(6))


@pytest.mark.parametrize("scale", [Fraction(3), Fraction(2**20)])
def test_words_and_shifts_are_not_written_to(scale: Fraction) -> None:
    words, shifts = np.array([2**62, 5, 2**64 - 2**60], dtype=np.uint64), np.array([0.25, 0.5, -0.125])
    RoundingFilter(scale)(words, shifts)
    assert (words.tolist(), shifts.tolist()) == ([2**62, 5, 2**64 - 2**60], [0.25, 0.5, -0.125])


def test_slack_leaves_words_near_thresholds_open() -> None:
    """Values lie anywhere between two thresholds, so that an eighth of them is within 2^−4 of one."""
    words = SeededBits(np.random.default_rng(9)).words(10_000)
    share = len(RoundingFilter(Fraction(2**20), Fraction(1, 16))(words, 0.0)[1]) / len(words)
    assert 0.11 < share < 0.14

"""What the filter decides is right for every word that begins with the bits it sees."""

from __future__ import annotations

import math
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from attacklab.random_bits import SeededBits
from mechanisms.laplace.floor_filter import CoarseFilter, FineFilter, floor_filter
from tests.mechanisms.laplace.test_exponential_variates import real_value

PRECISE = gmpy2.context(precision=400)
RATIONALS = st.fractions(min_value=Fraction(1, 50), max_value=2**46, max_denominator=1000)
SMALL = st.integers(-(2**20), 2**20).map(lambda i: Fraction(i, 2**70))
OFFSETS = st.fractions(min_value=0, max_value=Fraction(1999, 1000), max_denominator=1000) | SMALL.map(lambda x: 1 + x)
SHIFTS = st.just(Fraction(0)) | st.fractions(min_value=Fraction(-1, 2), max_value=Fraction(1, 2), max_denominator=999)
PLUS = np.zeros(1, dtype=np.uint64)


@settings(derandomize=True, deadline=None, max_examples=400)
@given(
    OFFSETS,
    SHIFTS,
    RATIONALS,
    st.integers(min_value=1, max_value=2**63 - 2) | st.integers(0, 2**20) | st.integers(2**63 - 2**20, 2**63 - 1),
    st.booleans(),
)
def test_what_the_filter_decides_holds_at_both_ends_of_the_uniforms_interval(
    offset: Fraction, shift: Fraction, scale: Fraction, leading: int, negative: bool
) -> None:
    signs = np.array([negative << 63], dtype=np.uint64)
    floors, undecided = floor_filter(scale, shift)(np.array([leading]), signs, float(offset))
    if not undecided[0]:
        slope, middle = (-scale, offset - shift) if negative else (scale, offset + shift)
        for end in (leading, leading + 1):
            assert math.floor(real_value(middle, slope, end, 63)) == floors[0]


@pytest.mark.ci
@settings(derandomize=True, deadline=None, max_examples=400)
@given(
    OFFSETS,
    SHIFTS,
    st.integers(-8, 46),
    st.builds(math.ldexp, st.floats(min_value=1, max_value=2), st.integers(-60, 4)),
    st.booleans(),
    st.integers(-600, 600),
)
@example(Fraction(2**55 + 3, 2**55), Fraction(0), -8, 2.0**-45, True, 600)
def test_uniforms_at_the_edge_of_an_integer_are_undecided_or_right(
    offset: Fraction, shift: Fraction, log_scale: int, exponential: float, negative: bool, beside: int
) -> None:
    """The worst cases: U is near, on the grid of 63 bits, the one at which offset ± (scale·E + shift) is an integer."""
    scale = Fraction(2**log_scale) * Fraction(1000, 1001)
    slope, middle = (-scale, offset - shift) if negative else (scale, offset + shift)
    integer = math.floor(middle + slope * Fraction(exponential)) + negative
    edge = PRECISE.exp(PRECISE.div(gmpy2.mpq(middle) - integer, gmpy2.mpq(slope)))
    leading = int(PRECISE.mul(edge, gmpy2.mpz(2**63))) + beside
    assume(0 < leading < 2**63 - 1)
    signs = np.array([negative << 63], dtype=np.uint64)
    floors, undecided = floor_filter(scale, shift)(np.array([leading]), signs, float(offset))
    if not undecided[0]:
        assert {math.floor(real_value(middle, slope, end, 63)) for end in (leading, leading + 1)} == {int(floors[0])}


def test_a_uniform_below_or_above_the_cells_is_left_undecided() -> None:
    """With noise of a hundredth of a step the floor is almost surely 0, and 0 is decided for every other U here."""
    leading = np.array([0, 1, 2**44, 2**46, 2**62, 2**63 - 2**10, 2**63 - 1])
    _, undecided = floor_filter(Fraction(1, 100))(leading, np.zeros(7, dtype=np.uint64), 0.5)
    assert undecided.tolist() == [True, True, True, False, False, False, True]


@pytest.mark.parametrize(
    ("scale", "most"), [(Fraction(1), 5), (Fraction(2**20), 5), (Fraction(2**36), 10), (Fraction(2**45), 100)]
)
def test_the_filter_decides_all_but_a_few(scale: Fraction, most: int) -> None:
    """A draw is undecided with probability about 2·E[error]: 1e-5 at most up to 2^36, 2e-4 at 2^45 (20 draws here)."""
    leading = SeededBits(np.random.default_rng(7)).words(100_000) >> np.uint64(1)
    assert floor_filter(scale)(leading.view(np.int64), leading, 0.5)[1].sum() <= most


def test_each_uniform_can_have_an_offset_of_its_own() -> None:
    leading = (SeededBits(np.random.default_rng(8)).words(100) >> np.uint64(1)).view(np.int64)
    signs = SeededBits(np.random.default_rng(9)).words(100)
    offsets = np.linspace(0.0, 1.0, 100)
    together, _ = floor_filter(Fraction(3))(leading, signs, offsets)
    alone = [
        floor_filter(Fraction(3))(leading[i : i + 1], signs[i : i + 1], float(offsets[i]))[0][0] for i in range(100)
    ]
    assert together.tolist() == alone


def test_the_words_that_are_filtered_are_not_written_to() -> None:
    leading, signs = np.array([2**62, 5]), np.array([1 << 63, 3], dtype=np.uint64)
    offsets = np.array([0.25, 0.5])
    floor_filter(Fraction(3))(leading, signs, offsets)
    assert (leading.tolist(), signs.tolist(), offsets.tolist()) == ([2**62, 5], [1 << 63, 3], [0.25, 0.5])


@pytest.mark.parametrize("scale", [Fraction(256), Fraction(2**22), Fraction(2**24)])
def test_both_filters_decide_the_same(scale: Fraction) -> None:
    leading = (SeededBits(np.random.default_rng(4)).words(20_000) >> np.uint64(1)).view(np.int64)
    signs, offsets = SeededBits(np.random.default_rng(5)).words(20_000), np.linspace(0.0, 1.0, 20_000)
    kinds = (kind(scale, Fraction(-1, 3)) for kind in (CoarseFilter, FineFilter))
    (coarse, one), (fine, other) = (filtered(leading, signs, offsets) for filtered in kinds)
    decided = ~(one | other)
    assert decided.sum() > 19_900
    assert np.array_equal(coarse[decided], fine[decided])


@pytest.mark.parametrize("kind", [CoarseFilter, FineFilter])
def test_a_wider_bound_leaves_more_undecided(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values lie anywhere between two integers, so that an eighth of them is within 2^−4 of one."""
    leading = SeededBits(np.random.default_rng(9)).words(2000) >> np.uint64(1)
    monkeypatch.setattr(kind, "_error", lambda *_: Fraction(1, 16))
    share = kind(Fraction(256), Fraction(0))(leading.view(np.int64), leading, 0.5)[1].mean()
    assert 0.08 < share < 0.18

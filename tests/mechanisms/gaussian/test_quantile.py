"""The array quantile, judged by MPFR's error function at both ends of what a word leaves open."""

from __future__ import annotations

import math

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpfr
from hypothesis import given, settings
from hypothesis import strategies as st

from mechanisms.gaussian.quantile import (
    GREATEST_DEGREE,
    REACH,
    normal_quantile,
    rough_quantile,
    table,
)

WORDS = st.one_of(
    st.integers(0, 2**64 - 1),
    st.builds(  # cell edges and powers of two, and a little beside them, in both tails
        lambda exponent, part, beside, upper: (2**exponent + (part << exponent >> 9) + beside) ^ (2**64 - 1) * upper,
        st.integers(43, 62),
        st.integers(0, 512),
        st.sampled_from([-1024, -513, -512, -511, -2, -1, 0, 1, 2, 512]),
        st.booleans(),
    ),
)


def normal_tail(z: mpfr) -> mpfr:
    return gmpy2.erfc(z / gmpy2.sqrt(mpfr(2))) / 2


def assert_within_bound(words: list[int], degree: int = 3) -> None:
    """The tail between value ± bound covers all of [m, m + 1]·2^−64, m the smaller tail's 64 bits."""
    values, bound = normal_quantile(np.array(words, dtype=np.uint64), degree), table().greatest_error(degree)
    with gmpy2.context(precision=120):
        for word, value in zip(words, values.tolist(), strict=True):
            smaller = min(word, 2**64 - 1 - word)
            if math.isnan(value):
                assert smaller <= 2**43 or smaller >= 2**63 - 512
                continue
            assert_between(value if word < 2**63 else -value, bound, smaller)


def assert_between(magnitude: float | mpfr, bound: float, smaller: int) -> None:
    with gmpy2.context(precision=150):
        assert normal_tail(mpfr(magnitude) + bound) * mpfr(2) ** 64 <= smaller
        assert normal_tail(mpfr(magnitude) - bound) * mpfr(2) ** 64 >= smaller + 1


@pytest.mark.few(2)
@pytest.mark.parametrize("degree", range(1, GREATEST_DEGREE + 1))
@settings(derandomize=True, deadline=None, max_examples=60)
@given(words=st.lists(WORDS, min_size=1, max_size=20))
def test_every_value_is_within_the_bound_of_every_uniform_that_its_word_begins(degree: int, words: list[int]) -> None:
    assert_within_bound(words, degree)


@pytest.mark.parametrize("count", [10_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_random_words_are_within_the_bound(count: int) -> None:
    assert_within_bound(np.random.default_rng(17).integers(0, 2**64, count, dtype=np.uint64).tolist())


def test_bounds_are_small() -> None:
    assert 2.0**-45 < table().greatest_error(3) < 2.0**-43


def test_extreme_words_have_no_value() -> None:
    words = np.array([0, 1, 2**42, 2**64 - 1, 2**64 - 2**42, 2**63 - 1, 2**63], dtype=np.uint64)
    assert np.isnan(normal_quantile(words, 3)).all()


def test_words_on_either_side_of_one_half_are_opposite() -> None:
    words = np.random.default_rng(2).integers(2**44, 2**63 - 2**10, 1000, dtype=np.uint64)
    assert np.array_equal(normal_quantile(words, 3), -normal_quantile(~words, 3))


def test_no_value_reaches_what_the_error_analysis_takes_for_the_largest() -> None:
    with gmpy2.context(precision=120):
        assert normal_tail(mpfr(REACH)) * mpfr(2) ** 21 < 1


@pytest.mark.parametrize(("uniform", "z"), [(0.5, 0.0), (0.15865525393145707, 1.0), (0.9772498680518208, -2.0)])
def test_the_rough_quantile_is_the_upper_one(uniform: float, z: float) -> None:
    assert rough_quantile(uniform) == pytest.approx(z, abs=1e-12)

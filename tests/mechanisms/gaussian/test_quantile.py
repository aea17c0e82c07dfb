"""The array quantile, judged by MPFR's error function at both ends of what a word leaves open."""

from __future__ import annotations

import math

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpfr
from hypothesis import given, settings
from hypothesis import strategies as st

from mechanisms.gaussian.quantile import REACH, normal_quantile, quantile_bound, rough_quantile

WORDS = st.one_of(
    st.integers(0, 2**64 - 1),
    st.builds(  # cell edges and powers of two, and a little beside them, in both tails
        lambda exponent, part, beside, upper: (2**exponent + (part << exponent >> 6) + beside) ^ (2**64 - 1) * upper,
        st.integers(46, 62),
        st.integers(0, 64),
        st.sampled_from([-1024, -513, -512, -511, -2, -1, 0, 1, 2, 512]),
        st.booleans(),
    ),
)


def normal_tail(z: mpfr) -> mpfr:
    return gmpy2.erfc(z / gmpy2.sqrt(mpfr(2))) / 2


def assert_within_bound(words: list[int]) -> None:
    """The tail between value ± bound covers all of [m, m + 1]·2^−64, m the smaller tail's 64 bits."""
    values, bound = normal_quantile(np.array(words, dtype=np.uint64)), quantile_bound()
    with gmpy2.context(precision=120):
        for word, value in zip(words, values.tolist(), strict=True):
            smaller = min(word, 2**64 - 1 - word)
            if math.isnan(value):
                assert smaller <= 2**46
                continue
            magnitude = mpfr(value if word < 2**63 else -value)
            assert normal_tail(magnitude + bound) * mpfr(2) ** 64 <= smaller
            assert normal_tail(magnitude - bound) * mpfr(2) ** 64 >= smaller + 1


@settings(derandomize=True, deadline=None, max_examples=500)
@given(st.lists(WORDS, min_size=1, max_size=20))
def test_every_value_is_within_the_bound_of_every_uniform_that_its_word_begins(words: list[int]) -> None:
    assert_within_bound(words)


@pytest.mark.parametrize("count", [30_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_random_words_are_within_the_bound(count: int) -> None:
    assert_within_bound(np.random.default_rng(17).integers(0, 2**64, count, dtype=np.uint64).tolist())


def test_the_bound_is_small_and_not_slack_by_more_than_a_factor_of_sixteen() -> None:
    """The nearest that a sample comes to it is the rounding of values just above 2, an ulp being 2^−51."""
    assert 2.0**-51 < quantile_bound() < 2.0**-47


def test_extreme_words_have_no_value() -> None:
    words = np.array([0, 1, 2**45, 2**64 - 1, 2**64 - 2**45], dtype=np.uint64)
    assert np.isnan(normal_quantile(words)).all()


def test_the_words_next_to_one_half_have_a_value() -> None:
    """Words within 2^9 of 2^63 become 2^63 as doubles, the far end of the last cell."""
    beside = [2**63 - offset for offset in (1, 2, 511, 512, 513, 1024)] + [
        2**63 + offset for offset in (0, 1, 512, 1024)
    ]
    assert not np.isnan(normal_quantile(np.array(beside, dtype=np.uint64))).any()
    assert_within_bound(beside)


def test_words_on_either_side_of_one_half_are_opposite() -> None:
    words = np.random.default_rng(2).integers(2**47, 2**63, 1000, dtype=np.uint64)
    assert np.array_equal(normal_quantile(words), -normal_quantile(~words))


def test_no_value_reaches_what_the_error_analysis_takes_for_the_largest() -> None:
    with gmpy2.context(precision=120):
        assert normal_tail(mpfr(REACH)) * mpfr(2) ** 18 < 1


@pytest.mark.parametrize(("uniform", "z"), [(0.5, 0.0), (0.15865525393145707, 1.0), (0.9772498680518208, -2.0)])
def test_the_rough_quantile_is_the_upper_one(uniform: float, z: float) -> None:
    assert rough_quantile(uniform) == pytest.approx(z, abs=1e-12)

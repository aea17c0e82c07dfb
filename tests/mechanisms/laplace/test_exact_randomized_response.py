"""Randomized response lies exactly as often as it should, however rarely that is; the naive one does not."""

from __future__ import annotations

import math
from fractions import Fraction

import gmpy2
import numpy as np
import pytest

from attacklab.random_bits import SeededBits, TapedBits
from mechanisms.laplace.exact_randomized_response import (
    enclose_logistic,
    exact_randomized_response,
    logistic_coin,
    randomized_response,
)
from mechanisms.laplace.naive_randomized_response import naive_randomized_response
from tests.mechanisms.enumeration import law_of


@pytest.mark.parametrize("gamma", [Fraction(1, 100), Fraction(1), Fraction(7, 2), Fraction(40), Fraction(500)])
@pytest.mark.parametrize("precision", [64, 200])
def test_the_enclosure_holds_the_logistic_function_and_is_narrow(gamma: Fraction, precision: int) -> None:
    below, above = enclose_logistic(gamma, precision)
    with gmpy2.context(precision=2000):
        ideal = 1 / (1 + gmpy2.exp(-gmpy2.mpfr(gmpy2.mpq(gamma))))
        assert gmpy2.mpfr(below) < ideal < gmpy2.mpfr(above)
    assert above - below <= Fraction(1, 2 ** (precision - 8))


@pytest.mark.parametrize("gamma", [Fraction(1, 10), Fraction(1), Fraction(5), Fraction(30)])
def test_the_coin_is_true_with_the_logistic_probability(gamma: Fraction) -> None:
    found = law_of(logistic_coin, gamma, smallest=Fraction(1, 2**100))
    missing = 1 - sum(found.values())
    assert missing <= Fraction(1, 2**99)
    with gmpy2.context(precision=300):
        ideal = 1 / (1 + gmpy2.exp(-gmpy2.mpfr(gmpy2.mpq(gamma))))
        assert gmpy2.mpfr(gmpy2.mpq(found[True])) <= ideal <= gmpy2.mpfr(gmpy2.mpq(found[True] + missing))


@pytest.mark.parametrize("keep", [Fraction(1, 2), Fraction(2, 3), Fraction(1023, 1024)])
@pytest.mark.parametrize("truth", [False, True])
def test_a_rational_probability_is_met_exactly(keep: Fraction, truth: bool) -> None:
    found = law_of(randomized_response, truth, keep, smallest=Fraction(1, 2**40))
    assert found[truth] == keep
    assert found[not truth] == 1 - keep


def test_an_exact_answer_can_be_a_lie_where_a_naive_one_cannot() -> None:
    """At ε = 40 a lie has probability 4e-18: a U of 64 ones is in it, and no binary64 uniform is."""
    all_ones = TapedBits(2**64 - 1, 64)
    assert exact_randomized_response(True, all_ones, epsilon=40) is False
    assert all_ones.left < 10
    answers = naive_randomized_response(True, 1000, np.random.default_rng(1), epsilon=40.0)
    assert answers.all()
    assert math.exp(40) / (1 + math.exp(40)) == 1.0


@pytest.mark.few(1)
@pytest.mark.parametrize("truth", [False, True])
def test_both_twins_lie_as_often_as_they_should(truth: bool) -> None:
    """20 000 answers at ε = 1 stray from 0.2689 by 0.025 with probability below 2·e^−25 = 2.8e-11 (Hoeffding)."""
    lie = 1 / (1 + math.e)
    bits = SeededBits(np.random.default_rng(2))
    exact = np.mean([exact_randomized_response(truth, bits, epsilon=1) != truth for _ in range(20_000)])
    naive = np.mean(naive_randomized_response(truth, 20_000, np.random.default_rng(3), epsilon=1.0) != truth)
    assert abs(exact - lie) < 0.025
    assert abs(naive - lie) < 0.025


@pytest.mark.parametrize("truth", [0, 1, 2, -1.0, math.nan, np.bool_(True)])
def test_a_truth_that_is_not_a_bool_is_answered_as_its_truth_value_is(truth: bool) -> None:
    bits, same = (SeededBits(np.random.default_rng(5)) for _ in range(2))
    for _ in range(50):
        expected = exact_randomized_response(bool(truth), bits, epsilon=1)
        assert exact_randomized_response(truth, same, epsilon=1) is expected


def test_a_huge_epsilon_is_answered_and_not_computed_with() -> None:
    assert exact_randomized_response(True, SeededBits(np.random.default_rng(4)), epsilon=1e300) is True


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf])
def test_an_epsilon_out_of_range_is_named(epsilon: float) -> None:
    with pytest.raises(ValueError, match="epsilon"):
        exact_randomized_response(True, SeededBits(np.random.default_rng(0)), epsilon=epsilon)
    with pytest.raises(ValueError, match="epsilon"):
        naive_randomized_response(True, 1, np.random.default_rng(0), epsilon=epsilon)


@pytest.mark.parametrize("keep", [Fraction(1, 3), Fraction(1), Fraction(-1), math.nan, math.inf])
def test_a_probability_out_of_range_is_refused(keep: Fraction) -> None:
    with pytest.raises(ValueError, match="keep"):
        randomized_response(True, keep, SeededBits(np.random.default_rng(0)))


def test_a_probability_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(TypeError, match="keep must be a float or a rational number"):
        randomized_response(True, "3/4", SeededBits(np.random.default_rng(0)))  # type: ignore[arg-type]

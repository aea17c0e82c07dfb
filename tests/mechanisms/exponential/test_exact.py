"""The base-e exponential mechanism's law, found by enumeration, against the ideal one from `decimal` with 80 digits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from gmpy2 import mpq
from hypothesis import given, settings
from hypothesis import strategies as st

from attacklab.laws import Limits, enumerate_law
from attacklab.random_bits import SeededBits, TapedBits
from mechanisms.exponential.exact import (
    bernoulli_scaled_exp,
    enclose_scaled_exp,
    exact_exponential,
    propose,
)
from mechanisms.randomness import RandomBits

DIGITS = Context(prec=80, Emin=-(10**18) + 1, Emax=10**18 - 1)
TO_THE_60TH = Fraction(1, 2**60)


def decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def ideal_law(utilities: Sequence[float], rate: Fraction) -> list[Fraction]:
    """The probabilities in proportion to exp(rate·u), off by less than 10^−70."""
    best = max(map(Fraction, utilities))
    with localcontext(DIGITS):
        weights = [decimal(rate * (Fraction(utility) - best)).exp() for utility in utilities]
        total = sum(weights)
        return [Fraction(weight / total) for weight in weights]


def law_of(utilities: Any, **parameters: Any) -> tuple[list[Fraction], Fraction]:
    """The probabilities that are known of each outcome, and the mass whose outcome is not."""
    law = enumerate_law(lambda bits: exact_exponential(utilities, bits, **parameters))
    masses = [Fraction(*law.mass(outcome).as_integer_ratio()) for outcome in range(len(utilities))]
    assert sum(masses) + Fraction(*law.unresolved.as_integer_ratio()) == 1
    return masses, Fraction(*law.unresolved.as_integer_ratio())


def assert_is_ideal(utilities: Sequence[float], rate: Fraction, **parameters: Any) -> None:
    masses, unresolved = law_of(np.array(utilities, dtype=np.float64), **parameters)
    assert unresolved <= TO_THE_60TH
    for mass, ideal in zip(masses, ideal_law(utilities, rate), strict=True):
        assert mass - Fraction(1, 10**70) <= ideal <= mass + unresolved + Fraction(1, 10**70)


@pytest.mark.parametrize(
    "utilities",
    [
        [0.0, 1.0],
        [0.1, 0.2, 0.3],
        [1.0, 1.0, 1.0],
        [-0.0, 0.0, 5e-324],
        [3.0, -40.0, 2.5, 2.5],
        [1e16, 1e16 + 2, 1e16 - 6],
        [2 * math.log(2) * k for k in range(12)],  # gaps within an ulp of a whole number of levels
        [math.nextafter(2 * math.log(2) * k, math.inf) for k in range(12)],
    ],
)
def test_the_law_is_the_ideal_one(utilities: list[float]) -> None:
    assert_is_ideal(utilities, Fraction(1, 2), epsilon=1)


@settings(max_examples=30)
@given(
    st.lists(st.floats(-50, 50), min_size=1, max_size=5),
    st.fractions(Fraction(1, 100), 4, max_denominator=1000),
    st.fractions(Fraction(1, 10), 10, max_denominator=1000),
)
def test_the_law_is_the_ideal_one_for_any_rational_epsilon_and_sensitivity(
    utilities: list[float], epsilon: Fraction, sensitivity: Fraction
) -> None:
    assert_is_ideal(utilities, epsilon / (2 * sensitivity), epsilon=epsilon, sensitivity=sensitivity)


@pytest.mark.ci
def test_the_law_of_fifty_outcomes_is_the_ideal_one_to_sixty_bits() -> None:
    utilities = np.random.default_rng(7).normal(scale=12, size=50).tolist()
    assert_is_ideal(utilities, Fraction(1, 2), epsilon=1)


def test_monotone_utilities_use_the_whole_epsilon() -> None:
    assert_is_ideal([0.0, 1.0, 2.5], Fraction(3, 4), epsilon=Fraction(3, 4), monotone=True)


def test_an_epsilon_given_as_a_float_is_the_rational_that_it_is() -> None:
    assert_is_ideal([0.0, 30.0], Fraction(0.1) / 2, epsilon=0.1)
    assert Fraction(0.1) != Fraction(1, 10)


def test_neighbouring_utilities_lose_no_more_than_epsilon() -> None:
    """The privacy loss itself: utilities moved by Δu = 1 in the worst directions, ε = 1."""
    masses, unresolved = law_of(np.array([5.0, 5.0, 4.0]), epsilon=1)
    moved, also_unresolved = law_of(np.array([6.0, 4.0, 3.0]), epsilon=1)
    with localcontext(DIGITS):
        limit = Fraction(Decimal(1).exp()) + Fraction(1, 10**70)
    for mass, other in zip(masses, moved, strict=True):
        assert mass <= limit * (other + also_unresolved)
        assert other <= limit * (mass + unresolved)


@pytest.mark.ci
def test_an_outcome_cut_off_at_the_deepest_level_has_its_ideal_probability() -> None:
    """e^−50 and e^−250, when three outcomes have 61 levels and so no level beyond e^−42."""
    utilities = [0.0, 100.0, -400.0]
    ideal = ideal_law(utilities, Fraction(1, 2))
    limits = Limits(unresolved=Fraction(1, 2**420))
    law = enumerate_law(lambda bits: exact_exponential(utilities, bits, epsilon=1), limits=limits)
    for outcome in (0, 1):
        mass = Fraction(*law.mass(outcome).as_integer_ratio())
        assert abs(mass - ideal[outcome]) < Fraction(1, 10**70)
    mass = Fraction(*law.mass(2).as_integer_ratio())
    assert abs(mass / ideal[2] - 1) < Fraction(1, 10**3)


def test_members_are_proposed_in_proportion_to_the_powers_of_their_levels() -> None:
    for counts in [(1,), (3,), (1, 1), (2, 0, 5), (1, 3, 0, 0, 9, 1), (5, 4, 3, 2, 1)]:
        law = enumerate_law(propose, counts)
        assert law.closed
        weights = {(k, rank): Fraction(1, 2**k) for k, count in enumerate(counts) for rank in range(count)}
        total = sum(weights.values())
        assert {key: Fraction(*mass.as_integer_ratio()) for key, mass in law.masses.items()} == {
            key: weight / total for key, weight in weights.items()
        }


@given(st.fractions(0, 40, max_denominator=10**6), st.integers(0, 300))
def test_enclosures_hold_the_scaled_exponential_and_are_narrow(gap: Fraction, extra: int) -> None:
    level = math.floor(gap * Fraction(14426, 10000))
    precision = 64 + extra
    lower, upper = enclose_scaled_exp(mpq(gap), level, precision)
    with localcontext(Context(prec=200)):
        scaled = Fraction(decimal(-gap).exp()) * 2 ** (level + precision)
    assert lower - Fraction(1, 10**60) <= scaled <= upper + Fraction(1, 10**60)
    assert upper - lower <= 2


def test_a_scaled_bernoulli_is_true_below_its_probability() -> None:
    """Every uniform number of ten bits, the first undecided bit of which is followed by ones, then by zeros."""
    gap, level = Fraction(13, 10), 1
    with localcontext(DIGITS):
        probability = 2 * Fraction(decimal(-gap).exp())
    for uniform in range(2**10):
        for tail in (0, 2**200 - 1):
            value = (uniform << 200) | tail
            assert bernoulli_scaled_exp(mpq(gap), level, TapedBits(value, 210)) is (
                Fraction(value, 2**210) < probability
            )


def test_utilities_beyond_the_range_count_as_its_ends() -> None:
    clamped = law_of(np.array([0.0, 4.0, 0.0, 2.0, 4.0, 0.0]), epsilon=1)
    wild = np.array([-math.inf, math.inf, math.nan, 2.0, 1e308, -7.0])
    assert law_of(wild, epsilon=1, utility_range=(0, 4)) == clamped


def test_no_utility_makes_it_fail_without_a_range() -> None:
    bits = SeededBits(np.random.default_rng(3))
    assert exact_exponential([-math.inf, 0.0, math.nan], bits, epsilon=1) == 1
    assert exact_exponential([1e308, -1e308, 0.0], bits, epsilon=1) == 0
    assert exact_exponential([-math.inf, 1.0, math.inf], bits, epsilon=1) == 2
    assert exact_exponential([math.nan] * 4, bits, epsilon=1) in range(4)


def test_integer_and_short_float_utilities_count_as_the_doubles_that_they_are() -> None:
    expected = law_of(np.array([0.0, 1.0, 3.0]), epsilon=1)
    for dtype in (np.int8, np.uint16, np.int64, np.uint64, np.float16, np.float32, ">f8", ">i8"):
        assert law_of(np.array([0, 1, 3], dtype=dtype), epsilon=1) == expected
    assert law_of([0, 1, 3], epsilon=1) == expected


def test_numbers_that_are_not_doubles_keep_their_distances() -> None:
    """Rounded, 2^60 and 2^60 + 1 would be one double, and 2^60 + 128 and 2^60 + 129 two at distance 256."""
    for dtype in (np.int64, np.uint64, np.longdouble, object):
        assert law_of(np.array([2**60, 2**60 + 1], dtype=dtype), epsilon=1) == law_of([0.0, 1.0], epsilon=1)
    assert law_of([Fraction(1, 3), Fraction(7, 3)], epsilon=1) == law_of([0.0, 2.0], epsilon=1)


def test_lists_that_are_equal_have_one_law_whatever_types_their_numbers_have() -> None:
    """Were integers clamped and floats not, the best of the second list would be another than that of the first."""
    written = [[2.0**60, 2**60 + 64], [2**60, 2**60 + 64], [np.array(2**60), np.array(2.0**60) + 0 * 64]]
    assert law_of(written[0], epsilon=1) == law_of(written[1], epsilon=1) == law_of([0.0, 64.0], epsilon=1)
    assert law_of(written[2], epsilon=1) == law_of([0, 0], epsilon=1)


@pytest.mark.parametrize("other", [-1, 0.5, np.int64(-1)])
def test_integers_of_a_list_are_read_before_numpy_finds_a_format_for_the_list(other: float) -> None:
    """Beside -1 or a fraction numpy makes 2^63 + 1024 and 2^63 + 1025, at distance 1, doubles at distance 2048."""
    bits = SeededBits(np.random.default_rng(3))
    seen = {exact_exponential([other, 2**63 + 1024, 2**63 + 1025], bits, epsilon=8) for _ in range(60)}
    assert seen == {1, 2}


def test_integers_beyond_any_format_of_numpy_raise_no_error() -> None:
    bits = SeededBits(np.random.default_rng(3))
    assert exact_exponential([-(10**400), 0, 10**400], bits, epsilon=1) == 2


@pytest.mark.parametrize("utilities", [[1e-300, 0.0], [5e-324, 0.0], [1e308, -1e308], [math.nan, math.inf]])
def test_no_utility_is_an_event_to_a_caller_whose_numpy_raises(utilities: list[float]) -> None:
    bits = SeededBits(np.random.default_rng(3))
    with np.errstate(all="raise"):
        assert exact_exponential(utilities, bits, epsilon=1e-100) in (0, 1)


def test_one_outcome_takes_no_bits() -> None:
    assert exact_exponential([17.0], TapedBits(0, 0), epsilon=1) == 0


def test_a_tiny_epsilon_and_a_huge_one_are_both_drawn_with() -> None:
    bits = SeededBits(np.random.default_rng(5))
    assert exact_exponential([0.0, 1.0], bits, epsilon=Fraction(2**899)) == 1
    assert {exact_exponential([0.0, 1.0], bits, epsilon=Fraction(1, 2**800)) for _ in range(60)} == {0, 1}


class Refusing(RandomBits):
    """Bits that nothing may be drawn from."""

    def take(self, count: int) -> int:
        raise AssertionError(f"{count} bits were drawn before the parameters were checked")


@pytest.mark.parametrize(
    ("utilities", "parameters", "error", "named"),
    [
        ([], {}, ValueError, "utilities"),
        ([[0.0, 1.0]], {}, ValueError, "utilities"),
        (3.0, {}, ValueError, "utilities"),
        (["a", "b"], {}, TypeError, "utilities"),
        ([1.0, 1j], {}, TypeError, "utilities"),
        (np.array([1, 2j]), {}, TypeError, "utilities"),
        (np.array(["1"]), {}, TypeError, "utilities"),
        ("12", {}, TypeError, "utilities"),
        ([0.0, 1.0], {"epsilon": 0}, ValueError, "epsilon"),
        ([0.0, 1.0], {"epsilon": -1.0}, ValueError, "epsilon"),
        ([0.0, 1.0], {"epsilon": math.nan}, ValueError, "epsilon"),
        ([0.0, 1.0], {"epsilon": math.inf}, ValueError, "epsilon"),
        ([0.0, 1.0], {"epsilon": "1"}, TypeError, "epsilon"),
        ([0.0, 1.0], {"epsilon": Fraction(1, 2**1000)}, ValueError, "epsilon/sensitivity"),
        ([0.0, 1.0], {"epsilon": Fraction(2**1000)}, ValueError, "epsilon/sensitivity"),
        ([0.0, 1.0], {"sensitivity": 0}, ValueError, "sensitivity"),
        ([0.0, 1.0], {"sensitivity": -2}, ValueError, "sensitivity"),
        ([0.0, 1.0], {"sensitivity": True}, TypeError, "sensitivity"),
        ([0.0, 1.0], {"utility_range": (1, 0)}, ValueError, "utility_range"),
        ([0.0, 1.0], {"utility_range": (-math.inf, 0)}, ValueError, "utility_range"),
        ([0.0, 1.0], {"utility_range": (math.nan, 1)}, ValueError, "utility_range"),
        ([0.0, 1.0], {"utility_range": (0, 2**1023)}, ValueError, "utility_range"),
        ([0.0, 1.0], {"utility_range": (0, Fraction(10, 3))}, ValueError, "utility_range"),
        ([0.0, 1.0], {"utility_range": (0, 2**53 + 1)}, ValueError, "utility_range"),
        ([0.0, 1.0], {"utility_range": (0, "1")}, TypeError, "utility_range"),
    ],
)
def test_bad_parameters_are_named_before_anything_is_drawn(
    utilities: Any, parameters: dict[str, Any], error: type[Exception], named: str
) -> None:
    with pytest.raises(error, match=named):
        exact_exponential(utilities, Refusing(), **{"epsilon": 1, **parameters})

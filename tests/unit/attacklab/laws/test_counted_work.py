"""Counted work: joint laws of output and work against all bit strings, and what seeing the work gains an adversary."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacklab.laws import Limits, advantage, enumerate_law, smallest_epsilon
from attacklab.laws.series import Series, SeriesArithmetic
from attacklab.model.random_bits import TapedBits, TapeEnded
from mechanisms.coins import bernoulli, bernoulli_exp, uniform_below
from mechanisms.published import two_sided_geometric
from mechanisms.randomness import RandomBits

COARSE = Limits(unresolved=Fraction(1, 2**24))


class Counting(TapedBits):
    """A string of bits that counts the calls made."""

    calls = 0

    def call(self, sampler: Callable[..., Any], *arguments: Any) -> Any:
        self.calls += 1
        return super().call(sampler, *arguments)


def every_string(sampler: Callable[..., Hashable], argument: Any, counted: str, length: int) -> Counter[Any]:
    """How many of the strings of `length` bits end in each pair of outcome and work."""
    counts: Counter[Any] = Counter()
    for value in range(2**length):
        bits = Counting(value, length)
        try:
            outcome = sampler(argument, bits)
        except TapeEnded:
            continue
        counts[outcome, bits.calls if counted == "calls" else length - bits.left] += 1
    return counts


@pytest.mark.parametrize(
    ("sampler", "argument"),
    [
        (uniform_below, 5),
        (bernoulli, Fraction(3, 7)),
        (bernoulli_exp, Fraction(1, 2)),
        (bernoulli_exp, Fraction(3, 2)),
        (two_sided_geometric, Fraction(1, 3)),
    ],
)
@pytest.mark.parametrize("counted", ["bits", "calls"])
def test_the_joint_law_agrees_with_all_strings_of_12_bits(
    sampler: Callable[..., Hashable], argument: Any, counted: Any
) -> None:
    joint = enumerate_law(sampler, argument, counted=counted)
    counts = every_string(sampler, argument, counted, 12)
    left_open = Fraction(2**12 - counts.total(), 2**12)
    for pair in {*joint, *counts}:
        known = Fraction(counts[pair], 2**12)
        lower, upper = joint[pair]
        assert lower <= known + left_open
        assert known <= upper
        if counted == "bits" and pair[1] <= 12:
            assert lower <= known <= lower + joint.unresolved


@pytest.mark.parametrize("counted", ["bits", "calls"])
def test_the_output_of_a_joint_law_has_the_law_found_without_work(counted: Any) -> None:
    alone = enumerate_law(two_sided_geometric, Fraction(1, 3), limits=COARSE)
    marginal = enumerate_law(two_sided_geometric, Fraction(1, 3), counted=counted, limits=COARSE).map(lambda o: o[0])
    for outcome in alone:
        assert marginal[outcome].lower <= alone[outcome].upper
        assert alone[outcome].lower <= marginal[outcome].upper
    assert marginal.unresolved <= alone.unresolved + Fraction(1, 2**60)


def test_the_work_of_geometric_noise_gives_its_size_away() -> None:
    """The number of coins is the noise's size plus one, so output and work together refute every ε."""
    ratio = Fraction(1, 2)
    noise = enumerate_law(two_sided_geometric, ratio, counted="calls", limits=COARSE)
    answers = [noise, noise.map(lambda pair: (1 + pair[0], pair[1]))]
    outputs = [law.map(lambda pair: pair[0]) for law in answers]
    assert advantage(*outputs).upper < 0.34
    assert advantage(*answers).lower > 0.6
    assert smallest_epsilon(*outputs)[0] < 0.7
    assert smallest_epsilon(*answers)[0] > 10


def fixed_work(answer: int, bits: RandomBits) -> int:
    """Clamped geometric noise on an answer in [0, 4), by inversion of one 8-bit uniform number."""
    masses = [[171, 43, 21, 21], [86, 85, 42, 43], [43, 42, 85, 86], [21, 21, 43, 171]][answer]
    drawn = bits.take(8)
    return next(output for output, end in enumerate(itertools.accumulate(masses)) if drawn < end)


def test_a_mechanism_with_fixed_work_does_not_leak_by_it() -> None:
    plain, joint = (
        [enumerate_law(fixed_work, answer, counted=counted) for answer in range(4)] for counted in (None, "bits")
    )
    for law, with_work in zip(plain, joint, strict=True):
        assert with_work.closed
        assert set(with_work.map(lambda pair: pair[1])) == {8}
        assert with_work.map(lambda pair: pair[0]) == law
    assert smallest_epsilon(joint[0], joint[1]) == smallest_epsilon(plain[0], plain[1])


coefficients = st.dictionaries(st.integers(0, 12), st.integers(0, 2**30), max_size=6)


@given(coefficients, coefficients)
def test_products_of_series_are_sums_over_pairs(a: dict[int, int], b: dict[int, int]) -> None:
    product = SeriesArithmetic(32, 100).product(Series.of(a), Series.of(b)).terms
    expected: Counter[int] = Counter()
    for (i, x), (j, y) in itertools.product(a.items(), b.items()):
        expected[i + j] += x * y
    assert product == {power: total >> 32 for power, total in expected.items() if total >> 32}


@given(coefficients)
def test_geometric_series_times_one_minus_the_ratio_is_one(ratio: dict[int, int]) -> None:
    if sum(ratio.values()) > 3 * 2**30:
        ratio = {power: coefficient // 4 for power, coefficient in ratio.items()}
    bits = 128
    scaled = {power: coefficient << (bits - 32) for power, coefficient in ratio.items()}
    series = SeriesArithmetic(bits, 20_000).geometric(Series.of(scaled)).terms
    for n in range(60):
        rounds = sum(scaled.get(k, 0) * series.get(n - k, 0) for k in range(n + 1))
        one = (1 << (2 * bits)) if n == 0 else 0
        error = (series.get(n, 0) << bits) - rounds - one
        assert -(1 << bits) <= error <= 0


def test_rejected_rounds_count_as_work() -> None:
    joint = enumerate_law(uniform_below, 3, counted="bits")
    assert all(
        joint.mass((value, 2 * rounds)) == Fraction(1, 4**rounds) for value in range(3) for rounds in range(1, 9)
    )

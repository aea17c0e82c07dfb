"""What is lost by bits that are not fair: as brute force over all extreme sources, and as a linear program, find it."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from attacklab.laws import Limits, enumerate_law, largest_ratio
from attacklab.laws.imperfect_bits import BitTree, EndlessBits, bit_tree, worst_delta, worst_ratio
from attacklab.model.errors import UsageError
from attacklab.model.random_bits import TapedBits
from mechanisms.core.flip import RationalResponse
from mechanisms.core.grid import Grid
from mechanisms.core.kernel import Kernel
from mechanisms.core.records import Answer
from mechanisms.laplace.exact import exact_dyadic_geometric

Sampler = Callable[[Any, Any], Any]
LIMITS = Limits(runs=300)
WITHIN = Fraction(1, 10)
KERNEL = Kernel(Answer(Fraction(1), Grid(0)), 0, ((5, 2, 1), (2, 3, 3), (1, 3, 4)))


def in_any_order(answer: int, bits: Any) -> int:
    """Takes more bits for one answer, and looks at the first word again after the second."""
    word = bits.take(2 + answer)
    if word < 1:
        return 0
    coin = bits.take(1)
    return 1 + (word < 2 + coin) + (coin and word >= 3)


def returns_its_word(answer: int, bits: Any) -> int:
    bits.take(0)
    word: int = bits.take(2)
    return word if answer or bits.take(1) else 0


def by_calls(answer: int, bits: Any) -> int:
    flips = [bits.call(bit_or_word, size) for size in (1, 2)]
    return sum(flips) ^ (answer and flips[0])


def bit_or_word(size: int, bits: Any) -> int:
    return int(bits.take(size) > 0)


SMALL: dict[str, tuple[Sampler, Any, Any]] = {
    "kernel": (KERNEL.release, 0, 1),
    "response": (RationalResponse(Fraction(3, 8)).release, True, False),
    "words in any order": (in_any_order, 0, 1),
    "a word that is returned": (returns_its_word, 0, 1),
    "calls": (by_calls, 0, 1),
}
"""Samplers that take at most four bits, with two inputs."""


def trees(sampler: Sampler, *inputs: Any, limits: Limits = LIMITS) -> tuple[BitTree, BitTree]:
    first, second = (bit_tree(sampler, input_, limits=limits) for input_ in inputs)
    return first, second


def outputs_of(sampler: Sampler, input_: Any, length: int) -> list[Any]:
    """The output on each sequence of so many bits."""
    return [sampler(input_, TapedBits(sequence, length)) for sequence in range(1 << length)]


def extreme_sources(length: int, share: float) -> np.ndarray[Any, Any]:
    """The probabilities of all sequences, a row for each source all of whose bits are as unfair as they may be."""
    nodes = (1 << length) - 1
    ones = np.where(np.arange(1 << nodes)[:, np.newaxis] >> np.arange(nodes) & 1, share, 1 - share)
    probabilities = np.ones((1 << nodes, 1))
    for level in range(length):
        bits = ones[:, (1 << level) - 1 : (1 << (level + 1)) - 1]
        halves = np.stack([probabilities * (1 - bits), probabilities * bits], axis=2)
        probabilities = halves.reshape(len(halves), -1)
    return probabilities


@pytest.mark.parametrize("name", SMALL)
def test_the_worst_of_small_samplers_is_that_of_all_extreme_sources_and_all_events(name: str) -> None:
    """A loss is convex in each probability of a bit, so that an extreme source is the worst."""
    sampler, *inputs = SMALL[name]
    first, second = trees(sampler, *inputs)
    length = max(first.most_bits, second.most_bits)
    sides = [outputs_of(sampler, input_, length) for input_ in inputs]
    outcomes = sorted({*sides[0], *sides[1]})
    sources = extreme_sources(length, 0.5 + float(WITHIN))
    p, q = (sources @ np.array([[float(output == o) for o in outcomes] for output in side]) for side in sides)
    with np.errstate(divide="ignore"):
        ratio = max(float((one[one > 0] / other[one > 0]).max()) for one, other in ((p, q), (q, p)))
    assert float(worst_ratio(first, second, WITHIN).ratio) == pytest.approx(ratio, rel=1e-12)
    delta = max(float(np.maximum(one - 1.25 * other, 0).sum(axis=1).max()) for one, other in ((p, q), (q, p)))
    found = worst_delta(first, second, math.log(1.25), WITHIN)
    assert float(found.lower) == pytest.approx(delta, abs=1e-12)
    assert float(found.upper) == pytest.approx(delta, abs=1e-12)


def largest_by_linear_program(first: list[bool], second: list[bool], share: float) -> float:
    """The largest P[A]/P[B] of two sets of sequences: P[A] where all is scaled so that P[B] = 1 (Charnes, Cooper 1962).

    The unknowns are the scaled probabilities of all beginnings of sequences, the root first.
    """
    size = 2 * len(first) - 1
    leaves = len(first) - 1
    bounds, sums = [], []
    for node in range(leaves):
        row = np.zeros(size)
        row[[node, 2 * node + 1, 2 * node + 2]] = -1, 1, 1
        sums.append(row)
        for child in (2 * node + 1, 2 * node + 2):
            row = np.zeros(size)
            row[[node, child]] = -share, 1
            bounds.append(row)
    gain, scale = np.zeros(size), np.zeros(size)
    gain[leaves:], scale[leaves:] = first, second
    solved = linprog(
        -gain,
        A_ub=np.array(bounds),
        b_ub=np.zeros(len(bounds)),
        A_eq=np.array([*sums, scale]),
        b_eq=[0.0] * len(sums) + [1.0],
    )
    assert solved.status == 0
    return -float(solved.fun)


@pytest.mark.parametrize("within", [0.01, 0.2])
def test_the_worst_of_geometric_noise_of_fixed_work_is_that_of_a_linear_program(within: float) -> None:
    term = exact_dyadic_geometric(ratio=Fraction(1, 2), lower=0, upper=3)
    worst = 0.0
    for answers in itertools.pairwise(range(4)):
        sides = [outputs_of(term.release, answer, term.bits) for answer in answers]
        of_pair = max(
            largest_by_linear_program([o == y for o in p], [o == y for o in q], 0.5 + within)
            for p, q in (sides, sides[::-1])
            for y in set(sides[0])
        )
        assert float(worst_ratio(*trees(term.release, *answers), within).ratio) == pytest.approx(of_pair, rel=1e-7)
        worst = max(worst, of_pair)
    assert worst > 2.01


@pytest.mark.parametrize("name", SMALL)
def test_fair_bits_give_the_law_that_enumeration_finds_and_lose_what_it_loses(name: str) -> None:
    sampler, *inputs = SMALL[name]
    first, second = trees(sampler, *inputs)
    laws = [enumerate_law(partial(sampler, input_)) for input_ in inputs]
    assert [first.law(), second.law()] == laws
    fair = max(largest_ratio(*laws).lower, largest_ratio(*laws[::-1]).lower)
    assert worst_ratio(first, second, 0).ratio == fair


def test_worse_sources_lose_more_and_no_more_than_their_bits_allow() -> None:
    """Each of W bits changes a ratio by (1 + 2γ)/(1 − 2γ) at most."""
    term = exact_dyadic_geometric(ratio=Fraction(3, 8), lower=0, upper=7)
    first, second = trees(term.release, 3, 4)
    losses = [math.log(worst_ratio(first, second, within).ratio) for within in (0, 0.001, 0.01, 0.1, 0.4)]
    assert losses == sorted(losses)
    assert losses[2] < losses[0] + term.bits * math.log(1.02 / 0.98)


def test_many_outcomes_have_bounds_that_hold_what_random_sources_reach() -> None:
    """More than ten outcomes belong to the worst event or not."""
    rows = ((1,) * 16, tuple(2 if place % 2 else 0 for place in range(16)))
    first, second = trees(Kernel(Answer(Fraction(1), Grid(0)), 0, rows, Fraction(1)).release, 0, 1)
    found, source = worst_delta(first, second, 0.25, WITHIN), random.Random(5)
    reached = 0.0
    for _ in range(200):
        shares = [source.choice((0.4, 0.6)) for _ in range(15)]
        masses = np.array([1.0])
        for level in range(4):
            ones = np.array(shares[(1 << level) - 1 : (1 << (level + 1)) - 1])
            masses = np.stack([masses * (1 - ones), masses * ones], axis=1).ravel()
        p, q = masses, np.array([0.0 if place % 2 == 0 else masses[place] + masses[place - 1] for place in range(16)])
        for one, other in ((p, q), (q, p)):
            reached = max(reached, float(np.maximum(one - math.exp(0.25) * other, 0).sum()))
    assert 0.5 < reached <= float(found.lower) + 1e-12
    assert found.lower <= found.upper <= 1


def test_an_outcome_of_one_input_alone_needs_more_than_any_epsilon() -> None:
    first, second = trees(lambda answer, bits: answer * bits.take(1), 0, 1)
    worst = worst_ratio(first, second, WITHIN)
    assert (worst.ratio, worst.outcome, worst.reverse) == (math.inf, 1, True)


def test_endless_samplers_and_bits_that_are_not_within_a_half_of_fair_are_refused() -> None:
    for endless in (RationalResponse(Fraction(1, 3)).release, lambda _, bits: bits.take(20)):
        with pytest.raises(EndlessBits, match="worst source of bits is found for finitely many"):
            bit_tree(endless, True, limits=LIMITS)
    first, second = trees(KERNEL.release, 0, 1)
    for within in (-0.01, 0.5, 1):
        with pytest.raises(UsageError, match="from 0 to less than 1/2 away from fair"):
            worst_ratio(first, second, within)


def test_runs_of_hundreds_of_draws_are_judged() -> None:
    """That all are ones is likelier by the last one, whose probability the source lowers to 4/10."""

    def all_ones(needed: int, bits: Any) -> bool:
        return all(bits.take(1) for _ in range(needed))

    first, second = trees(all_ones, 399, 400, limits=Limits())
    worst = worst_ratio(first, second, WITHIN)
    assert (worst.ratio, worst.outcome, worst.reverse) == (1 / Fraction(4, 10), True, False)

"""The experiments on exact laws: what their records hold, and that figures and paragraphs come from these alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import accumulate, product
from typing import Any

import pytest

from experiments import definition, noisy_max_laws, printed_samplers
from tests.system.experiments.records import Data, committed_record


@pytest.fixture(scope="module")
def recorded() -> dict[str, Data]:
    """What a full run of each experiment wrote."""
    return {name: committed_record(name) for name in ("definition", "noisy_max_laws", "printed_samplers")}


# Report noisy max


def test_exponential_noise_gives_permute_and_flip_and_not_the_exponential_mechanism(recorded: dict[str, Data]) -> None:
    measured = recorded["noisy_max_laws"]["measured"]
    at = measured["gaps"].index(1.0)
    for name, expected in (("gumbel", 1 / (1 + math.e)), ("exponential", math.exp(-1) / 2)):
        lower, upper = measured["worse"][name][at]
        assert lower - 1e-15 <= expected <= upper + 1e-15
        assert upper - lower < 1e-9
    assert round(measured["worse"]["gumbel"][at][0], 3) == 0.269
    assert round(measured["worse"]["exponential"][at][0], 3) == 0.184
    for gap, (lower, upper) in zip(measured["gaps"], measured["theorem_3_13"], strict=True):
        assert lower - 1e-15 <= 1 / (1 + math.exp(gap)) - math.exp(-gap) / 2 <= upper + 1e-15
    for name, bits in (("gumbel", 38), ("exponential", 38), ("laplace", 10)):
        assert max(upper for _, upper in measured["distance"][name]) < 2**-bits


def test_the_series_for_discrete_laplace_noise_is_the_sum_over_both_noises() -> None:
    q = math.exp(-1)
    noise = {n: (1 - q) / (1 + q) * q ** abs(n) for n in range(-60, 61)}
    for gap in range(4):
        summed = sum(
            (p1 * p2) * (1 if b - a > gap else 0.5 if b - a == gap else 0)
            for a, p1 in noise.items()
            for b, p2 in noise.items()
        )
        assert float(noisy_max_laws.discrete_laplace_worse(q, Fraction(gap))) == pytest.approx(summed, abs=1e-14)


# Printed and published samplers


def test_the_printed_index_gives_32_32_0_of_64_and_the_corrected_one_a_third_each(recorded: dict[str, Data]) -> None:
    laws = recorded["printed_samplers"]["measured"]["equal_weights"]
    counts: Counter[int] = Counter()
    for bits in product((0, 1), repeat=6):
        s = sum(Fraction(bit * 2, 2**i) for i, bit in enumerate(bits, 1))
        counts[math.floor(s)] += 1
    assert [counts[i] for i in range(3)] == [32, 32, 0]
    assert [Fraction(mass) * 64 for mass in laws["algorithm_2_printed"]] == [32, 32, 0]
    assert laws["algorithm_3_printed"] == ["1/4", "1/4", "1/2"]
    for name in ("algorithm_2", "algorithm_3"):
        assert laws[name] == ["1/3"] * 3


def test_the_published_sampler_never_draws_an_outcome_that_its_neighbour_can_draw(recorded: dict[str, Data]) -> None:
    published = recorded["printed_samplers"]["measured"]["published"]
    for cost, light, first in zip(published["costs"], published["light"], published["first"], strict=True):
        ends = list(accumulate([Fraction(1)] * 63 + [Fraction(1, 2**cost)]))
        kept = [Fraction(s, 256) for s in range(2**14) if Fraction(s, 256) <= ends[-1]]
        assert Fraction(light) == Fraction(sum(s > ends[-2] for s in kept), len(kept))
        assert Fraction(first) == Fraction(257, len(kept))
    assert published["costs"][-2:] == [8, 9]
    assert published["light"][-2:] == ["1/16130", "0"]
    assert published["light_corrected"] == [f"1/{63 * 2**cost + 1}" for cost in published["costs"]]
    lower, upper = published["breach"]
    assert lower - 1e-18 <= 1 / 16130 <= upper + 1e-18
    assert published["breach_corrected"] == [0, 0]


def test_what_draws_tell_is_what_all_tapes_of_few_draws_show(recorded: dict[str, Data]) -> None:
    """Algorithm 4 as printed with two draws, by all 256 tapes; corrected, no more than the outcome alone in the end."""
    found, laws = recorded["printed_samplers"]["measured"], []
    for weights in printed_samplers.NEIGHBOURS:
        ends, law = list(accumulate(weights)), Counter[Any]()
        for tape in product(range(16), repeat=2):
            firsts = [(sum(end <= s for end in ends), at) for at, s in enumerate(tape) if s < ends[-1]]
            law[firsts[0] if firsts else None] += 1
        laws.append(law)
    apart = sum(abs(laws[0][seen] - laws[1][seen]) for seen in {*laws[0], *laws[1]}) / 2 / 256
    assert found["rounds_printed"][1] == pytest.approx(apart, abs=1e-12)
    alone = sum(abs(Fraction(p, 15) - Fraction(q, 9)) for p, q in zip(*printed_samplers.NEIGHBOURS, strict=True)) / 2
    assert found["output"] == pytest.approx(float(alone), abs=1e-12)
    assert alone <= found["rounds"][-1] < alone + Fraction(1, 1000)
    assert sorted(found["rounds"], reverse=True) == found["rounds"]


# The definition


def hockey_sticks(weights: dict[int, float], shift: int, epsilons: list[float]) -> Iterator[float]:
    """δ(ε) of additive noise by summing over its weights in binary64."""
    total = sum(weights.values())
    for epsilon in epsilons:
        growth = math.exp(epsilon)
        yield sum(max(0.0, w - growth * weights.get(n - shift, 0.0)) for n, w in weights.items()) / total


def test_delta_of_epsilon_is_what_summing_over_the_noise_gives(recorded: dict[str, Data]) -> None:
    measured = recorded["definition"]["measured"]
    noises = {
        "laplace": ({n: math.exp(-abs(n) / definition.STEPS) for n in range(-400, 401)}, definition.STEPS),
        "gaussian": ({n: math.exp(-(n**2) / (2 * definition.SIGMA**2)) for n in range(-120, 121)}, 1),
    }
    for name, (weights, shift) in noises.items():
        summed = list(hockey_sticks(weights, shift, measured["epsilons"]))
        assert measured["delta"][name] == pytest.approx(summed, abs=1e-11)
    allowed = [max(0.0, (math.e - math.exp(epsilon)) / (1 + math.e)) for epsilon in measured["epsilons"]]
    assert measured["delta"]["response"] == pytest.approx(allowed, abs=1e-11)
    assert measured["coarse_delta"] == pytest.approx((math.e - math.exp(0.5)) / (1 + math.e), abs=1e-11)
    assert round(measured["delta"]["laplace"][measured["epsilons"].index(0.5)], 4) == 0.2212

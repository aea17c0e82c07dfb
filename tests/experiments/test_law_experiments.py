"""The experiments on exact laws: what their records hold, and that figures and paragraphs come from these alone."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import accumulate, product

import pytest

from tests.experiments.records import Data, committed_record

pytestmark = pytest.mark.slow


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

"""The experiments on exact laws: what their records hold, and laws and bounds by another route."""

import math
from collections import Counter
from fractions import Fraction
from itertools import accumulate, product

import pytest

from attacklab import Law, Limits, SeededBits, Verdict, all_databases, enumerate_law, prove
from experiments import people_in_graphs, pumpkin_auction
from experiments.common.karate_club import CLUB
from experiments.targets.catastrophes import exact_catastrophe, naive_catastrophe
from mechanisms.catastrophe import exact, naive
from mechanisms.exponential.exact import exact_exponential
from mechanisms.published import discrete_laplace
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


LIMITS = Limits(unresolved=Fraction(1, 1 << 30))
FEW_PRICES = range(1, 7)
FEW_BIDS = {2: 3, 6: 1}


@pytest.fixture
def small_auction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pumpkin_auction, "PRICES", FEW_PRICES)
    monkeypatch.setattr(pumpkin_auction, "HIGHEST", FEW_PRICES[-1])
    monkeypatch.setattr(pumpkin_auction, "SENSITIVITY", FEW_PRICES[-1])


def agree(p: Law, q: Law) -> bool:
    return all(max(p[o].lower, q[o].lower) <= min(p[o].upper, q[o].upper) for o in {*p, *q})


# The pumpkin auction


@pytest.mark.usefixtures("small_auction")
@pytest.mark.parametrize("factor", [1, 2])
def test_the_law_of_an_exponential_price_is_that_of_the_exact_sampler(factor: int) -> None:
    utilities = [pumpkin_auction.revenue(FEW_BIDS, price) for price in FEW_PRICES]
    term = exact_exponential(epsilon=pumpkin_auction.EPSILON, sensitivity=FEW_PRICES[-1], monotone=factor == 1)
    sampled = enumerate_law(term.release, tuple(utilities), limits=LIMITS)
    assert agree(sampled.map(lambda place: FEW_PRICES[place]), pumpkin_auction.exponential(FEW_BIDS, factor))


@pytest.mark.usefixtures("small_auction")
@pytest.mark.parametrize("bids", [{1: 1}, {2: 3, 6: 1}, {6: 1}])
def test_the_law_of_a_noisy_price_is_that_of_the_exact_sampler_clamped(bids: dict[int, int]) -> None:
    best = pumpkin_auction.best_price(bids)
    noise = enumerate_law(discrete_laplace, Fraction(2), limits=LIMITS)
    sampled = noise.map(lambda n: min(max(best + n, FEW_PRICES[0]), FEW_PRICES[-1]))
    assert agree(sampled, pumpkin_auction.noisy_price(bids, 2))


def needed(name: str) -> float:
    law = pumpkin_auction.MECHANISMS[name][2](pumpkin_auction.BIDS)
    return pumpkin_auction.needed(name, pumpkin_auction.BIDS, law)


@pytest.mark.parametrize("name", ["laplace", "exponential", "monotone"])
def test_prices_that_keep_the_claim_need_no_more_and_a_little_noise_does(name: str) -> None:
    assert 0 < needed(name) <= pumpkin_auction.EPSILON
    assert needed("little") > 20 * pumpkin_auction.EPSILON


# People in graphs


@pytest.mark.parametrize("bound", [3, 6, 12])
def test_one_person_gets_around_the_bound_on_friends(bound: int) -> None:
    few = people_in_graphs.among_few_friends(CLUB, bound)
    moves = [abs(few - people_in_graphs.among_few_friends(graph, bound)) for graph in people_in_graphs.rewirings(bound)]
    assert max(moves) > bound


def test_the_coin_in_doubles_is_refuted_on_every_pair_and_the_exact_one_is_proved_on_every_pair() -> None:
    databases = all_databases(2, [0, 1])
    refuted = prove(naive_catastrophe(), inputs=databases)
    assert refuted.verdict is Verdict.VIOLATED
    assert "8 of 8 pairs refute the claim" in refuted.reason
    assert prove(exact_catastrophe(), inputs=databases).verdict is Verdict.PROVED


@pytest.mark.parametrize("delta", [Fraction(1, 3), Fraction(5, 1 << 60)])
def test_everything_is_published_with_exactly_the_probability_that_is_asked_for(delta: Fraction) -> None:
    law = enumerate_law(lambda data, bits: exact.exact_catastrophe(data, bits, delta=delta), "all")
    assert float(law.mass("all")) == pytest.approx(float(delta), rel=1e-12)


@pytest.mark.parametrize(("delta", "published"), [(0.0, None), (1.0, (1, 0))])
def test_at_the_ends_nothing_and_everything_is_published(delta: float, published: tuple[int, ...] | None) -> None:
    for seed in range(8):
        assert naive.naive_catastrophe((1, 0), SeededBits(seed), delta=delta) == published
        assert exact.exact_catastrophe((1, 0), SeededBits(seed), delta=Fraction(delta)) == published
    with pytest.raises(ValueError, match="probability"):
        exact.exact_catastrophe((1, 0), SeededBits(0), delta=Fraction(3, 2))

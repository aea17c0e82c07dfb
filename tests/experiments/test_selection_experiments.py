"""The pumpkin auction, the accuracy of selections, and people in graphs: their laws and bounds by another route."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from attacklab.laws import Law, Limits, enumerate_law
from experiments import accuracy_of_selection, people_in_graphs, pumpkin_auction
from experiments.common.karate_club import CLUB
from mechanisms.exponential.exact import exact_exponential
from mechanisms.published import discrete_laplace

pytestmark = pytest.mark.slow

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


# Theorem 3.11, corollary 3.12 and example 3.6


@pytest.mark.parametrize("name", accuracy_of_selection.CASES)
@pytest.mark.parametrize("margin", accuracy_of_selection.MARGINS[::6])
def test_no_law_exceeds_the_theorem(name: str, margin: Fraction) -> None:
    _, _, make = accuracy_of_selection.CASES[name]
    assert accuracy_of_selection.tail(make(margin)).upper <= math.exp(-margin) * (1 + 1e-12)


# People in graphs


@pytest.mark.parametrize("bound", [3, 6, 12])
def test_one_person_gets_around_the_bound_on_friends(bound: int) -> None:
    few = people_in_graphs.among_few_friends(CLUB, bound)
    moves = [abs(few - people_in_graphs.among_few_friends(graph, bound)) for graph in people_in_graphs.rewirings(bound)]
    assert max(moves) > bound

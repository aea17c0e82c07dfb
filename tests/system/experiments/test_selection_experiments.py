"""The pumpkin auction, the accuracy of selections, and people in graphs: their laws and bounds by another route."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from attacklab.laws import Law, Limits, enumerate_law
from experiments import accuracy_of_selection, people_in_graphs, pumpkin_auction
from experiments.common.karate_club import CLUB, PEOPLE, Graph, degrees, rewired
from mechanisms.exponential.exact import exact_exponential
from mechanisms.published import discrete_laplace

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


def test_the_club_is_the_published_one() -> None:
    """Zachary 1977: 34 people, 78 edges, 16 friends of the instructor (1) and 17 of the officer (34)."""
    friends = degrees(CLUB)
    assert (len(friends), len(CLUB), friends[1], friends[34], min(friends.values())) == (PEOPLE, 78, 16, 17, 1)
    assert all(first < second for first, second in CLUB)


def by_linear_programme(graph: Graph, bound: int) -> float:
    """The same maximum as `fractional_edges`, without a flow."""
    edges = sorted(graph)
    at = np.array([[person in edge for edge in edges] for person in range(1, PEOPLE + 1)], dtype=float)
    return -float(linprog([-1.0] * len(edges), A_ub=at, b_ub=[bound] * PEOPLE, bounds=(0, 1)).fun)


@pytest.mark.parametrize("bound", [1, 2, 4, 16])
def test_the_flow_is_the_largest_fractional_subgraph(bound: int) -> None:
    source = random.Random(bound)
    people = range(1, PEOPLE + 1)
    drawn = frozenset((a, b) for a in people for b in range(a + 1, PEOPLE + 1) if source.random() < 0.2)
    for graph in (CLUB, drawn):
        assert people_in_graphs.fractional_edges(graph, bound) == pytest.approx(by_linear_programme(graph, bound))


def test_one_person_moves_the_flow_by_no_more_than_the_bound_and_the_truncation_by_more() -> None:
    source = random.Random(1)
    for bound in (1, 3, 12):
        graphs = people_in_graphs.rewirings(bound)
        for person in range(1, PEOPLE + 1, 5):
            drawn = frozenset(source.sample(range(1, PEOPLE + 1), source.randrange(PEOPLE))) - {person}
            graphs.append(rewired(CLUB, person, drawn))
        whole = people_in_graphs.fractional_edges(CLUB, bound)
        assert all(abs(whole - people_in_graphs.fractional_edges(graph, bound)) <= bound for graph in graphs)
    few = people_in_graphs.among_few_friends(CLUB, 12)
    assert max(abs(few - people_in_graphs.among_few_friends(graph, 12)) for graph in graphs) > 12

"""The pumpkin auction, the accuracy of selections, and people in graphs: their laws and bounds by another route."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from gmpy2 import mpq
from scipy.optimize import linprog

from attacklab.laws import Bounds, Law, Limits, enumerate_law, exp_bounds
from experiments import accuracy_of_selection, people_in_graphs, pumpkin_auction
from experiments.common.adult import marital_counts
from experiments.common.karate_club import CLUB, PEOPLE, Graph, degrees, rewired
from mechanisms.exponential.exact import exact_exponential
from mechanisms.published import discrete_laplace
from tests.system.experiments.records import committed_record

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


def test_the_fourth_bidder_buys_at_one_dollar_too() -> None:
    assert [pumpkin_auction.revenue(pumpkin_auction.BIDS, price) for price in (100, 101, 300, 301, 302)] == [
        400,
        101,
        300,
        301,
        0,
    ]
    assert pumpkin_auction.best_price(pumpkin_auction.BIDS) == 100


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


def test_what_is_said_of_four_bidders_holds_for_the_mechanisms_and_not_for_every_price() -> None:
    """The price 1.00 earns all of the best revenue whatever is bid, at no ε."""
    data = committed_record("pumpkin_auction")
    measured, text = data["measured"], " ".join(pumpkin_auction.explain(data).split())
    assert measured["crowds"][0] == 1
    two = [measured["share"][name][0] for name in ("exponential", "monotone")]
    assert f"From four bidders these two earn {two[0]:.0%} and {two[1]:.0%}" in text
    assert f"a blind guess earns {measured['guess']:.0%}" in text
    assert measured["guess"] < min(two)
    assert pumpkin_auction.share(pumpkin_auction.BIDS, Law({100: mpq(1)})) == 1
    assert "no price" not in text


def test_no_bidder_moves_a_revenue_by_more_than_its_price() -> None:
    bids = pumpkin_auction.crowd_of(3)
    for other in pumpkin_auction.neighbours(bids):
        revenues = [[pumpkin_auction.revenue(b, price) for price in pumpkin_auction.PRICES] for b in (bids, other)]
        moves = [abs(before - after) for before, after in zip(*revenues, strict=True)]
        assert all(move in (0, price) for move, price in zip(moves, pumpkin_auction.PRICES, strict=True))
        assert any(moves)


# Theorem 3.11, corollary 3.12 and example 3.6


@pytest.mark.parametrize("name", accuracy_of_selection.CASES)
@pytest.mark.parametrize("margin", accuracy_of_selection.MARGINS[::6])
def test_no_law_exceeds_the_theorem(name: str, margin: Fraction) -> None:
    _, _, make = accuracy_of_selection.CASES[name]
    assert accuracy_of_selection.tail(make(margin)).upper <= math.exp(-margin) * (1 + 1e-12)


def test_the_tail_on_the_adult_table_is_that_of_the_exact_sampler() -> None:
    counts = list(marital_counts().values())
    _, _, make = accuracy_of_selection.CASES["adult"]
    law = enumerate_law(
        exact_exponential(epsilon=1).release, tuple(Fraction(count, 1000) for count in counts), limits=LIMITS
    )
    margin = accuracy_of_selection.MARGINS[2]
    edge = max(counts) - 2000 * (math.log(len(counts)) + margin)
    sampled = law.probability(lambda place: counts[place] <= edge)
    found = accuracy_of_selection.tail(make(margin))
    assert found.lower > 0
    assert max(found.lower, sampled.lower) <= min(found.upper, sampled.upper)


@pytest.mark.parametrize("count", [1, 5])
def test_errors_between_two_counts_have_closed_forms(count: int) -> None:
    worse = accuracy_of_selection.worse(exact_exponential(epsilon=1), count, LIMITS)
    growth = exp_bounds(Fraction(count, 2))
    closed = Bounds(1 / (1 + growth.upper), 1 / (1 + growth.lower))
    assert max(worse.lower, closed.lower) <= min(worse.upper, closed.upper)
    assert worse.upper <= accuracy_of_selection.corollary(count)


# People in graphs


def test_what_is_said_of_bounds_holds_where_nothing_is_cut() -> None:
    """At the largest bound every friendship is kept, and the error is still half of what it is without a bound."""
    data = committed_record("people_in_graphs")
    measured, text = data["measured"], " ".join(people_in_graphs.explain(data).split())
    assert measured["kept"][-1] == len(CLUB)
    assert people_in_graphs.errors(measured)[-1] < 0.55 * people_in_graphs.mean_noise(PEOPLE - 1) / len(CLUB)
    assert "helps only if one person cannot move what is left by more than the bound" in text
    assert f"off by at most {min(people_in_graphs.errors(measured)):.0%}" in text
    assert "who picks D by looking at the graph has to pay for that look, too" in text


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


def test_the_mean_of_the_noise_is_that_of_its_law() -> None:
    law = enumerate_law(discrete_laplace, Fraction(2), limits=LIMITS)
    mean = sum(float(mass) * abs(noise) for noise, mass in law.masses.items())
    assert mean == pytest.approx(people_in_graphs.mean_noise(2.0), abs=1e-6)

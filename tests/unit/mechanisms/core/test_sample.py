"""Samples: whoever is in one has the stated probability, and the amplified loss is that of the laws."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import pytest

from mechanisms.core.claims import ApproximateDP, Claim
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.core.noisy import noisy
from mechanisms.core.records import Count
from mechanisms.core.sample import FixedSample, PoissonSample, spent_on_sample
from mechanisms.core.term import Mechanism, OneByOne, Relation
from mechanisms.published import two_sided_geometric
from tests.unit.mechanisms.enumeration import law_of


@dataclass(frozen=True)
class Shown(Mechanism):
    """Shows the sample."""

    relation: Relation = "add-remove"

    @property
    def claim(self) -> Claim:
        return ApproximateDP(Fraction(1))

    def prepared(self, data: Any) -> OneByOne:
        return OneByOne(lambda _: tuple(sorted(data)))


def test_each_record_is_in_a_poisson_sample_by_itself() -> None:
    rate = Fraction(1, 3)
    law = law_of(PoissonSample(Shown(), rate).prepared([1, 2, 3]).one)
    for size in range(4):
        for sample in combinations((1, 2, 3), size):
            assert law[sample] == rate**size * (1 - rate) ** (3 - size)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_every_sample_of_a_size_is_as_likely(size: int) -> None:
    law = law_of(FixedSample(Shown("substitute"), size, 4).prepared([1, 2, 3, 4]).one)
    assert law == {sample: Fraction(1, math.comb(4, size)) for sample in combinations((1, 2, 3, 4), size)}


@dataclass(frozen=True)
class GeometricCount(Mechanism):
    """The number of yeses with two-sided geometric noise of ratio ½, clamped to 0 and 3: ln 2."""

    relation: Relation = "add-remove"

    @property
    def claim(self) -> Claim:
        return ApproximateDP(Fraction(math.log(2)) + Fraction(1, 2**60))

    def prepared(self, data: Any) -> OneByOne:
        yes = sum(data)
        return OneByOne(lambda bits: min(max(yes + bits.call(two_sided_geometric, Fraction(1, 2)), 0), 3))


def loss(term: Mechanism, first: list[int], second: list[int]) -> float:
    p, q = (law_of(term.prepared(records).one, smallest=Fraction(1, 2**60)) for records in (first, second))
    return max(abs(math.log(p[y] / q[y])) for y in p)


def test_no_neighbours_lose_more_than_the_claim_and_some_lose_it() -> None:
    poisson, fixed = (
        PoissonSample(GeometricCount("add-remove"), Fraction(1, 4)),
        FixedSample(GeometricCount("substitute"), 1, 3),
    )
    added = [loss(poisson, [*rest, 1], list(rest)) for size in (0, 1) for rest in product((0, 1), repeat=size)]
    assert float(poisson.claim.epsilon) == pytest.approx(math.log(1.25))
    assert math.log(1.25) - 1e-3 < max(added) <= math.log(1.25) + 1e-6
    replaced = [loss(fixed, [*rest, 1], [*rest, 0]) for rest in product((0, 1), repeat=2)]
    assert float(fixed.claim.epsilon) == pytest.approx(math.log(4 / 3))
    assert math.log(4 / 3) - 0.1 < max(replaced) <= math.log(4 / 3) + 1e-6


@pytest.mark.parametrize("share", [Fraction(1, 4), Fraction(1, 1000), Fraction(1)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(5)])
def test_what_is_spent_on_a_sample_is_the_most_that_keeps_the_claim(epsilon: Fraction, share: Fraction) -> None:
    spent = spent_on_sample(epsilon, share)
    assert float(spent) == pytest.approx(math.log1p(math.expm1(epsilon) / share))
    claim = PoissonSample(noisy(Count(), DiscreteLaplace, spent), share).claim
    assert isinstance(claim, ApproximateDP)
    assert 0 <= epsilon - claim.epsilon < Fraction(1, 2**80)

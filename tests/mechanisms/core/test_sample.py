"""Samples and randomized responses: exact probabilities, exact losses, and shuffles that hide who said what."""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import pytest

from mechanisms.core.claims import ApproximateDP, Claim
from mechanisms.core.flip import ShuffledResponse
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.core.noisy import noisy
from mechanisms.core.records import Count
from mechanisms.core.sample import FixedSample, PoissonSample, spent_on_sample
from mechanisms.core.term import Mechanism, OneByOne, Relation
from tests.mechanisms.enumeration import law_of


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


@pytest.mark.parametrize("share", [Fraction(1, 4), Fraction(1, 1000), Fraction(1)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(5)])
def test_what_is_spent_on_a_sample_is_the_most_that_keeps_the_claim(epsilon: Fraction, share: Fraction) -> None:
    spent = spent_on_sample(epsilon, share)
    assert float(spent) == pytest.approx(math.log1p(math.expm1(epsilon) / share))
    claim = PoissonSample(noisy(Count(), DiscreteLaplace, spent), share).claim
    assert isinstance(claim, ApproximateDP)
    assert 0 <= epsilon - claim.epsilon < Fraction(1, 2**80)


def law_of_shuffled(flip: Fraction, answers: tuple[int, ...]) -> dict[Any, Fraction]:
    return law_of(ShuffledResponse(flip, len(answers), Fraction(1)).prepared(list(answers)).one)


def test_shuffled_answers_depend_on_their_number_alone_and_every_order_is_as_likely() -> None:
    flip = Fraction(1, 8)
    laws = {answers: law_of_shuffled(flip, answers) for answers in product((0, 1), repeat=3)}
    for answers, law in laws.items():
        assert law == laws[tuple(sorted(answers))]
        assert sum(law.values()) == 1
        for output, probability in law.items():
            assert probability == law[tuple(sorted(output))]

"""Randomized responses: exact probabilities, exact losses, and shuffles that hide who said what."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import gmpy2
import pytest

from mechanisms.core.claims import ApproximateDP
from mechanisms.core.flip import (
    RationalResponse,
    Response,
    ShuffledResponse,
    delta_of_shuffled,
    enclose_logistic,
)
from tests.unit.mechanisms.enumeration import law_of


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), 1, 3, 40])
def test_the_truth_has_its_probability(epsilon: Any) -> None:
    for truth in (True, False):
        law = law_of(Response(epsilon).prepared(truth).one, smallest=Fraction(1, 2**100))
        with gmpy2.context(precision=600):
            ideal = gmpy2.mpq(1 / (1 + gmpy2.exp(-gmpy2.mpfr(epsilon))))
        assert 0 <= ideal - gmpy2.mpq(law[truth]) < gmpy2.mpq(1, 2**90)
        assert 0 <= 1 - ideal - gmpy2.mpq(law[not truth]) < gmpy2.mpq(1, 2**90)
    assert Response(epsilon).claim == ApproximateDP(Fraction(epsilon))


@pytest.mark.parametrize("gamma", [Fraction(1, 10**9), Fraction(1), Fraction(64), Fraction(65), Fraction(10**6)])
def test_the_enclosure_holds_the_logistic_function(gamma: Fraction) -> None:
    for precision in (64, 128, 1000):
        below, above = enclose_logistic(gamma, precision)
        with gmpy2.context(precision=3000):
            ideal = gmpy2.mpq(1 / (1 + gmpy2.exp(-gmpy2.mpfr(gamma))))
        assert below <= ideal <= above
        assert above - below <= gmpy2.mpq(1, 2 ** (precision - 2))


@pytest.mark.parametrize("flip", [Fraction(1, 4), Fraction(1, 1000), Fraction(1, 2), 0.125])
def test_a_rational_lie_has_its_probability_and_its_loss(flip: Any) -> None:
    term, exact = RationalResponse(flip), Fraction(flip)
    for truth in (True, False):
        assert law_of(term.prepared(truth).one) == {truth: 1 - exact, not truth: exact}
    assert isinstance(term.claim, ApproximateDP)
    assert float(term.claim.epsilon) == pytest.approx(math.log((1 - exact) / exact), abs=1e-15)
    with gmpy2.context(precision=300):
        assert gmpy2.mpq(term.claim.epsilon) >= gmpy2.mpq(gmpy2.log(gmpy2.mpfr(gmpy2.mpq((1 - exact) / exact))))


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


@pytest.mark.parametrize("people", [1, 2, 3])
def test_delta_is_that_of_the_laws(people: int) -> None:
    flip, epsilon = Fraction(1, 8), Fraction(1, 2)
    factor = Fraction(math.exp(0.5))
    worst = Fraction(0)
    for rest in product((0, 1), repeat=people - 1):
        first, second = (law_of_shuffled(flip, (own, *rest)) for own in (0, 1))
        for one, other in ((first, second), (second, first)):
            worst = max(worst, sum((max(p - factor * other[y], Fraction(0)) for y, p in one.items()), Fraction(0)))
    assert float(delta_of_shuffled(epsilon, flip, people)) == pytest.approx(float(worst), abs=1e-15)
    assert ShuffledResponse(flip, people, epsilon).claim.delta == delta_of_shuffled(epsilon, flip, people)

"""Sessions: the exact one stays within its budget, the naive one does not."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from mechanisms.core.claims import ApproximateDP
from mechanisms.interactive.exact import BUDGET, CHEAP, DEAR, Adversary, exact_query_session, offers
from tests.unit.mechanisms.enumeration import law_of


def test_every_transcript_is_within_the_budget_and_some_spend_it() -> None:
    term = exact_query_session(epsilon=1.5)
    assert term.claim == ApproximateDP(Fraction(3, 2))
    laws = [law_of(term.prepared(secret).one, smallest=Fraction(1, 2**80)) for secret in (True, False)]
    losses = [math.log(laws[0][answers] / laws[1][answers]) for answers in laws[0]]
    assert max(losses) == pytest.approx(1.5)
    assert min(losses) == pytest.approx(-1.5)


def test_a_dear_question_that_is_refused_is_followed_by_a_cheap_one() -> None:
    law = law_of(exact_query_session(epsilon=1).prepared(True).one, smallest=Fraction(1, 2**80))
    truths = [1 / (1 + math.exp(-price / BUDGET)) for price in (DEAR, CHEAP)]
    assert float(law[True, True]) == pytest.approx(math.prod(truths))


def test_the_adversary_looks_at_the_answers_and_ends_without_a_budget() -> None:
    assert (offers([]), offers([1, 1]), offers([1, 0])) == ((DEAR, CHEAP), (DEAR, CHEAP), (CHEAP,))
    assert Adversary(Fraction(1))((), Fraction(CHEAP, 2)) is None

"""Sessions: the exact one stays within its budget, the naive one does not."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import numpy as np

from attacklab.claims import PrivacyClaim
from attacklab.findings import Counts
from attacklab.statistics.inference import assess
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.interactive.adversary import BUDGET, CHEAP, DEAR, cheaper, offer
from mechanisms.interactive.exact import exact_query_session
from mechanisms.interactive.naive import naive_query_session
from tests.mechanisms.enumeration import law_of

HALF = BaseTwoEta(1, 1)
"""η = 1: a unit of the budget doubles the ratio of two probabilities."""


def test_every_transcript_is_within_the_budget() -> None:
    session = partial(exact_query_session, eta=HALF)
    laws = [law_of(session, secret) for secret in (True, False)]
    assert [sum(law.values()) for law in laws] == [1, 1]
    ratios = {laws[0][answers] / laws[1][answers] for answers in laws[0]}
    assert max(ratios) == 2**BUDGET
    assert min(ratios) == Fraction(1, 2**BUDGET)


def test_a_refused_dear_question_is_followed_by_a_cheap_one() -> None:
    law = law_of(partial(exact_query_session, eta=HALF), True)
    assert law[1, 1] == Fraction(2**DEAR, 1 + 2**DEAR) * Fraction(2**CHEAP, 1 + 2**CHEAP)


def test_the_naive_session_overspends_and_breaks_the_claim() -> None:
    rng = np.random.default_rng(0)
    yes, no = (
        sum(answers == (1, 1) for answers in naive_query_session(secret, 40_000, rng, epsilon=1.0))
        for secret in (True, False)
    )
    assert assess(PrivacyClaim(1.0), Counts(yes, no, 40_000), 1e-9).violated
    assert abs(math.log(yes / no) - 2 * DEAR / BUDGET) < 0.1


def test_the_adversary_looks_at_the_answers() -> None:
    assert (offer([]), offer([1, 1]), offer([1, 0])) == (DEAR, DEAR, CHEAP)
    assert (cheaper(DEAR), cheaper(CHEAP)) == (CHEAP, None)

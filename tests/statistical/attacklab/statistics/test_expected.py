"""The expected growth of evidence: what a gambler gains at the best stake, and what it says of rare events."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from attacklab.auditing.statistics.betting import evidence
from attacklab.auditing.statistics.expected import expected_evidence
from attacklab.model.claims import PrivacyClaim
from attacklab.model.findings import Counts

CLAIMS = [PrivacyClaim(1.0), PrivacyClaim(0.1, 1e-3), PrivacyClaim(9.0)]
RATES = [(0.5, 0.1), (0.1, 0.5), (0.99, 0.9), (1e-4, 0.0), (0.3, 0.3), (1.0, 0.0), (0.02, 0.019)]


def best_gain(claim: PrivacyClaim, p: float, q: float) -> float:
    """The gain a trial by the definition of the bet, outcome by outcome, over all stakes and directions."""
    largest_loss = math.exp(claim.epsilon) + claim.delta
    stakes = [2.0**-k for k in range(1, 17)] + [1 - 2.0**-k for k in range(1, 17)]
    gains = []
    for here, there in ((p, q), (1 - p, 1 - q), (q, p), (1 - q, 1 - p)):
        for stake in stakes:
            gain = 0.0
            for x, y in itertools.product((0, 1), repeat=2):
                chance = (here if x else 1 - here) * (there if y else 1 - there)
                won = (x - math.exp(claim.epsilon) * y - claim.delta) / largest_loss
                gain += chance * math.log1p(stake * won) if chance else 0.0
            gains.append(gain)
    return max(gains)


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
@pytest.mark.parametrize(("p", "q"), RATES)
def test_it_is_the_gain_of_the_best_stake(claim: PrivacyClaim, p: float, q: float) -> None:
    assert expected_evidence([claim], p, q) == pytest.approx(best_gain(claim, p, q), rel=1e-9, abs=1e-18)


def test_of_several_claims_the_one_that_is_broken_most_counts() -> None:
    p, q = np.array(RATES).T
    apart = [expected_evidence([claim], p, q) for claim in CLAIMS]
    assert np.array_equal(expected_evidence(CLAIMS, p, q), np.max(apart, axis=0))


def test_the_evidence_of_many_trials_comes_near_to_it() -> None:
    """With independent outputs in exact proportion, the wealth over all stakes is at most a factor of 128 behind."""
    claim, trials = PrivacyClaim(1.0), 10**6
    counts = Counts(first=500_000, second=100_000, trials=trials, both=50_000)
    expected = float(expected_evidence([claim], 0.5, 0.1)) * trials
    assert expected - math.log(128) - 1e-6 <= evidence(claim, counts) <= expected + 1e-6


def test_an_event_that_keeps_every_claim_expects_no_evidence() -> None:
    assert expected_evidence(CLAIMS, 0.3, 0.3) < 0
    assert expected_evidence(CLAIMS, 0.0, 0.0) == 0


def test_one_lucky_hit_is_worth_less_than_a_rate_that_is_seen_often_at_a_large_epsilon() -> None:
    claim = [PrivacyClaim(9.0)]
    assert expected_evidence(claim, 1 / 8192, 0.0) < expected_evidence(claim, 100 / 8192, 0.0)
    assert expected_evidence(claim, 0.5, 0.0) < math.exp(-9.0)

"""Choosing by the evidence that an event promises: what a gambler gains, and the right event however rare its hits."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest

from attacklab.auditing.statistics.betting import evidence
from attacklab.auditing.statistics.choosing import choosing_trials, expected_evidence, promised_evidence
from attacklab.model.claims import PrivacyClaim
from attacklab.model.findings import Counts


def promised(claims: Sequence[PrivacyClaim], *seen: Counts) -> np.ndarray:
    first, second = [counts.first for counts in seen], [counts.second for counts in seen]
    return promised_evidence(claims, first, second, seen[0].trials)


def best(claims: Sequence[PrivacyClaim], *seen: Counts) -> int:
    return int(promised(claims, *seen).max(axis=1).argmax())


def test_with_many_hits_it_is_what_known_probabilities_promise() -> None:
    """With 10^8 trials the posterior is as good as a point: the rest differs by under 1 part in 1 000."""
    claims, trials = [PrivacyClaim(0.2), PrivacyClaim(1.0, 0.01)], 10**8
    p, q = np.array([0.7, 0.3, 0.02]), np.array([0.2, 0.6, 0.001])
    seen = [Counts(int(here * trials), int(there * trials), trials) for here, there in zip(p, q, strict=True)]
    assert promised(claims, *seen).max(axis=1) == pytest.approx(expected_evidence(claims, p, q), rel=1e-3)


@pytest.mark.parametrize("epsilon", [2.0, 5.0, 8.0])
def test_at_a_large_epsilon_the_event_that_one_input_never_shows_is_the_best(epsilon: float) -> None:
    """The commoner event has twice as many hits under the other input as the claim's edge allows."""
    claim, trials = [PrivacyClaim(epsilon)], 10_000
    never, often = Counts(4_000, 0, trials), Counts(6_000, math.ceil(12_000 * math.exp(-epsilon)), trials)
    assert best(claim, often, never) == 1
    assert best(claim, never, often) == 0


def test_an_event_that_nobody_saw_promises_nothing_and_a_complement_what_its_event_does() -> None:
    claims = [PrivacyClaim(0.5), PrivacyClaim(6.0)]
    assert promised(claims, Counts(0, 0, 100)).max() <= 0
    event, complement, swapped = (Counts(*hits, 100) for hits in ((30, 2), (70, 98), (2, 30)))
    shown = promised(claims, event, complement, swapped)
    assert shown[0] == pytest.approx(shown[1])
    assert shown[0] == pytest.approx(shown[2])


@pytest.mark.parametrize(
    ("epsilon", "trials", "most"),
    [
        *((0.1, 100_000, 10_000), (3.0, 55, 5), (5.0, 100_000, 30_000), (7.0, 100_000, 50_000)),
        *((20.0, 100_000, 50_000), (5.0, 200_000, 37_993), (5.0, 10**6, 100_000), (20.0, 1, 1)),
    ],
)
def test_the_choosing_sample_grows_with_the_claim_up_to_half_of_the_trials(
    epsilon: float, trials: int, most: int
) -> None:
    assert choosing_trials(PrivacyClaim(epsilon), trials) == most


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

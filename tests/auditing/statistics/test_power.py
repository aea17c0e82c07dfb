"""What an audit says it can see, against how often it does see it."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from attacklab.auditing.statistics.betting import evidence
from attacklab.auditing.statistics.choosing import POWER, detects, smallest_detectable_advantage, trials_needed
from attacklab.model.claims import PrivacyClaim
from attacklab.model.findings import Counts

RUNS = 600


def frequency(claim: PrivacyClaim, p: float, q: float, trials: int, alpha: float) -> float:
    """How often the evidence at the end of a run refutes the claim at α/2, in as many simulated runs."""
    rng = np.random.default_rng(5)
    drawn = rng.multinomial(trials, [p * q, p * (1 - q), (1 - p) * q, (1 - p) * (1 - q)], size=RUNS)
    refuted = [
        evidence(claim, Counts(int(both + first), int(both + second), trials, int(both))) >= math.log(2 / alpha)
        for both, first, second, _ in drawn
    ]
    return float(np.mean(refuted))


CASES = [
    (PrivacyClaim(0.1), 400, 1e-3, 0.0),
    (PrivacyClaim(0.1), 3_000, 1e-6, 0.3),
    (PrivacyClaim(1.0, 0.01), 5_000, 1e-6, 0.05),
    (PrivacyClaim(1.0), 100_000, 1e-6, 0.2),
]


@pytest.mark.parametrize(("claim", "trials", "alpha", "base_rate"), CASES)
def test_the_smallest_detectable_advantage_is_detected_as_often_as_it_says(
    claim: PrivacyClaim, trials: int, alpha: float, base_rate: float
) -> None:
    """A power of 0.99 shows as less than 0.95 in 600 runs with probability below 1e-10 (Chernoff)."""
    smallest = smallest_detectable_advantage(claim, trials, alpha, base_rate)
    assert frequency(claim, base_rate + smallest, base_rate, trials, alpha) >= POWER
    assert frequency(claim, base_rate + 0.5 * smallest, base_rate, trials, alpha) < 0.5


@pytest.mark.parametrize(("p", "q"), [(1.0, 0.0), (0.7503, 0.2497), (0.27, 0.0), (0.06, 0.0147)])
def test_the_number_of_trials_said_to_be_needed_is_enough_and_not_far_too_many(p: float, q: float) -> None:
    """As above; runs that end after a third of the trials test the other side."""
    claim, alpha = PrivacyClaim(1.0), 1e-6
    needed = trials_needed(claim, p, q, alpha)
    assert frequency(claim, p, q, needed, alpha) >= POWER
    assert frequency(claim, p, q, needed // 3, alpha) < 0.5
    assert trials_needed(claim, q, p, alpha) == needed


@pytest.mark.parametrize("claim", [PrivacyClaim(0.1), PrivacyClaim(1.0, 0.05), PrivacyClaim(0.0, 0.3)])
def test_the_unlucky_number_of_trials_that_hold_both_outputs_is_the_smallest(claim: PrivacyClaim) -> None:
    """The evidence rises with that number, so an event said to be detected still is at its unlucky end."""
    shown = [evidence(claim, Counts(70, 20, 100, both)) for both in range(21)]
    assert shown == sorted(shown)
    advantage = smallest_detectable_advantage(claim, 2_000, 1e-6, 0.3)
    unlucky = (1 - POWER) / 3
    p, q = 0.3 + advantage, 0.3
    first, second = (int(stats.binom.ppf(*ends)) for ends in ((unlucky, 2_000, p), (1 - unlucky, 2_000, q)))
    both = int(stats.binom.ppf(unlucky, 2_000, p * q))
    assert evidence(claim, Counts(first, second, 2_000, both)) >= 0.98 * math.log(2e6)


@pytest.mark.parametrize(
    "claim", [PrivacyClaim(0.0, 0.9), PrivacyClaim(1.0), PrivacyClaim(6.0, 1e-3), PrivacyClaim(16.0)]
)
def test_no_counts_refute_in_fewer_trials_than_those_of_an_event_of_one_input_only(claim: PrivacyClaim) -> None:
    """It wins every bet; the fewest trials are those of the best stake, and what the mean over 124 bets costs."""
    fewest = trials_needed(claim, 1.0, 0.0, 1e-6)
    assert detects(claim, 1.0, 0.0, fewest, 1e-6)
    assert not detects(claim, 1.0, 0.0, round(0.98 * fewest), 1e-6)
    gain = math.log1p((1 - claim.delta) / (math.exp(claim.epsilon) + claim.delta))
    assert math.log(2e6) <= fewest * gain <= 1.02 * math.log(124 * 2e6)
    rng = np.random.default_rng(1)
    for _ in range(20):
        trials = min(fewest - 1, 1_000)
        first, second = (int(rng.integers(trials + 1)) for _ in range(2))
        both = int(rng.integers(max(0, first + second - trials), min(first, second) + 1))
        counts = Counts(first, second, trials, both)
        assert evidence(claim, counts) <= evidence(claim, Counts(trials, 0, trials)) + 1e-9


@pytest.mark.parametrize("epsilon", [4.0, 8.0, 16.0])
def test_an_event_that_only_one_input_shows_takes_the_trials_that_the_page_on_auditing_names(epsilon: float) -> None:
    """At the α of a run, and at that of one scenario among twenty."""
    page = (Path(__file__).parents[3] / "docs/how_to/auditing.md").read_text("utf-8")
    assert "takes 16 to 20·e^ε trials" in page
    for alpha in (1e-6, 5e-8):
        needed = trials_needed(PrivacyClaim(epsilon), 1.0, 0.0, alpha)
        assert 16 <= needed / math.exp(epsilon) <= 20

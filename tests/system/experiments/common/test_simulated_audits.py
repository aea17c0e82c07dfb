"""Simulated audits: the bound on the trials of any test, by brute force, and what is simulated."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab.model.claims import PrivacyClaim
from attacklab.reporting.experiment import Settings
from bench import evidence
from experiments.common.simulated_audits import by_betting, by_clopper_pearson, counts_at_looks, fewest_trials, looks

ALPHA = 1e-6


def divergence(p: float, other: NDArray[np.float64]) -> NDArray[np.float64]:
    return p * np.log(p / other) + (1 - p) * np.log((1 - p) / (1 - other))


@pytest.mark.parametrize(
    ("claim", "p", "q"),
    [
        (PrivacyClaim(1.0), 0.8, 0.2),
        (PrivacyClaim(1.0), 0.02, 0.001),
        (PrivacyClaim(1.0), 0.999, 0.98),
        (PrivacyClaim(0.5, 0.05), 0.5, 0.1),
    ],
)
def test_no_law_that_keeps_the_claim_is_nearer_than_the_bound_says(claim: PrivacyClaim, p: float, q: float) -> None:
    least = math.log(1 / ALPHA) / fewest_trials(claim, p, q, ALPHA)
    grid = (np.arange(3_000) + 0.5) / 3_000
    x, y = grid[:, np.newaxis], grid[np.newaxis]
    factor = math.exp(claim.epsilon)
    keeps = (x <= factor * y + claim.delta) & (1 - y <= factor * (1 - x) + claim.delta)
    kept = np.where(keeps, divergence(p, x) + divergence(q, y), math.inf).min()
    assert least <= kept <= 1.1 * least


def test_randomized_response_is_nearest_to_randomized_response() -> None:
    told, claimed = 1 / (1 + math.exp(-1.5)), 1 / (1 + math.exp(-1.0))
    expected = math.log(1 / ALPHA) / (2 * divergence(told, np.array(claimed)))
    assert fewest_trials(PrivacyClaim(1.0), told, 1 - told, ALPHA) == pytest.approx(expected, rel=1e-6)


def test_what_keeps_the_claim_has_no_such_bound() -> None:
    with pytest.raises(ValueError, match="do not break"):
        fewest_trials(PrivacyClaim(1.0), 0.3, 0.2, ALPHA)


def test_counts_add_up_at_every_look() -> None:
    """Each count is six standard deviations from its mean at the most; false alarm below 1e-8 by Chernoff."""
    seen = list(counts_at_looks(0.3, 0.1, 50_000, np.random.default_rng(2)))
    assert [counts.trials for counts in seen] == looks(50_000)
    assert looks(50_000)[0] == 64
    assert looks(50_000)[-1] == 50_000
    last = seen[-1]
    for count, rate in ((last.first, 0.3), (last.second, 0.1), (last.both, 0.03)):
        assert abs(count - 50_000 * rate) < 6.5 * math.sqrt(50_000 * rate)


def test_both_ways_of_deciding_refute_what_is_plainly_broken() -> None:
    rng = np.random.default_rng(4)
    claim = PrivacyClaim(1.0)
    for decision in (
        by_betting(claim, counts_at_looks(0.9, 0.01, 100_000, rng), ALPHA),
        by_clopper_pearson(claim, counts_at_looks(0.9, 0.01, 100_000, rng), ALPHA, 100_000),
    ):
        assert decision.violated
        assert decision.trials < 200
    kept = by_betting(claim, counts_at_looks(0.3, 0.3, 1_000, rng), ALPHA)
    assert (kept.violated, kept.trials) == (False, 1_000)


def test_real_audits_end_as_their_decisions_do_in_the_simulation() -> None:
    real = evidence._real_audits(Settings(share=0))
    assert real["agreed"] == real["audits"] == 20

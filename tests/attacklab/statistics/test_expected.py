"""The expected growth of evidence: that of the test by betting, in the long run."""

from __future__ import annotations

import numpy as np
import pytest

from attacklab.claims import PrivacyClaim
from attacklab.findings import Counts
from attacklab.statistics.betting import evidence
from attacklab.statistics.expected import expected_evidence


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_it_is_what_a_trial_of_exactly_those_frequencies_adds(epsilon: float) -> None:
    """The mean over stakes costs at most ln(4 · 31) in all, which a million trials make small."""
    claim, trials = PrivacyClaim(epsilon), 10**6
    for p, q in ((0.9, 0.1), (0.1, 0.9), (0.99, 0.3), (0.5, 0.0)):
        counts = Counts(round(p * trials), round(q * trials), trials, round(p * q * trials))
        grown = float(expected_evidence([claim], p, q))
        if grown > 0:
            assert evidence(claim, counts) == pytest.approx(grown * trials, abs=5)


def test_it_is_above_0_for_breaches_only_and_the_largest_over_claims() -> None:
    claims = [PrivacyClaim(0.0, 0.3), PrivacyClaim(1.0)]
    p, q = np.array([0.5, 0.6, 0.6]), np.array([0.4, 0.1, 0.5])
    shown = expected_evidence(claims, p, q)
    assert (shown > 0).tolist() == [False, True, False]
    assert shown.tolist() == np.maximum(*(expected_evidence([claim], p, q) for claim in claims)).tolist()

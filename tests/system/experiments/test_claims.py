"""The experiment on claims: verdicts as the theory has them, curves on the right side, and figures from JSON alone."""

from __future__ import annotations

import pytest
from scipy import stats

from attacklab.model.claims import GaussianDP
from experiments import claims
from tests.system.experiments.records import Data, committed_record


@pytest.fixture(scope="module")
def collected() -> Data:
    """What a full run found."""
    return committed_record("claims")


def test_no_noise_is_refuted_under_a_claim_that_it_keeps(collected: Data) -> None:
    """Ten audits share α = 1e-6."""
    refuted = {finding["target"] for finding in collected["findings"] if finding["verdict"] == "violated"}
    for noise, kinds in claims.KEEPS.items():
        for kind in kinds:
            assert f"{claims.NOISES[noise]}: {claims.LABELS[kind]}" not in refuted
    assert len(collected["findings"]) == len(claims.NOISES) * len(claims.CLAIMS)


def test_the_region_of_a_gaussian_claim_ends_at_its_trade_off_curve() -> None:
    """The curve is Φ(Φ⁻¹(1 − α) − μ) (Dong, Roth and Su 2022, definition 3); the points leave out a little of it."""
    mu = GaussianDP(1.0)
    found = claims.smallest_type_2([(epsilon, mu.delta_at(epsilon)) for epsilon in mu.points])
    for error, type_2 in zip(claims.TYPE_1, found, strict=True):
        exact = float(stats.norm.cdf(stats.norm.isf(error) - 1))
        assert exact - 2e-3 <= type_2 <= exact + 1e-12

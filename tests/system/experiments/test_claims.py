"""The experiment on claims: verdicts as the theory has them, curves on the right side, and figures from JSON alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
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


def test_each_noise_exceeds_the_other_profile_somewhere(collected: Data) -> None:
    """So a claim that `KEEPS` leaves out is broken, whether or not a quick audit shows it."""
    real = collected["measured"]["real"]
    assert any(one > other for (_, one), (_, other) in zip(real["normal"], real["discrete"], strict=True))
    assert any(one < other for (_, one), (_, other) in zip(real["normal"], real["discrete"], strict=True))


def test_the_paragraph_says_what_is_certified_of_each_claim() -> None:
    """δ(1) of ρ = ½ is 0.2149 by a search over events (tests/statistical/attacklab), of μ = 1 what Φ gives."""
    normal = stats.norm.sf(0.5) - math.e * stats.norm.sf(1.5)
    paragraph = " ".join(claims.explain(committed_record("claims")).split())
    assert f"δ is 0.2149 for ρ = ½ and {normal:.4f} for μ = 1." in paragraph


def test_noise_of_nearly_the_right_size_breaks_zcdp_on_rare_half_lines_only() -> None:
    """Noise of σ = 0.95 is not ½-zCDP, and no half-line of probability above 10⁻⁶ shows it: orders from 1 to 60."""
    orders = 1 + np.geomspace(1e-3, 59, 400)[:, np.newaxis]

    def excess(thresholds: NDArray[np.float64]) -> float:
        p, q = (
            [function((thresholds - answer) / 0.95) for function in (stats.norm.logsf, stats.norm.logcdf)]
            for answer in (1, 0)
        )
        moments = [
            np.logaddexp(*(orders * one - (orders - 1) * other for one, other in zip(*pair, strict=True)))
            for pair in ((p, q), (q, p))
        ]
        return float((np.array(moments) / (orders - 1) - orders / 2).max())

    rare = 1 + 0.95 * float(stats.norm.isf(1e-6))
    assert excess(np.linspace(1 - rare, rare, 500)) < 0 < excess(np.array([rare + 0.3]))


def test_the_region_of_a_gaussian_claim_ends_at_its_trade_off_curve() -> None:
    """The curve is Φ(Φ⁻¹(1 − α) − μ) (Dong, Roth and Su 2022, definition 3); the points leave out a little of it."""
    mu = GaussianDP(1.0)
    found = claims.smallest_type_2([(epsilon, mu.delta_at(epsilon)) for epsilon in mu.points])
    for error, type_2 in zip(claims.TYPE_1, found, strict=True):
        exact = float(stats.norm.cdf(stats.norm.isf(error) - 1))
        assert exact - 2e-3 <= type_2 <= exact + 1e-12


def test_measured_errors_are_those_of_half_lines(collected: Data) -> None:
    """Each deviation is six standard errors at the most; wrong with probability below 1e-7 in all."""
    rows = collected["measured"]["measured"]["normal"]
    for threshold, (type_1, type_2, lower, upper) in zip(claims.THRESHOLDS, rows, strict=True):
        for measured, exact in ((type_1, stats.norm.sf(threshold)), (type_2, stats.norm.cdf(threshold - 1))):
            assert abs(measured - exact) <= 6 * math.sqrt(exact * (1 - exact) / 200_000) + 1e-4
        assert lower <= type_2 <= upper

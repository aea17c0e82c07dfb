"""Audits on arrays: they end as the referee's own do, at the edge of a claim and beyond it."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from scipy import stats

from attacklab.model.claims import Claim, GaussianDP, PrivacyClaim, Profile, Renyi, ZeroConcentrated, directions
from attacklab.processes.batches import Role
from experiments.common.profile_audits import Draws, decided, edge, fewest_trials_of, replayed
from experiments.common.simulated_audits import fewest_trials, looks

CLAIMS: list[Claim] = [
    PrivacyClaim(1.0, 0.1),
    ZeroConcentrated(0.5),
    Renyi((2.0, 8.0), (1.0, 4.0)),
    GaussianDP(1.0),
    Profile(((0.25, 0.3), (0.5, 0.2), (1.0, 0.1), (2.0, 0.02))),
]
KINDS = [type(claim).__name__ for claim in CLAIMS]


@cache
def points_of(claim: Claim) -> list[PrivacyClaim]:
    return [claim.at(one) for one in claim.points]


def normal_bins(answer: float, sigma: float) -> np.ndarray:
    return np.diff(stats.norm.cdf((np.array([-np.inf, -0.5, 0.0, 0.5, 1.0, 2.0, np.inf]) - answer) / sigma))


@pytest.mark.parametrize("claim", CLAIMS, ids=KINDS)
@pytest.mark.parametrize("sigma", [0.5, 0.8, 1.0, 3.0])
def test_each_audit_ends_as_the_referee_ends_it(claim: Claim, sigma: float) -> None:
    """Event, ε, trials and verdict."""
    bins = [normal_bins(answer, sigma) for answer in (1.0, 0.0)]
    draws = Draws.of(bins[0], bins[1], 3, 20_000, np.random.default_rng(4))
    for number, decision in enumerate(decided(claim, draws, 1e-3)):
        assert replayed(claim, draws, number, 1e-3) == decision


def test_draws_hold_the_rates_of_the_half_lines_at_every_look() -> None:
    """Each mean of 50 audits is within six standard deviations of its rate; wrong below 1e-7 in all."""
    first, second = normal_bins(1.0, 1.0), normal_bins(0.0, 1.0)
    draws = Draws.of(first, second, 50, 5_000, np.random.default_rng(0))
    assert draws.choosing.shape == (50, len(looks(500, Role.CHOOSE)), 5, 4)
    assert draws.judging.shape == (50, len(looks(5_000)), 5, 4)
    assert (draws.judging.sum(axis=-1) == np.array(looks(5_000))[:, np.newaxis]).all()
    assert (np.diff(draws.judging, axis=1) >= 0).all()
    p, q = (np.cumsum(bins[::-1])[::-1][1:] for bins in (first, second))
    for column, rate in enumerate((p * q, p * (1 - q), (1 - p) * q, (1 - p) * (1 - q))):
        deviation = np.abs(draws.judging[:, -1, :, column].mean(axis=0) / 5_000 - rate)
        assert (deviation < 6 * np.sqrt(rate * (1 - rate) / 250_000)).all()


@pytest.mark.parametrize("claim", CLAIMS, ids=KINDS)
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 1.6])
def test_a_pair_at_the_edge_keeps_the_claim_and_any_further_one_breaks_it(claim: Claim, epsilon: float) -> None:
    p, q = edge(claim, epsilon)
    points = points_of(claim)
    assert 0 < q < p < 1

    def excess(p: float, q: float) -> float:
        return max(point.excess(here, there) for point in points for here, there in directions((p, p), (q, q)))

    assert abs(excess(p, q)) < 1e-12
    assert excess(p + 1e-6, q) > 5e-7
    assert excess(p, q - 1e-6) > 5e-7


@pytest.mark.parametrize("claim", CLAIMS, ids=KINDS)
def test_no_test_at_one_point_of_the_profile_does_with_fewer_trials_than_the_bound(claim: Claim) -> None:
    for p, q in ((0.7, 0.05), (0.4, 0.01), (0.95, 0.5), (0.01, 1e-5)):
        found = [
            fewest_trials(claim.near(epsilon), p, q, 1e-6)
            for epsilon in claim.points
            if max(claim.near(epsilon).excess(*case) for case in directions((p, p), (q, q))) > 1e-12
        ]
        assert fewest_trials_of(claim, p, q, 1e-6) == min(found, default=math.inf)


def test_the_bound_for_a_gaussian_claim_is_the_divergence_from_its_trade_off_curve() -> None:
    """A grid of ε and the curve itself differ by little."""
    p, q, alpha = 0.6, 0.05, 1e-6
    z = np.linspace(-4, 4, 200_001)
    kept_p, kept_q = stats.norm.sf(z - 1), stats.norm.sf(z)
    divergence = sum(
        rate * np.log(rate / other) + (1 - rate) * np.log((1 - rate) / (1 - other))
        for rate, other in ((p, kept_p), (q, kept_q))
    )
    expected = math.log(1 / alpha) / float(divergence.min())
    assert expected * (1 - 1e-9) <= fewest_trials_of(GaussianDP(1.0), p, q, alpha) <= 1.02 * expected

"""Profiles by points, and μ-GDP against the normal law: what they imply, and what survives composition."""

import math

import mpmath
import pytest

from attacklab.model.claims import GaussianDP, PrivacyClaim, Profile, Renyi, ZeroConcentrated, claim_from_json
from attacklab.model.errors import UsageError


def laplace(epsilon: float) -> float:
    """The profile of Laplace noise at scale 1: 1 − e^((ε − 1)/2) below ε = 1."""
    return max(0.0, -math.expm1((epsilon - 1) / 2))


def test_a_function_is_kept_as_points_of_it() -> None:
    profile = Profile(laplace, "Laplace")
    assert profile.points[0] == 0.0
    for epsilon, delta in profile.pairs:
        assert delta == laplace(epsilon)
        assert profile.delta_at(epsilon) <= delta


def test_between_its_points_a_profile_implies_no_less_than_the_curve_and_little_more() -> None:
    profile = Profile(laplace, "Laplace")
    for step in range(200):
        epsilon = step / 150
        assert laplace(epsilon) <= profile.delta_at(epsilon) <= laplace(epsilon) + 0.01


def test_a_profile_of_one_point_implies_what_that_claim_does() -> None:
    claim, profile = PrivacyClaim(1.0, 1e-3), Profile([(1.0, 1e-3)])
    for epsilon in (0.0, 0.4, 1.0, 2.0):
        assert profile.delta_at(epsilon) == claim.delta_at(epsilon)
    assert profile.ceiling == pytest.approx(claim.ceiling)


def test_composition_is_that_of_each_point() -> None:
    profile = Profile([(0.5, 1e-3), (1.0, 1e-6)], "mine")
    assert profile.composed(2).pairs == ((1.0, 2e-3), (2.0, 2e-6))
    assert str(profile.composed(2)) == "mine, 2 answers"
    with pytest.raises(UsageError, match="promises nothing of 3 answers"):
        Profile([(0.5, 0.4)]).composed(3)


@pytest.mark.parametrize(
    ("curve", "message"),
    [
        ([], "promises nothing"),
        ([(1.0, 1.0)], "promises nothing"),
        ([(1.0, 0.1), (1.0, 0.2)], "gives an ε twice"),
        ([(-1.0, 0.1)], "epsilon must be finite and at least 0"),
        ([(1.0, 1.5)], "delta must lie in"),
        ([1.0], "a function of ε or pairs"),
        (3.0, "a function of ε or pairs"),
    ],
)
def test_points_that_promise_nothing_or_are_none_are_refused(curve: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Profile(curve)


@pytest.mark.parametrize(
    "claim",
    [
        PrivacyClaim(1.0, 1e-6),
        ZeroConcentrated(0.3),
        Renyi(2.0, 0.1),
        Renyi((2.0, 4.0), (0.1, 0.3)),
        GaussianDP(0.7),
        Profile([(0.5, 1e-3), (1.0, 1e-6)], "mine"),
    ],
    ids=str,
)
def test_json_gives_the_same_claim_back(claim: object) -> None:
    written = claim.to_json()  # type: ignore[attr-defined]
    assert claim_from_json(written) == claim
    assert hash(claim_from_json(written)) == hash(claim)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "a JSON object"),
        ({"kind": "magic"}, "must be zcdp, rdp, gdp, profile, stability, not 'magic'"),
        ({"kind": "gdp"}, "not a claim"),
        ({"kind": "rdp", "alpha": 2.0}, "not a claim"),
        ({"epsilon": 1.0, "mu": 3.0}, "not a claim"),
        ({"kind": "zcdp", "rho": -1.0}, "rho must be finite"),
        ({"kind": "zcdp", "rho": "x"}, "rho must be a number"),
    ],
)
def test_json_that_is_not_a_claim_is_refused(data: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        claim_from_json(data)


MUS = [1e-3, 0.1, 1.0, 2.5, 20.0]
EPSILONS = [0.0, 1e-300, 1e-6, 0.1, 1.0, 5.0, 30.0, 700.0]


def of_two_normals(mu: mpmath.mpf, epsilon: mpmath.mpf) -> mpmath.mpf:
    """The δ at ε of two normal laws μ apart; far out the two terms agree in most of their digits."""

    def tail(x: mpmath.mpf) -> mpmath.mpf:
        return mpmath.erfc(x / mpmath.sqrt(2)) / 2

    return tail(epsilon / mu - mu / 2) - mpmath.exp(epsilon) * tail(epsilon / mu + mu / 2)


@pytest.mark.parametrize("mu", MUS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_profile_is_that_of_two_normal_laws_rounded_up(mu: float, epsilon: float) -> None:
    with mpmath.workprec(6000):
        truth = of_two_normals(mpmath.mpf(mu), mpmath.mpf(epsilon))
        found = mpmath.mpf(GaussianDP(mu).delta_at(epsilon))
        assert truth <= found
        assert found <= truth * (1 + mpmath.mpf(2) ** -50) + mpmath.mpf(2) ** -1074


@pytest.mark.parametrize("count", [1, 2, 9])
def test_composition_shifts_the_normal_law_as_the_sum_of_answers_does(count: int) -> None:
    claim = GaussianDP(0.75)
    assert claim.composed(count).mu == pytest.approx(0.75 * math.sqrt(count))
    assert claim.composed(count).mu >= claim.mu


def test_the_points_reach_from_zero_to_where_nothing_can_be_seen() -> None:
    for mu in MUS[:4]:
        points = GaussianDP(mu).points
        assert points[0] == 0
        assert list(points) == sorted(set(points))
        assert GaussianDP(mu).delta_at(points[-1]) <= 2.0**-60

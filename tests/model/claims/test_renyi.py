"""What zCDP and RDP allow one event: brute force over the set of Bernoulli pairs, and known mechanisms."""

import functools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab.model.claims import Renyi, ZeroConcentrated
from attacklab.model.claims.conversion import tangent_bound
from attacklab.model.claims.renyi import RenyiClaim
from tests.model.claims.test_profile import of_two_normals

CLAIMS = [
    ZeroConcentrated(0.05),
    ZeroConcentrated(4.0),
    Renyi(2.0, 1.0),
    Renyi(1.25, 0.01),
    Renyi(64.0, 3.0),
    Renyi((2.0, 8.0), (1.0, 4.0)),
    Renyi((1.5, 4.0, 32.0), (0.1, 0.3, 4.0)),
]
names = pytest.mark.parametrize("claim", CLAIMS, ids=str)


def divergence(alphas: NDArray[np.float64], p: float, q: float) -> NDArray[np.float64]:
    first = alphas * math.log(p) + (1 - alphas) * math.log(q)
    second = alphas * math.log1p(-p) + (1 - alphas) * math.log1p(-q)
    return np.logaddexp(first, second) / (alphas - 1)


def keeps(claim: RenyiClaim, p: float, q: float, slack: float = 0.0) -> bool:
    """Whether the Bernoulli laws of p and q keep within the claim, for a fine grid of orders where it is on all."""
    if isinstance(claim, ZeroConcentrated):
        alphas = 1 + np.geomspace(1e-5, 1e4, 1500)
        most = claim.rho * alphas
    else:
        assert isinstance(claim, Renyi)
        alphas, most = np.array(claim.pairs).T
    return all((divergence(alphas, *pair) <= most * (1 + slack)).all() for pair in ((p, q), (q, p)))


@functools.cache
def most_allowed(claim: RenyiClaim, q: float) -> float:
    """The largest p that the claim allows beside q, by bisection; the set is convex."""
    low, high = q, 1 - 1e-12
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if keeps(claim, middle, q) else (low, middle)
    return low


@names
@pytest.mark.parametrize("part", [0.0, 0.05, 0.3, 0.7, 1.0])
def test_the_profile_is_never_less_than_the_best_event_of_the_set(claim: RenyiClaim, part: float) -> None:
    epsilon = part * max(one for one in claim.points if claim.at(one).delta > 1e-4)
    slope = math.exp(epsilon)

    def gain(log_odds: float) -> float:
        q = 1 / (1 + math.exp(-log_odds))
        return most_allowed(claim, q) - slope * q

    # The gain is concave in q, so one maximum: first a grid, then closer.
    grid = np.linspace(-32, 4, 31)
    place = int(np.argmax([gain(one) for one in grid]))
    best = max(gain(one) for one in np.linspace(grid[max(place - 1, 0)], grid[min(place + 1, 30)], 25))
    found = claim.delta_at(epsilon)
    # The orders between those of the grid make the set a little smaller than what is searched here.
    assert best <= found * (1 + 1e-3)


@names
def test_the_profile_falls_with_epsilon(claim: RenyiClaim) -> None:
    deltas = [claim.delta_at(epsilon) for epsilon in (0.0, 0.2, 0.5, 1.0, 2.0, 4.0)]
    assert deltas == sorted(deltas, reverse=True)


@pytest.mark.parametrize("rho", [0.01, 0.5, 3.0, 48.0, 700.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0, 6.0, 15.0, 40.0])
def test_zcdp_allows_what_gaussian_noise_of_that_rho_really_does(rho: float, epsilon: float) -> None:
    with mpmath.workprec(1000):
        truth = of_two_normals(mpmath.mpf(math.sqrt(2 * rho)), mpmath.mpf(epsilon))
        assert truth * (1 - mpmath.mpf(10) ** -12) <= ZeroConcentrated(rho).delta_at(epsilon)


@pytest.mark.parametrize(("alpha", "most"), [(1.5, 0.8), (2.0, 0.05), (7.0, 0.8)])
def test_every_pair_within_a_divergence_keeps_every_tangent_and_one_has_nearly_the_bound(
    alpha: float, most: float
) -> None:
    claim, rng = Renyi(alpha, most), np.random.default_rng(0)
    p, q = np.linspace(1e-4, 1 - 1e-4, 1500)[:, np.newaxis], np.linspace(1e-4, 1 - 1e-4, 1500)
    moment = p**alpha * q ** (1 - alpha) + (1 - p) ** alpha * (1 - q) ** (1 - alpha)
    within = moment <= math.exp((alpha - 1) * most)  # in this direction
    for epsilon in (0.0, 0.1, 0.3):
        best = float((p - math.exp(epsilon) * q)[within].max())
        for less, fade in zip(rng.uniform(0.01, alpha - 1, 50), np.exp(rng.uniform(-8, 5, 50)), strict=True):
            assert best <= tangent_bound(claim, float(less), float(fade), epsilon).above()
        assert best <= claim.delta_at(epsilon) <= best + 2e-3


@pytest.mark.parametrize("count", [2, 3, 5])
def test_composition_adds_divergences_up(count: int) -> None:
    assert ZeroConcentrated(0.3).composed(count).rho == pytest.approx(0.3 * count)
    composed = Renyi((2.0, 8.0), (0.25, 1.0)).composed(count)
    assert composed.pairs == ((2.0, 0.25 * count), (8.0, 1.0 * count))
    assert Fraction(ZeroConcentrated(0.1).composed(count).rho) >= Fraction(0.1) * count


@pytest.mark.parametrize("rho", [0.01, 0.5, 3.0])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 6.0])
def test_zcdp_allows_no_more_than_the_best_known_conversion(rho: float, epsilon: float) -> None:
    alphas = 1 + np.geomspace(1e-3, 1e4, 200_000)
    with np.errstate(over="ignore"):
        known = np.exp((alphas - 1) * (rho * alphas - epsilon)) / alphas * (1 - 1 / alphas) ** (alphas - 1)
    assert ZeroConcentrated(rho).delta_at(epsilon) <= max(float(known.min()) * (1 + 1e-6), math.ulp(0.0))

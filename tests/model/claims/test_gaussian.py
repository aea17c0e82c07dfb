"""μ-GDP against the normal law at 300 bits, its limiting cases, and what composition and groups do to shifts."""

from __future__ import annotations

import math

import mpmath
import pytest

from attacklab.model.claims import GaussianDP

MUS = [1e-3, 0.1, 1.0, 2.5, 20.0]
EPSILONS = [0.0, 1e-300, 1e-6, 0.1, 1.0, 5.0, 30.0, 700.0]


@pytest.mark.parametrize("mu", MUS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_profile_is_that_of_two_normal_laws_rounded_up(mu: float, epsilon: float) -> None:
    with mpmath.workprec(6000):  # far out the two terms agree in most of their digits
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)

        def tail(x: mpmath.mpf) -> mpmath.mpf:
            return mpmath.erfc(x / mpmath.sqrt(2)) / 2

        truth = tail(e / m - m / 2) - mpmath.exp(e) * tail(e / m + m / 2)
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

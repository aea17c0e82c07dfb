"""The least μ and ρ of Gaussian noise, judged by enumerating the discrete law to 10^−30 of its mass with mpmath."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest

from mechanisms.gaussian.privacy import gaussian_rho
from mechanisms.gaussian.trade_off import discrete_gaussian_mu, gaussian_mu


def masses(sigma: float, reach: int) -> dict[int, mpmath.mpf]:
    """The law of discrete Gaussian noise, but for less than 10^−30."""
    weights = {k: mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * mpmath.mpf(sigma) ** 2)) for k in range(-reach, reach + 1)}
    whole = mpmath.fsum(weights.values())
    return {k: weight / whole for k, weight in weights.items()}


def quantile(tail: mpmath.mpf) -> mpmath.mpf:
    """The x that a standard normal number exceeds with this probability."""
    if tail > 0.5:
        return -quantile(1 - tail)
    return mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * tail)


@pytest.mark.few(2)
@pytest.mark.parametrize(("sigma", "move"), [(1.0, 1), (0.5, 2), (0.3, 1), (2.5, 1), (3.0, 7)])
def test_the_least_mu_of_discrete_noise_is_the_greatest_over_all_thresholds(sigma: float, move: int) -> None:
    with mpmath.workdps(60):
        reach = math.ceil(12 * sigma) + move + 10
        law = masses(sigma, reach)
        tails = {t: mpmath.fsum(law[k] for k in range(t, reach + 1)) for t in range(-reach, reach + 1)}
        seen = [t for t in range(move - reach, reach) if tails[t] > 1e-30 and 1 - tails[t - move] > 1e-30]
        greatest = max(quantile(tails[t]) - quantile(tails[t - move]) for t in seen)
    found = discrete_gaussian_mu(sigma=sigma, sensitivity=move)
    assert found.lower <= float(greatest) * (1 + 1e-15)
    assert float(greatest) * (1 - 1e-15) <= found.upper
    assert found.upper - found.lower <= 4 * math.ulp(found.upper)


def test_discrete_noise_at_sigma_one_needs_more_than_the_ratio_of_sensitivity_and_sigma() -> None:
    assert discrete_gaussian_mu(sigma=1).lower >= 1.0457
    assert discrete_gaussian_mu(sigma=1).upper <= 1.0458
    assert gaussian_mu(sigma=1) == 1.0


@pytest.mark.parametrize("order", [1.25, 2.0, 2.5, 7.0])
@pytest.mark.parametrize(("sigma", "move"), [(1.0, 1), (0.6, 2), (1.5, 1)])
def test_rho_bounds_every_order_and_is_reached_where_the_shift_is_whole(order: float, sigma: float, move: int) -> None:
    with mpmath.workdps(60):
        law = masses(sigma, math.ceil(14 * sigma) + math.ceil(2 * order * move))
        moved = {k: law.get(k - move, mpmath.mpf(0)) for k in law}
        alpha = mpmath.mpf(order)
        divergence = mpmath.log(mpmath.fsum(moved[k] ** alpha * law[k] ** (1 - alpha) for k in law)) / (alpha - 1)
        bound = mpmath.mpf(order) * move**2 / (2 * mpmath.mpf(sigma) ** 2)
        assert divergence <= bound * (1 + mpmath.mpf(10) ** -25)
        is_reached = (order * move).is_integer()
        assert (bound - divergence < bound * mpmath.mpf(10) ** -25) is is_reached
    assert order * gaussian_rho(sigma=sigma, sensitivity=move) == pytest.approx(float(bound), rel=1e-15)


def test_what_is_claimed_is_rounded_up() -> None:
    assert Fraction(gaussian_mu(sigma=3)) > Fraction(1, 3)
    assert Fraction(gaussian_rho(sigma=3)) > Fraction(1, 18)
    assert gaussian_rho(sigma=Fraction(1, 2), sensitivity=3) == 18.0


@pytest.mark.parametrize("sigma", [33, 1e9])
def test_discrete_noise_of_many_steps_is_refused(sigma: float) -> None:
    with pytest.raises(ValueError, match="sigma must be at most 32 steps"):
        discrete_gaussian_mu(sigma=sigma)


def test_a_sensitivity_that_is_not_a_whole_number_is_refused() -> None:
    with pytest.raises(TypeError, match=r"sensitivity must be an integer, not 1\.5"):
        discrete_gaussian_mu(sigma=1, sensitivity=1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="sigma must be above 0"):
        gaussian_mu(sigma=0)

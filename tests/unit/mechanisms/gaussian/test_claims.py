"""What is claimed of Gaussian noise: published figures, doubles that are rounded up, arguments that are named."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from mechanisms.core.claims import ApproximateDP, Claim, GaussianDP
from mechanisms.core.grid import Grid
from mechanisms.core.restated import Restated
from mechanisms.gaussian.claims import (
    discrete_gaussian_delta,
    gaussian_delta,
    gaussian_mu,
    gaussian_sigma,
)
from mechanisms.gaussian.exact import exact_discrete_gaussian, exact_rounded_gaussian


def test_the_two_curves_at_sigma_one_epsilon_one_are_the_known_figures() -> None:
    assert gaussian_delta(1, sigma=1) == pytest.approx(0.12693673750664, abs=1e-13)
    assert discrete_gaussian_delta(1, sigma=1) == pytest.approx(0.14135133940, abs=1e-10)


def test_a_delta_too_small_for_a_double_is_rounded_up_and_not_to_zero() -> None:
    assert gaussian_delta(100, sigma=1) == math.ulp(0.0)
    assert discrete_gaussian_delta(100, sigma=20) == math.ulp(0.0)
    assert discrete_gaussian_delta(1, sigma=100) == math.ulp(0.0)
    assert discrete_gaussian_delta(10_000, sigma=100) == math.ulp(0.0)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 8.0])
@pytest.mark.parametrize("delta", [0.3, 1e-5, 1e-12])
def test_the_analytic_sigma_is_enough_and_a_hair_less_is_not(epsilon: float, delta: float) -> None:
    sigma = gaussian_sigma(epsilon, delta, 2.5)
    assert gaussian_delta(epsilon, sigma=sigma, sensitivity=2.5) <= delta
    assert gaussian_delta(epsilon, sigma=sigma * (1 - 2**-48), sensitivity=2.5) > delta


DISCRETE = exact_discrete_gaussian(3, sensitivity=2, grid=Grid(0))
ROUNDED = exact_rounded_gaussian(3, sensitivity=2, grid=Grid(0))
SIGMA = gaussian_sigma(0.5, 1e-6, 2)


@pytest.mark.parametrize(
    ("term", "claim"),
    [
        (DISCRETE, ApproximateDP(Fraction(1), Fraction(discrete_gaussian_delta(1, sigma=3, sensitivity=2)))),
        (ROUNDED, ApproximateDP(Fraction(1), Fraction(gaussian_delta(1, sigma=3, sensitivity=2)))),
        (ROUNDED, GaussianDP(Fraction(gaussian_mu(sigma=3, sensitivity=2)) ** 2)),
        (exact_rounded_gaussian(SIGMA, sensitivity=2, grid=Grid(0)), ApproximateDP(Fraction(0.5), Fraction(1e-6))),
    ],
)
def test_a_term_keeps_what_a_helper_says(term: Any, claim: Claim) -> None:
    assert Restated(term, claim).claim == claim

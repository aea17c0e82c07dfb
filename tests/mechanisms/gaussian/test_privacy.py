"""δ(ε) judged by published figures, by exhausting events of the discrete law, and by numerical integration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from mechanisms.gaussian.privacy import classical_sigma, discrete_gaussian_delta, gaussian_delta, gaussian_sigma


def discrete_divergence(epsilon: float, sigma: float, shift: int) -> float:
    """Σ_k max(P(k) − e^ε·Q(k), 0) for the laws on two answers `shift` apart, added up in the plainest way."""
    k = np.arange(-60 * math.ceil(sigma) - shift, 60 * math.ceil(sigma) + shift + 1)
    weight = np.exp(-(k**2) / (2 * sigma**2))
    moved = np.exp(-((k - shift) ** 2) / (2 * sigma**2))
    return float(np.maximum(moved - math.exp(epsilon) * weight, 0).sum() / weight.sum())


def test_the_two_curves_at_sigma_one_epsilon_one_are_the_known_figures() -> None:
    assert gaussian_delta(1, sigma=1) == pytest.approx(0.12693673750664, abs=1e-13)
    assert discrete_gaussian_delta(1, sigma=1) == pytest.approx(0.14135133940, abs=1e-10)


@pytest.mark.parametrize(("epsilon", "sigma", "sensitivity"), [(0.3, 2.0, 1.0), (2.0, 0.7, 1.5), (0.0, 1.0, 1.0)])
def test_gaussian_delta_is_the_integral_of_the_positive_part(epsilon: float, sigma: float, sensitivity: float) -> None:
    def excess(x: float) -> float:
        return max(norm.pdf(x, sensitivity, sigma) - math.exp(epsilon) * norm.pdf(x, 0, sigma), 0.0)

    kink = epsilon * sigma**2 / sensitivity + sensitivity / 2
    integral, _ = quad(excess, kink, kink + 40 * sigma, epsabs=1e-13)
    assert gaussian_delta(epsilon, sigma=sigma, sensitivity=sensitivity) == pytest.approx(integral, abs=1e-11)


@pytest.mark.parametrize(
    ("epsilon", "sigma", "shift"), [(1, 1, 1), (0.25, 3.0, 2), (4, 0.5, 1), (0.5, 40.0, 30), (0, 2, 5)]
)
def test_discrete_delta_is_the_largest_divergence_over_every_smaller_move(
    epsilon: float, sigma: float, shift: int
) -> None:
    divergences = [discrete_divergence(epsilon, sigma, move) for move in range(1, shift + 1)]
    assert discrete_gaussian_delta(epsilon, sigma=sigma, sensitivity=shift) == pytest.approx(
        max(divergences), abs=1e-13
    )


def test_a_delta_too_small_for_a_double_is_rounded_up_and_not_to_zero() -> None:
    assert gaussian_delta(100, sigma=1) == math.ulp(0.0)
    assert discrete_gaussian_delta(100, sigma=20) == math.ulp(0.0)
    assert discrete_gaussian_delta(1, sigma=100) == math.ulp(0.0)
    assert discrete_gaussian_delta(10_000, sigma=100) == math.ulp(0.0)


def test_a_move_a_million_times_as_large_as_sigma_is_certain_to_show() -> None:
    assert discrete_gaussian_delta(1, sigma=100, sensitivity=10**8) == 1.0
    assert gaussian_delta(1, sigma=100, sensitivity=1e8) == 1.0


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 8.0])
@pytest.mark.parametrize("delta", [0.3, 1e-5, 1e-12])
def test_the_analytic_sigma_is_enough_and_a_hair_less_is_not(epsilon: float, delta: float) -> None:
    sigma = gaussian_sigma(epsilon, delta, 2.5)
    assert gaussian_delta(epsilon, sigma=sigma, sensitivity=2.5) <= delta
    assert gaussian_delta(epsilon, sigma=sigma * (1 - 2**-48), sensitivity=2.5) > delta


def test_the_classical_sigma_is_enough_where_it_is_proved_and_not_at_epsilon_ten() -> None:
    for epsilon in (0.01, 0.5, 0.999):
        assert gaussian_delta(epsilon, sigma=classical_sigma(epsilon, 1e-5)) <= 1e-5
    assert gaussian_delta(10, sigma=math.sqrt(2 * math.log(1.25e5)) / 10) > 2e-5
    assert classical_sigma(0.5, 1e-5, 3.0) == pytest.approx(3 * 9.689610525, rel=1e-9)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: discrete_gaussian_delta(1, sigma=1, sensitivity=math.inf), "sensitivity"),
        (lambda: discrete_gaussian_delta(1, sigma=1, sensitivity=math.nan), "sensitivity must be finite"),
        (lambda: classical_sigma(1.0, 1e-5), "epsilon"),
        (lambda: classical_sigma(0.5, 0.0), "delta"),
        (lambda: classical_sigma(0.5, 1e-5, -1.0), "sensitivity"),
        (lambda: gaussian_delta(-1, sigma=1), "epsilon"),
        (lambda: gaussian_delta(math.inf, sigma=1), "epsilon"),
        (lambda: gaussian_delta(1, sigma=0), "sigma"),
        (lambda: gaussian_delta(1, sigma=math.nan), "sigma"),
        (lambda: gaussian_delta(1, sigma=1, sensitivity=0), "sensitivity"),
        (lambda: discrete_gaussian_delta(1, sigma=-2.0), "sigma"),
        (lambda: discrete_gaussian_delta(1, sigma=1, sensitivity=0), "sensitivity"),
        (lambda: discrete_gaussian_delta(1, sigma=1, sensitivity=1.5), "sensitivity"),  # type: ignore[arg-type]
        (lambda: gaussian_sigma(0.0, 1e-5), "epsilon"),
        (lambda: gaussian_sigma(1.0, 1.0), "delta"),
        (lambda: gaussian_sigma(1.0, 0.1, math.inf), "sensitivity"),
    ],
)
def test_arguments_out_of_range_are_named(call, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        call()

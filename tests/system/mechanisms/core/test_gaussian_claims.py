"""δ(ε) and μ of Gaussian noise, judged by events and thresholds of the laws as mpmath enumerates them."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

from mechanisms.core.gaussian_claims import least_sigma, normal_delta
from mechanisms.core.laws import DiscreteGaussian, RoundedGaussian
from tests.unit.mechanisms.core.known_laws import known_mass

TINY = mpmath.mpf(2) ** -55


def divergence(law: DiscreteGaussian | RoundedGaussian, steps: int, epsilon: Fraction) -> mpmath.mpf:
    """Σ_k max(P[N = k − steps] − e^ε·P[N = k], 0)."""
    reach = 14 * (int(law.spread) + 1) + 2 * steps
    growth = mpmath.exp(_real(epsilon))
    masses = masses_of(law, reach + steps)
    return mpmath.fsum(max(masses[abs(k - steps)] - growth * masses[abs(k)], 0) for k in range(-reach, reach + 1))


def masses_of(law: DiscreteGaussian | RoundedGaussian, reach: int) -> list[mpmath.mpf]:
    """P[N = k] for 0 ≤ k ≤ reach, of the discrete law by weights that are added up once."""
    if isinstance(law, RoundedGaussian):
        return [known_mass(law, k) for k in range(reach + 1)]
    weights = [mpmath.exp(-mpmath.mpf(k * k) / (2 * _real(law.variance))) for k in range(reach + 1)]
    whole = 2 * mpmath.fsum(weights) - 1
    return [weight / whole for weight in weights]


def _real(number: Fraction) -> mpmath.mpf:
    return mpmath.mpf(number.numerator) / number.denominator


@pytest.mark.parametrize(
    ("epsilon", "sigma", "steps"), [("1", "1", 1), ("1/4", "3", 2), ("4", "1/2", 1), ("1/2", "12", 9), ("0", "2", 5)]
)
def test_delta_bounds_the_divergence_of_every_smaller_shift(epsilon: str, sigma: str, steps: int) -> None:
    with mpmath.workdps(40):
        for kind in (DiscreteGaussian, RoundedGaussian):
            law = kind(Fraction(sigma) ** 2)
            worst = max(divergence(law, shift, Fraction(epsilon)) for shift in range(1, steps + 1))
            bound = _real(law.delta(steps, Fraction(epsilon)))
            assert worst <= bound * (1 + mpmath.mpf(10) ** -30)
            if kind is DiscreteGaussian:
                assert bound <= worst * (1 + TINY)


@pytest.mark.parametrize("epsilon", ["1/100", "1/2", "8"])
@pytest.mark.parametrize("permitted", ["3/10", "1/100000", "1/1000000000000"])
def test_the_least_sigma_is_enough_and_a_hair_less_is_not(epsilon: str, permitted: str) -> None:
    shift = Fraction(5, 2)
    sigma = least_sigma(Fraction(epsilon), Fraction(permitted), shift=shift)
    for factor, is_enough in ((1.0, True), (1 - 2**-48, False)):
        found = normal_delta(Fraction(epsilon), variance=Fraction(sigma * factor) ** 2, shift=shift)
        assert (found <= Fraction(permitted)) is is_enough

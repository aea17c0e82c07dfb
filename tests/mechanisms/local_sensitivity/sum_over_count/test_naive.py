"""The naive sum over count spends ε twice, in figures that do not come from its own code."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from scipy.integrate import quad

from mechanisms.local_sensitivity.sum_over_count.naive import naive_sum_over_count
from tests.mechanisms.local_sensitivity.noise import noise_scales

CENSUS_SIZE = 32_561


def test_naive_sum_over_count_spends_epsilon_twice() -> None:
    """N and n + 1 records at upper, output −upper: the density's ratio tends to e^(2ε).

    At c, the noisy count, the sum must be −upper·c, so the density is the integral of |c|·upper times both Laplace
    densities: e^(−2εn)·(n² + n/ε + 1/(2ε²)) up to a constant, checked by quadrature at n = 3.
    """
    epsilon = Fraction(1)
    sum_scale, count_scale = noise_scales(partial(naive_sum_over_count, upper=100.0, epsilon=1.0), np.full(9, 100.0), 2)
    assert (sum_scale, count_scale) == (100, 1)

    def polynomial(n: int) -> Fraction:
        return n**2 + n / epsilon + 1 / (2 * epsilon**2)

    def integrand(c: float, n: int) -> float:
        sum_density = math.exp(-abs(-100 * c - 100 * n) / sum_scale)
        return abs(c) * sum_density * math.exp(-abs(c - n) / count_scale)

    by_quadrature = quad(integrand, -60, 60, args=(3,), points=[-3, 0, 3], limit=500)[0]
    assert by_quadrature == pytest.approx(math.exp(-6) * float(polynomial(3)), rel=1e-9)
    loss = 2 * epsilon + Fraction(math.log(polynomial(CENSUS_SIZE) / polynomial(CENSUS_SIZE + 1)))
    assert Fraction("1.9999") < loss < 2

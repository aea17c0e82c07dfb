"""Many sums and means at once have the noise, and the arithmetic, of one at a time."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from mechanisms.laplace.exact_fast import exact_discrete_laplace_fast

from attacklab.random_bits import SeededBits
from mechanisms.grid import Grid
from mechanisms.summation.bounds import Bounds
from mechanisms.summation.exact_fast import exact_bounded_mean_fast, exact_bounded_sum_fast


def bits(seed: int = 0) -> SeededBits:
    return SeededBits(np.random.default_rng(seed))


@pytest.mark.parametrize("relation", ["substitute", "add-remove"])
def test_a_mean_below_the_normal_doubles_raises_nothing_for_a_caller_whose_numpy_raises(relation) -> None:
    bounds = Bounds(0, 2.0**-1018, Grid(-1022))
    with np.errstate(all="raise"):
        means = exact_bounded_mean_fast(np.full(7, 2.0**-1020), 50, bits(), epsilon=1, bounds=bounds, relation=relation)
    assert np.all((means >= 0) & (means <= 2.0**-1018))


def laplace_tail(magnitude: float, scale: float) -> float:
    """P[|n| ≥ magnitude] of discrete Laplace noise."""
    return 2 * math.exp(-magnitude / scale) / (1 + math.exp(-1 / scale))


def test_many_sums_at_once_have_the_noise_of_the_declared_scale() -> None:
    """The share of 10⁵ outputs at 25 steps or more strays from its mean by 0.012 with probability 2·e^−28.8 < 1e-12."""
    bounds = Bounds(-2, 3, Grid(-2))
    outputs = exact_bounded_sum_fast(np.full(5, 1.0), 100_000, bits(), epsilon=0.5, bounds=bounds)
    assert np.array_equal(outputs * 4, np.rint(outputs * 4))
    share = np.mean(np.abs(outputs * 4 - 20) >= 25)
    assert share == pytest.approx(laplace_tail(25, 24), abs=0.012)


@pytest.mark.parametrize("relation", ["substitute", "add-remove"])
def test_many_means_at_once_are_those_of_the_noisy_sums_and_counts(relation) -> None:
    bounds = Bounds(0, 100, Grid(-3))
    records = np.full(50, 31.0)
    means = exact_bounded_mean_fast(records, 1000, bits(3), epsilon=1, bounds=bounds, relation=relation)
    source = bits(3)
    budget = Fraction(1) if relation == "substitute" else Fraction(1, 2)
    sums = exact_bounded_sum_fast(records, 1000, source, epsilon=budget, bounds=bounds, relation=relation)
    counts = np.full(1000, 50.0)
    if relation == "add-remove":
        counts = np.maximum(exact_discrete_laplace_fast(50, 1000, source, epsilon=budget, grid=Grid(0)), 1)
    expected = [
        min(max(Fraction(s) / Fraction(n), 0), 100) for s, n in zip(sums.tolist(), counts.tolist(), strict=True)
    ]
    assert means.tolist() == [float(mean) for mean in expected]

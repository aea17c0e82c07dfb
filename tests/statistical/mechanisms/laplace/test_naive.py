"""The naive samplers have the ideal laws to the eye, and leak in last bits, in work, and where a probability rounds."""

from __future__ import annotations

import math
from collections.abc import Callable

import gmpy2
import numpy as np
import pytest
from numpy.typing import NDArray

from mechanisms.laplace.naive import (
    naive_laplace_inverse_cdf,
    naive_laplace_numpy,
    naive_laplace_numpy_legacy,
    naive_randomized_response,
    naive_two_sided_geometric,
)

Naive = Callable[..., NDArray[np.float64]]
NAIVE = [naive_laplace_inverse_cdf, naive_laplace_numpy, naive_laplace_numpy_legacy]


@pytest.mark.parametrize("mechanism", NAIVE)
def test_outputs_follow_the_laplace_distribution_as_far_as_anyone_plots(mechanism: Naive) -> None:
    """By Dvoretzky-Kiefer-Wolfowitz the empirical CDF strays by 0.011 with probability below 2·e^−24.2 ≈ 6.2e-11."""
    trials = 100_000
    outputs = np.sort(mechanism(3.0, trials, np.random.default_rng(1), epsilon=0.5, sensitivity=2.0))
    centred = (outputs - 3.0) / 4.0
    cdf = np.where(centred < 0, np.exp(np.minimum(centred, 0)) / 2, 1 - np.exp(-np.maximum(centred, 0)) / 2)
    rank = np.arange(trials)
    assert max(np.abs(cdf - rank / trials).max(), np.abs(cdf - (rank + 1) / trials).max()) < 0.011


def test_the_inverse_cdf_is_the_textbooks_formula_of_one_uniform() -> None:
    outputs = naive_laplace_inverse_cdf(0.0, 2000, np.random.default_rng(2), epsilon=0.25)
    uniforms = np.random.default_rng(2).random(2000)
    with gmpy2.context(precision=200):
        for output, uniform in zip(outputs.tolist(), uniforms.tolist(), strict=True):
            centred = gmpy2.mpfr(uniform) - gmpy2.mpfr(0.5)
            noise = -4 * gmpy2.sign(centred) * gmpy2.log(1 - 2 * abs(centred))
            assert abs(output - float(noise)) <= 4 * math.ulp(float(noise))


@pytest.mark.parametrize("mechanism", NAIVE)
def test_the_same_generator_gives_the_same_outputs(mechanism: Naive) -> None:
    first, second = (mechanism(0.0, 50, np.random.default_rng(3), epsilon=1.0) for _ in range(2))
    assert first.tobytes() == second.tobytes()


def test_geometric_noise_has_its_law_and_its_loops_run_as_long_as_it_is_large() -> None:
    """20 000 draws stray from a probability by 0.025 with probability below 2·e^−25 (Hoeffding)."""
    outputs = naive_two_sided_geometric(7, 20_000, np.random.default_rng(5), epsilon=1.0, sensitivity=2.0)
    q = math.exp(-0.5)
    for noise in range(-5, 6):
        assert abs(np.mean(outputs == 7 + noise) - (1 - q) / (1 + q) * q ** abs(noise)) < 0.025

    class Counted:
        def __init__(self, seed: int) -> None:
            self.rng, self.uniforms = np.random.default_rng(seed), 0

        def random(self) -> float:
            self.uniforms += 1
            return self.rng.random()

    for seed in range(100):
        rng = Counted(seed)
        noise = naive_two_sided_geometric(0, 1, rng, epsilon=1.0)[0]
        assert rng.uniforms >= 2 + abs(noise)


@pytest.mark.parametrize("truth", [False, True])
def test_a_response_is_a_lie_as_often_as_it_should_be_and_never_at_a_large_epsilon(truth: bool) -> None:
    """20 000 answers at ε = 1 stray from 0.2689 by 0.025 with probability below 2·e^−25 = 2.8e-11 (Hoeffding)."""
    lies = np.mean(naive_randomized_response(truth, 20_000, np.random.default_rng(3), epsilon=1.0) != truth)
    assert abs(lies - 1 / (1 + math.e)) < 0.025
    assert (naive_randomized_response(truth, 1000, np.random.default_rng(1), epsilon=40.0) == truth).all()
    assert math.exp(40) / (1 + math.exp(40)) == 1.0
    assert (naive_randomized_response(truth, 1000, np.random.default_rng(1), epsilon=710.0) != truth).all()

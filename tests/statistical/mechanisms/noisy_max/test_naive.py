"""Naive report noisy max, judged by the closed-form laws of its ideal."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from attacklab.model.random_bits import SeededBits
from mechanisms.noisy_max.exact import exact_exponential_noisy_max
from mechanisms.noisy_max.naive import naive_exponential_noisy_max, naive_gumbel_noisy_max, naive_laplace_noisy_max


def laplace_worse(gap: float) -> float:
    """Probability that the worse of two wins under Laplace(1) noise: the tail of a difference of two at `gap`."""
    return (2 + gap) * math.exp(-gap) / 4


def gumbel_worse(gap: float) -> float:
    return 1 / (1 + math.exp(gap))


def exponential_worse(gap: float) -> float:
    return math.exp(-gap) / 2


TWO_OUTCOMES = [
    (naive_laplace_noisy_max, laplace_worse),
    (naive_gumbel_noisy_max, gumbel_worse),
    (naive_exponential_noisy_max, exponential_worse),
]


@pytest.mark.parametrize(("mechanism", "worse"), TWO_OUTCOMES)
@pytest.mark.parametrize("monotone", [False, True])
def test_the_worse_of_two_wins_as_often_as_the_noise_says(
    mechanism: Callable[..., np.ndarray], worse: Callable[[float], float], monotone: bool
) -> None:
    """4·10⁵ draws; the frequency strays by 0.0055 with probability below 2·e^−24.2 ≈ 6e-11 (Hoeffding)."""
    trials = 400_000
    selected = mechanism([3.0, 1.0], trials, np.random.default_rng(11), epsilon=1.5, sensitivity=1.5, monotone=monotone)
    gap = 2.0 if monotone else 1.0
    assert abs(np.mean(selected) - worse(gap)) < 0.0055


def test_gumbel_noise_gives_the_exponential_mechanism_over_several_outcomes() -> None:
    """4·10⁵ draws; each of the four frequencies strays by 0.0055 with probability below 6e-11 (Hoeffding)."""
    utilities = np.array([0.0, 1.0, 2.0, 2.5])
    selected = naive_gumbel_noisy_max(utilities, 400_000, np.random.default_rng(12), epsilon=2.0)
    weights = np.exp(utilities)
    assert np.abs(np.bincount(selected, minlength=4) / 400_000 - weights / weights.sum()).max() < 0.0055


def test_laplace_noise_of_scale_sensitivity_over_epsilon_loses_twice_epsilon_when_utilities_are_not_monotone() -> None:
    """From the closed form: moving the gap from g + 1 to g − 1 (Δu = 1) costs more than ε, and 2ε in the limit."""
    epsilon = 1.0
    losses = [math.log(laplace_worse(epsilon * (g - 1)) / laplace_worse(epsilon * (g + 1))) for g in (1, 5, 100)]
    assert losses[0] > epsilon
    assert 1.97 * epsilon < losses[2] < 2 * epsilon
    halved = [
        math.log(laplace_worse(epsilon / 2 * (g - 1)) / laplace_worse(epsilon / 2 * (g + 1))) for g in (1, 5, 100)
    ]
    assert max(halved) < epsilon


def test_the_seed_alone_decides_and_every_trial_is_filled() -> None:
    utilities = np.zeros(3000)
    first, second = (naive_laplace_noisy_max(utilities, 1001, np.random.default_rng(9), epsilon=1.0) for _ in range(2))
    assert first.shape == (1001,)
    assert first.dtype == np.int64
    assert np.array_equal(first, second)
    assert 0 <= first.min() < first.max() < 3000


def test_memory_stays_bounded_however_many_trials() -> None:
    tracemalloc.start()
    naive_laplace_noisy_max(np.zeros(1000), 20_000, np.random.default_rng(9), epsilon=1.0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40e6  # all 2·10⁷ noises at once would take 160 MB


def test_frequencies_of_permute_and_flip_are_those_of_naive_exponential_noise() -> None:
    """10⁴ draws against 10⁶; a frequency strays by 0.036 in all with probability below 2·e^−23 ≈ 2e-10 (Hoeffding)."""
    utilities = [0.3, 1.7, 2.9, 2.9, -4.0]
    bits = SeededBits(np.random.default_rng(41))
    exact = exact_exponential_noisy_max(epsilon=1.5).many(utilities, 10_000, bits)
    naive = naive_exponential_noisy_max(utilities, 10**6, np.random.default_rng(42), epsilon=1.5)
    difference = np.bincount(exact, minlength=5) / 10_000 - np.bincount(naive, minlength=5) / 10**6
    assert np.abs(difference).max() < 0.036

"""The noisy sum over the noisy count meets its claim by its exact laws, with ε split between the two."""

from __future__ import annotations

from fractions import Fraction

import pytest

from mechanisms.grid import Grid
from mechanisms.local_sensitivity.domain import Domain
from mechanisms.local_sensitivity.sum_over_count.exact import SumOverCount, exact_sum_over_count, prepare_sum_over_count
from tests.mechanisms.local_sensitivity.noise import (
    ScriptedNoise,
    neighbouring_laws,
    worst_divergence,
)

TINY = Domain(0, 2, Grid(0))
NEGLIGIBLE = 1e-20


@pytest.mark.ci
def test_the_exact_law_of_noisy_sum_and_count_meets_pure_epsilon_on_all_tiny_pairs() -> None:
    epsilon = Fraction(4)
    laws = neighbouring_laws(lambda x: SumOverCount(sum(x), len(x), TINY, epsilon).noisy_sum_and_count, range(3))
    assert worst_divergence(laws, epsilon) < NEGLIGIBLE
    # Less than epsilon is refuted by the same laws, here and below: the enumeration can tell.
    assert worst_divergence(laws, epsilon * Fraction(9, 10)) > 0.01


@pytest.mark.ci
def test_the_exact_law_of_sum_over_count_meets_pure_epsilon_on_all_tiny_pairs() -> None:
    epsilon = Fraction(4)
    laws = neighbouring_laws(lambda x: prepare_sum_over_count(x, domain=TINY, epsilon=epsilon).one, range(3))
    assert worst_divergence(laws, epsilon) < NEGLIGIBLE
    assert worst_divergence(laws, epsilon / 4) > 0.01


def test_sum_and_count_split_epsilon() -> None:
    noise = ScriptedNoise([0, 0])
    assert exact_sum_over_count([10.0, 20.0], noise, domain=Domain(5, 25, Grid(0)), epsilon=1) == 15
    sum_scale, count_scale = noise.scales
    assert 20 / sum_scale + 1 / count_scale == 1


@pytest.mark.parametrize(("noise", "answer"), [((-100, 0), 5), ((100, 0), 25), ((7, -50), 25), ((-15, 3), 6)])
def test_sum_over_count_stays_in_the_public_range(noise: tuple[int, int], answer: int) -> None:
    assert exact_sum_over_count([10.0, 20.0], ScriptedNoise(noise), domain=Domain(5, 25, Grid(0)), epsilon=1) == answer

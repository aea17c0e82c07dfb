"""The smooth mean meets its claim by its exact laws, and its bound is smooth."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from attacklab.random_bits import SeededBits
from mechanisms.grid import Grid
from mechanisms.local_sensitivity.domain import Domain
from mechanisms.local_sensitivity.smooth.exact import prepare_smooth_mean, smooth_sensitivity
from tests.mechanisms.local_sensitivity.noise import (
    hockey_stick,
    neighbouring_laws,
    output_law,
    worst_divergence,
)

TINY = Domain(0, 2, Grid(0))
AGES = Domain(0, 100, Grid(-14))


def test_the_exact_law_of_the_smooth_mean_meets_its_claim_on_all_tiny_pairs() -> None:
    epsilon, delta = Fraction(2), Fraction(1, 20)
    prepare = partial(prepare_smooth_mean, domain=TINY, epsilon=epsilon, delta=delta)
    laws = neighbouring_laws(lambda x: prepare(x).one, range(3))
    assert worst_divergence(laws, epsilon) <= delta
    assert worst_divergence(laws, epsilon / 4) > delta


def test_the_exact_law_of_the_smooth_mean_meets_its_claim_where_the_smoothing_and_not_the_data_set_the_scale() -> None:
    epsilon, delta = Fraction(3), Fraction(1, 20)
    prepare = partial(prepare_smooth_mean, domain=Domain(0, 6, Grid(0)), epsilon=epsilon, delta=delta)
    for size in range(12):
        smaller = output_law(prepare([0] * size).one)
        larger = output_law(prepare([0] * size + [6]).one)
        assert hockey_stick(smaller, larger, epsilon) <= delta
        assert hockey_stick(larger, smaller, epsilon) <= delta


def test_the_exact_law_of_the_smooth_mean_meets_its_claim_where_the_data_set_the_scale() -> None:
    epsilon, delta, size = Fraction(2), Fraction(1, 10**6), 150
    domain = Domain(0, 2**14, Grid(0))
    prepare = partial(prepare_smooth_mean, domain=domain, epsilon=epsilon, delta=delta)
    p, q = output_law(prepare([0] * size).one), output_law(prepare([0] * size + [2**14]).one)
    assert max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon)) <= delta
    assert max(hockey_stick(p, q, epsilon / 2), hockey_stick(q, p, epsilon / 2)) > delta


@pytest.mark.few(2)
@pytest.mark.parametrize("smoothing", [1, 2, 5, 23, 43])
def test_the_smooth_bound_is_smooth_and_close_to_the_full_maximum_at_every_size(smoothing: int) -> None:
    growth = 1 + Fraction(1, smoothing)
    for width in [1, 2, 7, 60, 1000]:
        maximum = Fraction(width)
        bounds = [smooth_sensitivity(size, width, smoothing) for size in range(300)]
        assert bounds[0] == width
        for size in range(1, 300):
            sensitivity = math.ceil(Fraction(width, size))
            maximum = max(Fraction(sensitivity), maximum / growth)
            assert bounds[size] <= bounds[size - 1] <= growth * bounds[size]
            assert maximum <= bounds[size] <= maximum + growth


def test_the_running_maximum_is_the_maximum_over_every_distance() -> None:
    growth, width = Fraction(8, 7), 100
    running = Fraction(width)
    for size in range(1, 120):
        running = max(Fraction(math.ceil(Fraction(width, size))), running / growth)
        distances = range(size + 1)
        assert running == max(Fraction(math.ceil(Fraction(width, max(size - k, 1)))) / growth**k for k in distances)


def test_the_same_seed_gives_the_same_answers() -> None:
    def answers(seed: int) -> list[float]:
        bits = SeededBits(np.random.default_rng(seed))
        release = prepare_smooth_mean([10.0, 30.0], domain=AGES, epsilon=1, delta=0.01)
        return [release.one(bits) for _ in range(20)]

    assert answers(1) == answers(1) != answers(2)

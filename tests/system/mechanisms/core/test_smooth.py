"""Noise scaled to a smooth bound meets its claim by its exact laws, for the mean and for a query of somebody else's."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from mechanisms.core.grid import Grid
from mechanisms.core.local import Mean, Median
from mechanisms.core.smooth import Smooth, smooth
from tests.unit.mechanisms.core.databases import one_more, one_replaced
from tests.unit.mechanisms.core.scripted_noise import worst_divergence

EPSILON, DELTA = Fraction(2), Fraction(1, 20)


def mean(width: int) -> Mean:
    return Mean(Fraction(0), Fraction(width), Grid(0))


def median(width: int) -> Median:
    return Median(Fraction(0), Fraction(width), Grid(0))


def test_the_exact_law_of_a_median_meets_the_claim_on_all_tiny_pairs() -> None:
    pairs = [*one_replaced(range(4), 3), *one_more(range(4), 3)]
    enough, quarter = worst_divergence(smooth(median(3), EPSILON, DELTA), pairs, EPSILON, EPSILON / 4)
    assert enough <= DELTA < quarter


class LocalNoise(Median):
    """A median that calls its local sensitivity the most at every distance: noise is scaled to it alone."""

    def sensitivities(self, data: object) -> Iterator[int]:
        return itertools.repeat(next(super().sensitivities(data)), 99)


def test_the_exact_law_of_noise_scaled_to_the_local_sensitivity_breaks_the_claim_on_a_tiny_pair() -> None:
    """The check above can fail: nobody moves the median of 0, 0, 0, and somebody that of 0, 0, 3 by 3."""
    term = smooth(LocalNoise(Fraction(0), Fraction(3), Grid(0)), EPSILON, DELTA)
    (broken,) = worst_divergence(term, [((0, 0, 0), (0, 0, 3))], EPSILON)
    assert broken > DELTA


@pytest.mark.parametrize(("width", "delta"), [(6, Fraction(1, 20)), (2**14, Fraction(1, 10**6))])
def test_the_exact_law_meets_the_claim_where_the_smoothing_sets_the_scale_and_where_the_data_do(
    width: int, delta: Fraction
) -> None:
    sizes = range(12) if width < 100 else [150]
    pairs = [((0,) * size, (0,) * size + (width,)) for size in sizes]
    enough, quarter = worst_divergence(smooth(mean(width), EPSILON, delta), pairs, EPSILON, EPSILON / 4)
    assert enough <= delta < quarter


@pytest.mark.parametrize("smoothing", [1, 2, 5, 23, 43])
@pytest.mark.parametrize("width", [1, 2, 7, 60, 1000])
def test_the_bound_is_smooth_and_close_to_the_maximum_over_all_distances_at_every_size(
    smoothing: int, width: int
) -> None:
    growth = 1 + Fraction(1, smoothing)
    term = Smooth(mean(width), Fraction(2), smoothing)
    bounds = [term.bound(np.zeros(size)) for size in range(200)]
    maximum = Fraction(width)
    for size in range(1, 200):
        sensitivity = math.ceil(Fraction(width, size))
        maximum = max(Fraction(sensitivity), maximum / growth)
        assert bounds[size] <= bounds[size - 1] <= growth * bounds[size]
        assert maximum <= bounds[size] <= maximum + growth
    assert bounds[0] == width


@pytest.mark.parametrize("delta", [Fraction(1, 2), 1e-3, 32_561**-2, 5e-324])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(1, 3), 1, 50])
def test_the_claim_derived_is_what_was_asked_for_and_hardly_more(epsilon: Fraction, delta: float | Fraction) -> None:
    claim = smooth(Mean(Fraction(0), Fraction(4), Grid(0)), epsilon, delta).claim
    assert claim.epsilon == epsilon
    assert claim.delta <= Fraction(delta) < claim.delta * Fraction(math.exp(epsilon / 2)) * Fraction(101, 100)

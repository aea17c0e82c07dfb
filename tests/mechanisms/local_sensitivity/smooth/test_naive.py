"""The flaws of the naive smooth sensitivity, in figures that do not come from its own code."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from mechanisms.local_sensitivity.smooth.naive import naive_smooth_mean, naive_smooth_sensitivity
from tests.mechanisms.local_sensitivity.noise import noise_scales

CENSUS_SIZE = 32_561
CENSUS_DELTA = 1 / CENSUS_SIZE**2


def test_naive_smooth_sensitivity_jumps_by_far_more_than_its_smoothing_allows_between_199_and_200_people() -> None:
    beta = 1 / (2 * math.log(2 / CENSUS_DELTA))
    jump, least = (naive_smooth_sensitivity(size, upper=100.0, epsilon=1.0, delta=CENSUS_DELTA) for size in (199, 200))
    assert jump == pytest.approx(100 * math.exp(-199 * beta), rel=1e-12)
    assert least == pytest.approx(100 / 201, rel=1e-12)
    assert jump / least > 1.9 > math.exp(beta)


def test_naive_smooth_sensitivity_is_not_smooth_at_any_size_from_200_to_536_when_epsilon_is_a_tenth() -> None:
    bounds = [naive_smooth_sensitivity(n, upper=100.0, epsilon=0.1, delta=CENSUS_DELTA) for n in range(199, 1000)]
    allowed = math.exp(0.1 / (2 * math.log(2 / CENSUS_DELTA)))
    falls = [larger / smaller for larger, smaller in pairwise(bounds)]
    assert [size for size, fall in enumerate(falls, start=200) if fall > allowed * (1 + 1e-9)] == [*range(200, 537)]


def test_naive_smooth_sensitivity_breaks_its_delta_between_199_and_200_people() -> None:
    """P[|noise| > c] under both scales, with equal means: δ(ε) at the claimed ε in closed form, and by quadrature."""
    release = partial(naive_smooth_mean, upper=100.0, epsilon=1.0, delta=CENSUS_DELTA)
    (wide,) = noise_scales(release, np.full(199, 40.0), 1)
    (narrow,) = noise_scales(release, np.full(200, 40.0), 1)
    cut = (1 + math.log(wide / narrow)) / (1 / narrow - 1 / wide)
    divergence = math.exp(-cut / wide) - math.e * math.exp(-cut / narrow)
    assert divergence > 0.08
    assert divergence > 1e7 * CENSUS_DELTA

    def excess(y: float) -> float:
        return max(0.0, math.exp(-abs(y) / wide) / (2 * wide) - math.e * math.exp(-abs(y) / narrow) / (2 * narrow))

    by_quadrature = 2 * quad(excess, 0, 60 * wide, points=[cut], limit=200)[0]
    assert by_quadrature == pytest.approx(divergence, rel=1e-6)


@pytest.mark.parametrize("size", [0, 1, 100, 198])
def test_naive_smooth_sensitivity_crashes_on_small_databases(size: int) -> None:
    with pytest.raises(ZeroDivisionError):
        naive_smooth_sensitivity(size, upper=100.0, epsilon=1.0, delta=CENSUS_DELTA)


def test_naive_smooth_sensitivity_is_less_than_what_removing_a_record_does() -> None:
    records = np.zeros(1000)
    records[0] = 100.0
    moved = records.mean() - records[1:].mean()
    assert moved > naive_smooth_sensitivity(1000, upper=100.0, epsilon=1.0, delta=CENSUS_DELTA)


def test_the_same_seed_gives_the_same_outputs() -> None:
    def outputs(seed: int) -> list[float]:
        rng = np.random.default_rng(seed)
        return naive_smooth_mean(np.full(300, 40.0), 5, rng, upper=100, epsilon=1, delta=0.01).tolist()

    assert outputs(1) == outputs(1) != outputs(2)

"""The flaws of the naive means, in figures that do not come from their own code."""

from __future__ import annotations

import math
from functools import partial

import gmpy2
import numpy as np
import pytest
from numpy.typing import NDArray

from mechanisms.local_sensitivity.naive import (
    naive_local_sensitivity_mean,
    naive_ptr_mean,
    naive_sample_aggregate,
    naive_smooth_mean,
    naive_smooth_sensitivity,
    naive_sum_over_count,
)
from tests.unit.mechanisms.local_sensitivity.noise import ScriptedLaplace, noise_scales

CENSUS_SIZE = 32_561
CENSUS_DELTA = 1 / CENSUS_SIZE**2


def test_a_record_below_0_is_not_clipped_by_the_textbook_code() -> None:
    records = np.array([-1e6, 50.0, 500.0])
    assert naive_sum_over_count(records, 1, ScriptedLaplace(0, 0), upper=100.0, epsilon=1.0)[0] == -999_850 / 3
    (answer,) = naive_ptr_mean(records, 1, ScriptedLaplace(99, 0), upper=100.0, bound=0.1, epsilon=1, delta=0.1)
    assert answer == -999_850 / 3


@pytest.mark.parametrize("size", [1, 7, CENSUS_SIZE])
def test_the_noise_scale_of_the_local_sensitivity_mean_gives_the_size_away(size: int) -> None:
    release = partial(naive_local_sensitivity_mean, upper=100.0, epsilon=0.5)
    (scale,) = noise_scales(release, np.full(size, 40.0), 1)
    assert round(100 / (0.5 * scale)) - 1 == size


def ptr_passes(records: NDArray[np.float64], bound: float, test_noise: float) -> bool:
    rng = ScriptedLaplace(test_noise, 0.0)
    (answer,) = naive_ptr_mean(records, 1, rng, upper=100.0, bound=bound, epsilon=1.0, delta=CENSUS_DELTA)
    return answer is not None


def least_passing_noise(records: NDArray[np.float64], bound: float) -> float:
    """The least double at which the test passes, by bisection."""
    refused, passed = 0.0, 100.0
    assert not ptr_passes(records, bound, refused)
    assert ptr_passes(records, bound, passed)
    while math.nextafter(refused, passed) < passed:
        middle = (refused + passed) / 2
        refused, passed = (refused, middle) if ptr_passes(records, bound, middle) else (middle, passed)
    return passed


def test_naive_propose_test_release_passes_at_distance_0_eleven_thousand_times_too_often() -> None:
    least = least_passing_noise(np.full(10, 40.0), bound=0.005)
    with gmpy2.context(precision=200):
        delta = gmpy2.mpfr(gmpy2.mpq(1, CENSUS_SIZE**2))
        probability = gmpy2.exp(-gmpy2.mpfr(least)) / 2
        assert abs(probability / (gmpy2.sqrt(delta / 2) / 2) - 1) < 1e-14
        assert f"{probability:.3g}" == "1.09e-05"
        assert f"{delta:.2g}" == "9.4e-10"
        assert round(float(probability / delta), -2) == 11_500


def test_naive_propose_test_release_spends_epsilon_on_the_test_and_again_on_the_release() -> None:
    """For outputs below both means the likelihood ratio of two neighbours is exact: test times release."""
    bound = 0.05
    larger = np.zeros(2005)
    larger[0] = 100.0
    smaller = larger[1:]
    release = partial(naive_ptr_mean, upper=100.0, bound=bound, epsilon=1.0, delta=CENSUS_DELTA)
    test_scale, release_scale = noise_scales(release, larger, 2)
    # Both need positive noise to pass, so the one that needs less passes more often by a factor of e^(less/scale).
    test_loss = (least_passing_noise(smaller, bound) - least_passing_noise(larger, bound)) / test_scale
    release_loss = abs(larger.mean() - smaller.mean()) / release_scale
    assert test_loss + release_loss > 1.99


def test_600_chunks_of_the_census_are_593() -> None:
    seen: list[int] = []

    def size_of(chunk: NDArray[np.float64]) -> float:
        seen.append(len(chunk))
        return 50.0

    naive_sample_aggregate(
        np.full(CENSUS_SIZE, 50.0),
        1,
        ScriptedLaplace(0.0),
        chunks=600,
        lower=20,
        upper=80,
        epsilon=1,
        statistic=size_of,
    )
    assert len(seen) == 593
    assert sum(seen) == CENSUS_SIZE


def test_naive_smooth_sensitivity_jumps_by_far_more_than_its_smoothing_allows_between_199_and_200_people() -> None:
    beta = 1 / (2 * math.log(2 / CENSUS_DELTA))
    jump, least = (naive_smooth_sensitivity(size, upper=100.0, epsilon=1.0, delta=CENSUS_DELTA) for size in (199, 200))
    assert jump == pytest.approx(100 * math.exp(-199 * beta), rel=1e-12)
    assert least == pytest.approx(100 / 201, rel=1e-12)
    assert jump / least > 1.9 > math.exp(beta)


def test_naive_smooth_sensitivity_breaks_its_delta_between_199_and_200_people() -> None:
    """P[|noise| > c] under both scales, with equal means: δ(ε) at the claimed ε in closed form."""
    release = partial(naive_smooth_mean, upper=100.0, epsilon=1.0, delta=CENSUS_DELTA)
    (wide,) = noise_scales(release, np.full(199, 40.0), 1)
    (narrow,) = noise_scales(release, np.full(200, 40.0), 1)
    cut = (1 + math.log(wide / narrow)) / (1 / narrow - 1 / wide)
    divergence = math.exp(-cut / wide) - math.e * math.exp(-cut / narrow)
    assert divergence > 0.08
    assert divergence > 1e7 * CENSUS_DELTA

"""The flaws of the naive means, in figures that do not come from their own code."""

import math
import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mechanisms.local_sensitivity.naive import (
    naive_local_sensitivity_mean,
    naive_median,
    naive_ptr_mean,
    naive_smooth_mean,
    naive_sum_over_count,
)
from tests.mechanisms.core.databases import databases


class ScriptedLaplace(np.random.Generator):
    """A numpy generator whose Laplace noise is the given values, one array a call, and which records the scales."""

    def __init__(self, *noise: float) -> None:
        super().__init__(np.random.PCG64(0))
        self._noise = list(noise)
        self.scales: list[float] = []

    def laplace(  # type: ignore[override] # as the naive mechanisms call it
        self, loc: float, scale: float, size: int
    ) -> NDArray[np.float64]:
        self.scales.append(scale)
        return np.full(size, loc + self._noise.pop(0))


def noise_scales(release: Callable[..., object], records: NDArray[np.float64], draws: int) -> list[float]:
    """The scales of the noise that a naive mechanism draws."""
    rng = ScriptedLaplace(*[0.0] * draws)
    release(records, 1, rng)
    return rng.scales


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


@pytest.mark.parametrize(("factor", "passes"), [(1 - 1e-15, False), (1 + 1e-15, True)])
def test_naive_propose_test_release_passes_at_distance_0_eleven_thousand_times_too_often(
    factor: float, passes: bool
) -> None:
    """The test passes at noise from ln(2/δ)/2 on, and Laplace noise is that large with probability √(δ/2)/2."""
    rng = ScriptedLaplace(factor * math.log(2 / CENSUS_DELTA) / 2, 0.0)
    (answer,) = naive_ptr_mean(np.full(10, 40.0), 1, rng, upper=100.0, bound=0.005, epsilon=1.0, delta=CENSUS_DELTA)
    assert (answer is not None) is passes
    assert round(math.sqrt(CENSUS_DELTA / 2) / 2 / CENSUS_DELTA, -2) == 11_500


def test_naive_smooth_sensitivity_breaks_its_delta_between_199_and_200_people() -> None:
    """P[|noise| > c] under both scales, with equal means: δ(ε) at the claimed ε in closed form."""
    release = partial(naive_smooth_mean, upper=100.0, epsilon=1.0, delta=CENSUS_DELTA)
    (wide,) = noise_scales(release, np.full(199, 40.0), 1)
    (narrow,) = noise_scales(release, np.full(200, 40.0), 1)
    cut = (1 + math.log(wide / narrow)) / (1 / narrow - 1 / wide)
    divergence = math.exp(-cut / wide) - math.e * math.exp(-cut / narrow)
    assert divergence > 0.08
    assert divergence > 1e7 * CENSUS_DELTA


Release = Callable[..., Any]
AGES: dict[str, Any] = {"lower": 0.0, "upper": 3.0}


def median(records: tuple[float, ...]) -> float:
    return statistics.median_low(records) if records else 0.0


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_the_medians_noise_is_scaled_to_what_one_record_more_fewer_or_elsewhere_moves_it(epsilon: float) -> None:
    for records in databases(range(4), 5):
        fewer = [records[:place] + records[place + 1 :] for place in range(len(records))]
        near = [*fewer, *((*rest, value) for rest in (records, *fewer) for value in (0, 1, 2, 3))]
        moves = max(abs(median(changed) - median(records)) for changed in near)
        release: Release = partial(naive_median, epsilon=epsilon, **AGES)
        ages = np.array(records, dtype=float)
        assert noise_scales(release, ages, 1) == [moves / epsilon]
        assert release(ages, 2, ScriptedLaplace(0.25)).tolist() == [median(records) + 0.25] * 2

"""The flaws of the naive propose-test-release, in figures that do not come from its own code."""

from __future__ import annotations

import math
from functools import partial

import gmpy2
import numpy as np
import pytest
from numpy.typing import NDArray

from mechanisms.local_sensitivity.ptr.naive import naive_ptr_mean
from tests.mechanisms.local_sensitivity.noise import ScriptedLaplace, noise_scales

CENSUS_SIZE = 32_561
CENSUS_DELTA = 1 / CENSUS_SIZE**2


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


def test_naive_propose_test_release_refuses_or_answers_trial_by_trial() -> None:
    records = np.full(20_010, 40.0)
    outputs = naive_ptr_mean(
        records, 1000, np.random.default_rng(3), upper=100.0, bound=0.005, epsilon=1.0, delta=CENSUS_DELTA
    )
    assert len(outputs) == 1000
    answers = [output for output in outputs if output is not None]
    assert 0 < len(answers) < 1000
    assert all(abs(answer - 40) < 0.005 * 40 for answer in answers)


@pytest.mark.parametrize("parameter", ["upper", "bound", "epsilon", "delta"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_parameters_that_are_not_positive_and_finite_are_refused(parameter: str, value: float) -> None:
    parameters = {"upper": 100.0, "bound": 0.1, "epsilon": 1.0, "delta": 0.1} | {parameter: value}
    with pytest.raises(ValueError, match=f"{parameter} must"):
        naive_ptr_mean(np.ones(3), 1, np.random.default_rng(0), **parameters)

"""Noise scaled to the local sensitivity gives the number of people away."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from mechanisms.local_sensitivity.mean.naive import naive_local_sensitivity_mean
from tests.mechanisms.local_sensitivity.noise import ScriptedLaplace, noise_scales

CENSUS_SIZE = 32_561


@pytest.mark.parametrize("size", [1, 7, CENSUS_SIZE])
def test_the_noise_scale_of_the_local_sensitivity_mean_gives_the_size_away(size: int) -> None:
    release = partial(naive_local_sensitivity_mean, upper=100.0, epsilon=0.5)
    (scale,) = noise_scales(release, np.full(size, 40.0), 1)
    assert round(100 / (0.5 * scale)) - 1 == size


def test_the_local_sensitivity_mean_clips_on_both_sides() -> None:
    records = np.array([-50.0, 20.0, 400.0])
    assert naive_local_sensitivity_mean(records, 2, ScriptedLaplace(0.5), upper=100, epsilon=1).tolist() == [40.5, 40.5]


def test_the_mean_of_nobody_is_nan() -> None:
    with pytest.warns(RuntimeWarning):
        outputs = naive_local_sensitivity_mean(np.array([]), 2, np.random.default_rng(0), upper=100, epsilon=1)
    assert np.isnan(outputs).all()

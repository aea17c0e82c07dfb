"""Noise scaled to a local sensitivity that jumps: its scales are those of the definition, on all small inputs."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from mechanisms.local_sensitivity.naive_jumps import naive_median
from tests.unit.mechanisms.core.databases import databases
from tests.unit.mechanisms.local_sensitivity.noise import ScriptedLaplace, noise_scales

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


def test_records_beyond_the_bounds_count_as_the_bounds() -> None:
    (answer,) = naive_median(np.array([-9.0, 2.0, 99.0]), 1, ScriptedLaplace(0.0), epsilon=1.0, **AGES)
    assert answer == 2.0


@pytest.mark.parametrize("others", [1, 7, 100])
def test_nobody_moves_the_median_of_two_more_than_half_and_with_one_less_somebody_does(others: int) -> None:
    release = partial(naive_median, epsilon=1.0, **AGES)
    records = np.array([0.0] * (others + 2) + [3.0] * others)
    assert noise_scales(release, records, 1) == [0.0]
    assert noise_scales(release, records[1:], 1) == [3.0]

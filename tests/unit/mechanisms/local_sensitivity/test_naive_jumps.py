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

"""Naive chunks are positions: one row moves them all, and fewer are cut than the noise is scaled to."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from mechanisms.local_sensitivity.sample_aggregate.naive import naive_sample_aggregate
from tests.mechanisms.local_sensitivity.noise import ScriptedLaplace, noise_scales

CENSUS_SIZE = 32_561


def test_removing_the_first_row_moves_the_naive_aggregate_by_300_times_what_the_noise_covers() -> None:
    rows = np.tile([20.0, 20.0, 80.0, 80.0], 300)
    aggregate = partial(naive_sample_aggregate, chunks=600, lower=20.0, upper=80.0, epsilon=1.0, statistic=np.max)
    with_first, without_first = (aggregate(x, 1, ScriptedLaplace(0.0))[0] for x in (rows, rows[1:]))
    assert (with_first, without_first) == (50, 80)
    assert noise_scales(aggregate, rows, 1) == [0.1]


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

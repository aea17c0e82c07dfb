"""Position chunks: caught where chunks are cut by position, and nowhere else."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attacklab.attacks.position_chunks import PositionChunks
from attacklab.findings import Verdict
from attacklab.targets import Target
from mechanisms.local_sensitivity.naive import naive_sample_aggregate
from tests.attacklab.attacks.means import (
    BOUNDS,
    SOUND,
    judged,
    mean_target,
    moves_by_one_record_at_most,
    verdicts,
)


def aggregate(statistic: Callable[..., Any]) -> Target:
    return mean_target(naive_sample_aggregate, chunks=600, lower=BOUNDS[0], upper=BOUNDS[1], statistic=statistic)


def test_chunks_of_positions_are_caught_by_the_shift_where_they_answer_with_a_maximum() -> None:
    shifted, _ = judged(aggregate(np.max), PositionChunks())
    assert shifted.verdict is Verdict.VIOLATED
    assert shifted.pair is not None
    assert [shifted.pair[side]["shape"] for side in ("first", "second")] == [[1199], [1200]]
    assert shifted.advantage is not None
    # The aggregate moves from 50 to 100 under noise of scale 1/6.
    assert shifted.advantage.estimate == 1


def test_chunks_of_positions_are_caught_by_one_record_more_where_they_answer_with_a_mean() -> None:
    """The aggregate moves by 100/301 under noise of scale 1/6: 1 − e^−0.997; 0.05 is 6 standard deviations."""
    mixed, doubled = judged(aggregate(np.mean), PositionChunks())
    assert mixed.verdict is Verdict.NOT_DETECTED
    assert doubled.verdict is Verdict.VIOLATED
    assert doubled.advantage is not None
    assert doubled.advantage.estimate == pytest.approx(1 - math.exp(-300 / 301), abs=0.05)


def test_a_mean_without_chunks_is_not_accused_of_them() -> None:
    assert verdicts(SOUND, PositionChunks()) == [Verdict.NOT_DETECTED] * 2


def test_it_applies_to_means() -> None:
    assert PositionChunks().applies_to(SOUND)
    assert not PositionChunks().applies_to(Target.sum(lambda *_: np.empty(0), bounds=BOUNDS, epsilon=1.0))


def test_its_pairs_move_the_real_sum_by_no_more_than_one_record_can() -> None:
    assert moves_by_one_record_at_most(PositionChunks())

"""Flaws that several naive mechanisms of the family share: records are not clipped. And how parameters are checked."""

from __future__ import annotations

import numpy as np
import pytest

from mechanisms.local_sensitivity.ptr.naive import naive_ptr_mean
from mechanisms.local_sensitivity.sample_aggregate.naive import naive_sample_aggregate
from mechanisms.local_sensitivity.sum_over_count.naive import naive_sum_over_count
from tests.mechanisms.local_sensitivity.noise import ScriptedLaplace


def test_a_record_below_0_is_not_clipped_by_the_textbook_code() -> None:
    records = np.array([-1e6, 50.0, 500.0])
    assert naive_sum_over_count(records, 1, ScriptedLaplace(0, 0), upper=100.0, epsilon=1.0)[0] == -999_850 / 3
    (answer,) = naive_ptr_mean(records, 1, ScriptedLaplace(99, 0), upper=100.0, bound=0.1, epsilon=1, delta=0.1)
    assert answer == -999_850 / 3


def test_impossible_chunks_bounds_and_trials_are_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="chunks must be above 0"):
        naive_sample_aggregate(np.ones(3), 1, rng, chunks=0, lower=0, upper=1, epsilon=1)
    with pytest.raises(ValueError, match="lower must be less than upper"):
        naive_sample_aggregate(np.ones(3), 1, rng, chunks=1, lower=1, upper=1, epsilon=1)
    with pytest.raises(ValueError, match="trials must be at least 0"):
        naive_sum_over_count(np.ones(3), -1, rng, upper=1, epsilon=1)
    with pytest.raises(ZeroDivisionError):
        naive_ptr_mean(np.ones(3), 1, rng, upper=1, bound=2, epsilon=1, delta=0.1)

"""The timing test, on made-up times: no test here looks at a clock."""

from __future__ import annotations

import numpy as np
import pytest

from attacklab.auditing.statistics.timing import CROPS, TimingTest, timing_test


def tailed(rng: np.random.Generator, count: int) -> np.ndarray:
    """Times around 1000 with one in ten delayed by up to millions, as interrupts do."""
    return rng.normal(1000, 20, count) + (rng.random(count) < 0.1) * rng.pareto(1.0, count) * 1e5


def test_cropping_finds_a_difference_that_the_tails_hide() -> None:
    rng = np.random.default_rng(1)
    first, second = tailed(rng, 3000) + 10, tailed(rng, 3000)
    found = timing_test(first, second)
    assert found.p_value < 1e-9
    assert found.t > 0
    assert found.crop < 1
    assert timing_test(second, first).t == pytest.approx(-found.t)


def test_equal_laws_give_small_p_values_no_more_often_than_they_should() -> None:
    """A valid test gives 12 or more of 50 p-values below 0.02 with probability below 1e-9 (mean 1)."""
    rng = np.random.default_rng(2)
    small = sum(timing_test(tailed(rng, 400), tailed(rng, 400)).p_value < 0.02 for _ in range(50))
    assert small < 12


def test_constant_times_differ_with_certainty_or_not_at_all() -> None:
    assert timing_test(np.full(50, 7), np.full(50, 7)) == TimingTest(0.0, CROPS[0], 1.0)
    found = timing_test(np.full(50, 8), np.full(50, 7))
    assert (found.p_value, found.t) == (0.0, np.inf)


def test_too_few_times_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 30 times, not 29 and 100"):
        timing_test(np.ones(29), np.ones(100))

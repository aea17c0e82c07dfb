"""The exact means put their terms together as they say, answer every database, and their claims are accepted."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from attacklab.model.random_bits import SeededBits
from mechanisms.core.grid import Grid
from mechanisms.core.term import Mechanism
from mechanisms.local_sensitivity.exact import (
    exact_ptr_mean,
    exact_sample_aggregate,
    exact_smooth_mean,
    exact_sum_over_count,
)
from tests.unit.mechanisms.core.databases import one_more
from tests.unit.mechanisms.core.scripted_noise import scripted, worst_divergence

CENSUS_DELTA = Fraction(1, 32_561**2)
AGES: dict[str, Any] = {"lower": 0, "upper": 100, "grid": Grid(-14), "epsilon": 1}
MEANS: dict[str, Callable[..., Mechanism]] = {
    "sum over count": exact_sum_over_count,
    "smooth": partial(exact_smooth_mean, delta=CENSUS_DELTA),
    "ptr": partial(exact_ptr_mean, delta=CENSUS_DELTA, bound=0.005),
    "aggregate": partial(exact_sample_aggregate, statistic=np.mean, chunks=600, key=b"k", named=False),
}


def test_a_census_is_answered_within_the_tails_of_the_noise() -> None:
    """Each answer misses its bound with probability at most 2·e^−23 < 3e-10 a draw, two draws an answer."""
    rng = np.random.default_rng(7)
    ages = rng.integers(17, 91, size=32_561).astype(np.float64)
    truth, count = float(ages.mean()), len(ages)
    errors = {name: abs(make(**AGES).release(ages, SeededBits(rng)) - truth) for name, make in MEANS.items()}
    assert errors["ptr"] < 23 * 2 * 0.005 + 2**-14
    assert errors["smooth"] < 23 * 2 * (100 / count + 2**-14) + 2**-14
    assert errors["sum over count"] < 23 * 2 * (100 + truth) / (count - 46)


def test_the_exact_law_of_sum_over_count_meets_pure_epsilon_on_all_tiny_pairs_and_no_less() -> None:
    term = exact_sum_over_count(epsilon=Fraction(4), lower=0, upper=2, grid=Grid(0))
    enough, quarter = worst_divergence(term, one_more(range(3), 2), Fraction(4), Fraction(1))
    assert enough < 1e-20
    assert quarter > 0.01


def test_removing_any_one_row_moves_the_aggregate_by_the_noise_scale_at_most() -> None:
    rows = [(str(i), float(age)) for i, age in enumerate([20, 20, 80, 80] * 300)]
    term = exact_sample_aggregate(epsilon=1, statistic=np.max, chunks=600, key=b"k", lower=20, upper=80, grid=Grid(-20))
    whole = scripted(term, rows, [0])[0]
    moves = [abs(whole - scripted(term, rows[:i] + rows[i + 1 :], [0])[0]) for i in range(0, 1200, 120)]
    assert 0 < max(moves) <= 60 / 600 + 2**-20

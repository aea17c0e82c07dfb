"""Every exact mechanism of the family on hostile databases, at full size and with impossible parameters."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from attacklab.random_bits import SeededBits
from mechanisms.grid import Grid
from mechanisms.local_sensitivity.domain import Domain
from mechanisms.local_sensitivity.ptr.exact import exact_ptr_mean, prepare_ptr_mean
from mechanisms.local_sensitivity.sample_aggregate.exact import (
    exact_sample_aggregate,
    prepare_sample_aggregate,
)
from mechanisms.local_sensitivity.smooth.exact import exact_smooth_mean, prepare_smooth_mean
from mechanisms.local_sensitivity.sum_over_count.exact import exact_sum_over_count, prepare_sum_over_count

TINY = Domain(0, 2, Grid(0))
AGES = Domain(0, 100, Grid(-14))
CENSUS_DELTA = Fraction(1, 32_561**2)
HOSTILE = [[], [math.nan], [math.inf, -math.inf], [1e308] * 3, [-1e308, 5e-324], [50.0], [1e6] * 40]


@pytest.mark.parametrize("records", HOSTILE)
def test_no_database_makes_a_mechanism_fail(records: list[float]) -> None:
    bits = SeededBits(np.random.default_rng(1))
    people = [("\ud800" + str(i), value) for i, value in enumerate(records)]
    domain = Domain(0, 100, Grid(-3))
    assert 0 <= exact_sum_over_count(records, bits, domain=domain, epsilon=1) <= 100
    assert math.isfinite(exact_smooth_mean(records, bits, domain=domain, epsilon=1, delta=0.01))
    assert exact_ptr_mean(records, bits, domain=domain, bound=0.125, epsilon=1, delta=1e-30) is None
    assert math.isfinite(
        exact_sample_aggregate(people, bits, statistic=np.mean, chunks=3, key=b"", domain=domain, epsilon=1)
    )


def test_a_census_is_answered_within_the_tails_of_the_noise() -> None:
    """Each answer misses its bound with probability at most 2·e^−23 < 3e-10 a draw, two draws an answer."""
    rng = np.random.default_rng(7)
    ages = rng.integers(17, 91, size=32_561).astype(np.float64)
    truth, count = float(ages.mean()), len(ages)
    bits = SeededBits(rng)
    bound = 0.005
    released = exact_ptr_mean(ages, bits, domain=AGES, bound=bound, epsilon=1, delta=CENSUS_DELTA)
    assert released is not None
    assert abs(released - truth) < 23 * 2 * bound + 2**-14
    released = exact_smooth_mean(ages, bits, domain=AGES, epsilon=1, delta=CENSUS_DELTA)
    assert abs(released - truth) < 23 * 2 * (100 / count + 2**-14) + 2**-14
    released = exact_sum_over_count(ages, bits, domain=AGES, epsilon=1)
    assert abs(released - truth) < 23 * 2 * (100 + truth) / (count - 46)


@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan])
def test_an_impossible_epsilon_is_refused_by_every_mechanism(epsilon: float) -> None:
    with pytest.raises(ValueError, match="epsilon must be"):
        prepare_sum_over_count([], domain=TINY, epsilon=epsilon)
    with pytest.raises(ValueError, match="epsilon must be"):
        prepare_ptr_mean([], domain=TINY, bound=1, epsilon=epsilon, delta=0.1)
    with pytest.raises(ValueError, match="epsilon must be"):
        prepare_smooth_mean([], domain=TINY, epsilon=epsilon, delta=0.1)
    with pytest.raises(ValueError, match="epsilon must be"):
        prepare_sample_aggregate([], statistic=np.mean, chunks=1, key=b"", domain=TINY, epsilon=epsilon)


def test_noise_too_large_for_the_grid_is_refused_whatever_the_records_are() -> None:
    widest = Domain(0, 2**31, Grid(0))
    least = Fraction(1, 2**14)
    too_small = least * Fraction(1023, 1024)
    for records in ([], [1.0] * 3000):
        people = [(str(i), value) for i, value in enumerate(records)]
        prepare_sum_over_count(records, domain=widest, epsilon=least)
        with pytest.raises(ValueError, match="grid exponent 0 is too fine"):
            prepare_sum_over_count(records, domain=widest, epsilon=too_small)
        with pytest.raises(ValueError, match="grid exponent 0 is too fine"):
            prepare_smooth_mean(records, domain=widest, epsilon=too_small, delta=0.1)
        with pytest.raises(ValueError, match="grid exponent 0 is too fine"):
            prepare_ptr_mean(records, domain=widest, bound=1, epsilon=too_small, delta=0.1)
        with pytest.raises(ValueError, match="grid exponent 0 is too fine"):
            prepare_sample_aggregate(people, statistic=np.mean, chunks=1, key=b"", domain=widest, epsilon=too_small)


@pytest.mark.parametrize("delta", [0, 0.6, math.nan])
def test_an_impossible_delta_is_refused(delta: float) -> None:
    with pytest.raises(ValueError, match="delta must"):
        prepare_ptr_mean([], domain=TINY, bound=1, epsilon=1, delta=delta)
    with pytest.raises(ValueError, match="delta must"):
        prepare_smooth_mean([], domain=TINY, epsilon=1, delta=delta)

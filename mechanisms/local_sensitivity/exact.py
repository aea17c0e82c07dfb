"""The private mean: the textbook's five ways, corrected so that each part keeps its claim.

- A noisy sum over a noisy count, with ε split between the two: records are clamped on both sides and counted from the
  lower end, so that one person moves the sum by the width of the range at most (section 8.1).
- Propose-test-release, with a test that errs with probability at most δ. The threshold comes from the tail of the noise
  that is drawn, the test and the release spend half of ε each, and removing a person counts as well as adding one
  (section 8.3).
- Noise scaled to the smooth sensitivity over every distance, in integers (section 8.4).
- Sample and aggregate with chunks that are assigned to people, not to positions, by a keyed hash of the person alone.
  So one person changes the answer of one chunk, and there are as many chunks as the noise is scaled to (section 8.5).

The median's local sensitivity jumps; its query bounds it at each distance (`core.local.Median`), for noise of
smooth sensitivity and for propose-test-release.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mechanisms.core.chunks import ChunkTotal
from mechanisms.core.compose import Mapped
from mechanisms.core.grid import Grid
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.core.local import Mean, Median
from mechanisms.core.maps import Share, ratio
from mechanisms.core.noisy import noisy
from mechanisms.core.numbers import Number, positive, rational
from mechanisms.core.records import Count, Total
from mechanisms.core.smooth import Smooth, smooth
from mechanisms.core.tested import Tested, propose_test_release


def exact_sum_over_count(*, epsilon: Number, lower: Number, upper: Number, grid: Grid) -> Mapped:
    """Return a mechanism for a noisy sum over a noisy count, half of ε each: ε-DP if a record is added or removed."""
    half = positive("epsilon", epsilon) / 2
    total = Total(rational("lower", lower), rational("upper", upper), grid, above_lower=True)
    noisy_total, noisy_count = noisy(total, DiscreteLaplace, half), noisy(Count(), DiscreteLaplace, half)
    return ratio(noisy_total, noisy_count, lower, upper, origin=lower)


def exact_ptr_mean(
    *, epsilon: Number, delta: Number, bound: Number, lower: Number, upper: Number, grid: Grid
) -> Tested:
    """Return propose-test-release of the mean: (ε, δ)-DP if a record is added or removed."""
    return propose_test_release(Mean(rational("lower", lower), rational("upper", upper), grid), bound, epsilon, delta)


def exact_smooth_mean(*, epsilon: Number, delta: Number, lower: Number, upper: Number, grid: Grid) -> Smooth:
    """Return a mechanism that adds smooth-sensitivity noise to the mean: (ε, δ)-DP if a record is added or removed."""
    return smooth(Mean(rational("lower", lower), rational("upper", upper), grid), epsilon, delta)


def exact_sample_aggregate(
    *,
    epsilon: Number,
    statistic: Callable[..., Any],
    chunks: int,
    key: bytes,
    lower: Number,
    upper: Number,
    grid: Grid,
    named: bool = True,
) -> Mapped:
    """Return a mechanism for a noisy mean of a statistic over chunks of people: ε-DP if a person is added or removed.

    If `named`, records are pairs (person, value). Otherwise each record is a value, and a person of its own.
    """
    total = ChunkTotal(statistic, chunks, key, rational("lower", lower), rational("upper", upper), grid, named)
    return Mapped(noisy(total, DiscreteLaplace, epsilon), Share(chunks, float(lower)))


def exact_median_smooth(*, epsilon: Number, delta: Number, lower: Number, upper: Number, grid: Grid) -> Smooth:
    """Return the lower median with smooth-sensitivity noise: (ε, δ)-DP if a record is added, removed or replaced."""
    return smooth(Median(rational("lower", lower), rational("upper", upper), grid), epsilon, delta)


def exact_median_ptr(
    *, epsilon: Number, delta: Number, bound: Number, lower: Number, upper: Number, grid: Grid
) -> Tested:
    """Return propose-test-release of the lower median: (ε, δ)-DP if a record is added, removed or replaced.

    Arguments and errors as in `exact_median_smooth`; besides, `bound` is the proposed bound on the local sensitivity,
    at least a step of the grid and less than upper − lower, which is rounded down to the grid.
    """
    return propose_test_release(Median(rational("lower", lower), rational("upper", upper), grid), bound, epsilon, delta)

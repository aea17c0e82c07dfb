"""A noisy histogram draws noise for each cell alone, and its fast path draws what discrete Laplace noise draws."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from attacklab.random_bits import SeededBits
from mechanisms.grid import Grid
from mechanisms.laplace.exact import exact_discrete_laplace
from mechanisms.laplace.exact_fast import discrete_laplace_many
from mechanisms.laplace.exact_histogram import exact_histogram, exact_histogram_fast

GRID = Grid(0)


def seeded(seed: int) -> SeededBits:
    return SeededBits(np.random.default_rng(seed))


def test_the_reference_adds_to_each_count_what_the_mechanism_for_one_answer_does() -> None:
    counts, bits = [3, 0, 10**6, 2.5], seeded(1)
    expected = [exact_discrete_laplace(count, bits, epsilon=1, grid=GRID) for count in counts]
    assert exact_histogram(counts, seeded(1), epsilon=1, grid=GRID) == expected


def test_the_fast_path_adds_a_row_of_noise_to_the_counts() -> None:
    counts = [3, 0, 10**6]
    noise = discrete_laplace_many(Fraction(1), 15, seeded(2)).reshape(5, 3)
    released = exact_histogram_fast(counts, 5, seeded(2), epsilon=1, grid=GRID)
    assert np.array_equal(released, noise + np.array(counts))
    assert released.dtype == np.float64


@pytest.mark.ci
def test_both_paths_have_one_law() -> None:
    """20,000 draws each of a cell stray from a probability by 0.025 with probability below 2·e^−25 (Hoeffding)."""
    q = math.exp(-1)
    fast = exact_histogram_fast([5, 9], 20_000, seeded(3), epsilon=1, grid=GRID)
    bits = seeded(4)
    one_by_one = np.array([exact_histogram([5, 9], bits, epsilon=1, grid=GRID) for _ in range(20_000)])
    for released in (fast, one_by_one):
        for cell, count in enumerate((5, 9)):
            seen = Counter(released[:, cell].tolist())
            for n in range(-4, 5):
                assert abs(seen[float(count + n)] / 20_000 - (1 - q) / (1 + q) * q ** abs(n)) < 0.025


def test_no_cells_and_no_trials_are_released_as_they_are() -> None:
    assert exact_histogram([], seeded(5), epsilon=1, grid=GRID) == []
    assert exact_histogram_fast([], 4, seeded(5), epsilon=1, grid=GRID).shape == (4, 0)
    assert exact_histogram_fast([1, 2], 0, seeded(5), epsilon=1, grid=GRID).shape == (0, 2)


def test_outputs_stay_on_the_grid_whatever_the_counts() -> None:
    released = exact_histogram_fast([1e300, -math.inf, math.nan], 9, seeded(6), epsilon=1, grid=GRID)
    assert np.all(np.abs(released) <= 2.0**53)


@pytest.mark.parametrize("epsilon", [0, -1, math.nan])
def test_an_epsilon_out_of_range_is_refused(epsilon: float) -> None:
    with pytest.raises(ValueError, match="epsilon"):
        exact_histogram_fast([1], 1, seeded(7), epsilon=epsilon, grid=GRID)

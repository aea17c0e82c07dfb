"""The exact quantile has the law that its README says, on both paths, and utilities that move by the sensitivity."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import mpmath
import numpy as np
import pytest

from attacklab.random_bits import SeededBits
from mechanisms.exponential.exact import exact_exponential
from mechanisms.grid import Grid
from mechanisms.quantile.candidates import Candidates, rank_utilities, rank_weights
from mechanisms.quantile.exact import exact_quantile, exact_quantile_fast
from tests.mechanisms.enumeration import law_of

FEW = Candidates(0, 3, Grid(0))
QUANTILES = (Fraction(0), Fraction(1, 2), Fraction(3, 4), Fraction(1, 10), Fraction(1))


def seeded(seed: int) -> SeededBits:
    return SeededBits(np.random.default_rng(seed))


def distance(records: list[float], candidate: float, quantile: Fraction) -> int:
    """q·|rank − α·n|, where records that equal the candidate are left out of the count."""
    below = sum(1 for one in records if one < candidate)
    above = sum(1 for one in records if one > candidate)
    return abs(int(quantile.denominator * (below - quantile * (below + above))))


@pytest.mark.parametrize("quantile", QUANTILES)
def test_the_utility_is_the_distance_in_rank(quantile: Fraction) -> None:
    values = [0.0, 0.5, 1.0, 1.0 + 2**-52, 3.0]
    for size in range(4):
        for records in map(list, product(values, repeat=size)):
            expected = [-distance(records, float(candidate), quantile) for candidate in range(4)]
            assert rank_utilities(records, quantile, FEW).tolist() == expected


@pytest.mark.parametrize("quantile", QUANTILES)
def test_one_record_moves_utilities_by_the_sensitivity_at_most_and_some_by_as_much(quantile: Fraction) -> None:
    moves = set()
    for size in range(4):
        for records in map(list, combinations_with_replacement([0.0, 0.5, 2.0, 2.5, 3.0], size)):
            for more in (0.0, 1.5, 2.0, 3.0, math.nan, math.inf, -5.0):
                with_more = rank_utilities([*records, more], quantile, FEW)
                moves |= set(np.abs(with_more - rank_utilities(records, quantile, FEW)).tolist())
    assert max(moves) == max(rank_weights(quantile))


def test_records_beyond_the_range_count_as_its_ends_and_nan_as_the_lower_one() -> None:
    beyond = rank_utilities([-7, math.inf, math.nan, 1e300], Fraction(1, 3), FEW)
    assert beyond.tolist() == rank_utilities([0, 3, 0, 3], Fraction(1, 3), FEW).tolist()


@pytest.mark.parametrize("records", [[], [1.0], [0.0, 0.0, 2.5], [1.0] * 5, [0.5, 1.5, 2.5]])
@pytest.mark.parametrize("quantile", [Fraction(1, 2), Fraction(3, 4)])
def test_the_law_found_by_running_all_bits_is_the_closed_formula(records: list[float], quantile: Fraction) -> None:
    """Branches less probable than 2^−24 are dropped; no probability lacks more than what is missing in all."""
    found = law_of(
        lambda bits: exact_quantile(records, bits, epsilon=1, quantile=quantile, candidates=FEW),
        smallest=Fraction(1, 1 << 24),
    )
    missing = 1 - sum(found.values())
    assert missing < Fraction(1, 1000)
    rate = mpmath.mpf(1) / (2 * max(quantile.numerator, quantile.denominator - quantile.numerator))
    weights = [mpmath.exp(-rate * distance(records, float(candidate), quantile)) for candidate in range(4)]
    for candidate, weight in enumerate(weights):
        lacks = (
            weight / sum(weights) - mpmath.mpf(found[float(candidate)].numerator) / found[float(candidate)].denominator
        )
        assert -1e-12 <= lacks <= float(missing) + 1e-12


def test_the_reference_selects_by_the_utilities_with_their_sensitivity() -> None:
    records, quantile = [0.5, 2.0, 2.0], Fraction(3, 4)
    utilities, bits = rank_utilities(records, quantile, FEW), seeded(1)
    expected = [float(exact_exponential(utilities, bits, epsilon=2, sensitivity=3)) for _ in range(50)]
    bits = seeded(1)
    given = {"epsilon": 2, "quantile": quantile, "candidates": FEW}
    assert [exact_quantile(records, bits, **given) for _ in range(50)] == expected


@pytest.mark.ci
def test_both_paths_have_one_law() -> None:
    """3,000 draws each of an outcome stray from a probability by 0.065 with probability below 2·e^−25 (Hoeffding)."""
    records, public = [0.5, 2.0, 2.0], {"epsilon": 2, "quantile": Fraction(3, 4), "candidates": FEW}
    weights = np.exp(-np.array([distance(records, float(c), Fraction(3, 4)) for c in range(4)]) / 3)
    bits = seeded(2)
    fast = exact_quantile_fast(records, 3_000, bits, **public).tolist()
    one_by_one = [exact_quantile(records, bits, **public) for _ in range(3_000)]
    for released in (fast, one_by_one):
        seen = Counter(released)
        for candidate, weight in enumerate((weights / weights.sum()).tolist()):
            assert abs(seen[float(candidate)] / 3_000 - weight) < 0.065


def test_intervals_count_by_the_candidates_that_they_hold() -> None:
    """Between records at 0 and at 8, utilities of the median are equal, and the candidates between likeliest."""
    utilities = rank_utilities([0.0, 8.0], Fraction(1, 2), Candidates(-4, 12, Grid(0)))
    assert utilities.tolist() == [-2] * 4 + [-1] + [0] * 7 + [-1] + [-2] * 4


def test_many_equal_records_neither_underflow_nor_fail() -> None:
    public: dict[str, Any] = {"epsilon": 1, "quantile": Fraction(3, 4), "candidates": Candidates(0, 100, Grid(2))}
    for count in (5961, 5962):
        assert set(exact_quantile_fast([52.0] * count, 1_000, seeded(3), **public)) == {52.0}
        assert 0 <= exact_quantile([50.0] * count, seeded(4), **public) <= 100


@pytest.mark.parametrize("ends", [(0, 0), (1, 0), (0.5, 3), (0, math.inf), (0, 2**25)])
def test_candidates_are_some_points_of_the_grid(ends: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match=r"candidates|lower|upper"):
        Candidates(*ends, Grid(0))


@pytest.mark.parametrize("quantile", [-0.1, 1.5, math.nan, Fraction(1, 2**20 + 1)])
def test_a_quantile_out_of_range_is_refused(quantile: float | Fraction) -> None:
    with pytest.raises(ValueError, match="quantile"):
        exact_quantile([1.0], seeded(5), epsilon=1, quantile=quantile, candidates=FEW)


def test_no_trials_are_released_as_they_are() -> None:
    assert exact_quantile_fast([1.0], 0, seeded(6), epsilon=1, quantile=0.5, candidates=FEW).shape == (0,)

"""Propose-test-release meets its claim by its exact laws, and its test measures the distance that it should."""

from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab.model.random_bits import SeededBits
from mechanisms.core import tested
from mechanisms.core.grid import Grid
from mechanisms.core.local import Mean, Median
from mechanisms.core.noise import Noise
from tests.mechanisms.core.databases import one_more, one_replaced
from tests.mechanisms.core.scripted_noise import scripted, worst_divergence

CENSUS_DELTA = Fraction(1, 32_561**2)
EPSILON, DELTA = Fraction(2), Fraction(1, 20)


def mean(width: int, grid: Grid = Grid(0)) -> Mean:  # noqa: B008 # immutable
    return Mean(Fraction(0), Fraction(width), grid)


@pytest.mark.parametrize("bound", [1, 2])
def test_the_exact_law_meets_the_claim_on_all_tiny_pairs(bound: int) -> None:
    term = tested.propose_test_release(mean(6), bound, EPSILON, DELTA)
    enough, less = worst_divergence(term, one_more([0, 3, 6], 3), EPSILON, EPSILON * Fraction(9, 10))
    assert enough <= DELTA < 5 * less


def test_the_exact_law_of_a_median_meets_the_claim_on_all_tiny_pairs() -> None:
    term = tested.propose_test_release(Median(Fraction(0), Fraction(2), Grid(0)), 1, EPSILON, Fraction(1, 4))
    pairs = [*one_replaced(range(3), 3), *one_more(range(3), 3)]
    enough, half = worst_divergence(term, pairs, EPSILON, EPSILON / 2)
    assert enough <= Fraction(1, 4)
    assert half > enough


@pytest.mark.parametrize("size", [0, 1, 12, 40, 5000])
def test_the_test_measures_the_distance_to_a_sensitive_database(size: int) -> None:
    """Walk away from the database, one removal at a time, until some database there exceeds the bound."""
    term = tested.propose_test_release(mean(100, Grid(-6)), Fraction(1, 4), 1, CENSUS_DELTA)
    records = np.full(size, 50.0)
    distance = next(k for k in range(size + 1) if Fraction(100, max(size - k, 1)) > Fraction(1, 4))
    for noise in range(60) if size < 100 else (0, term.threshold - 1, term.threshold, 59):
        assert (scripted(term, records, [noise - distance, 0])[0] is None) is (noise < term.threshold)


@pytest.mark.parametrize("people", [0, 100, 150])
@pytest.mark.parametrize("trials", [0, 1, 257])
def test_many_releases_draw_values_for_those_alone_that_pass_in_their_order(people: int, trials: int) -> None:
    term = tested.propose_test_release(mean(100, Grid(-14)), 1, Fraction(1, 2), 1e-5)
    records = np.full(people, 31.25)
    drawn: list[list[int]] = []

    def spread(_noise: Noise, values: NDArray[np.int64], _bits: Any) -> None:
        drawn.append(np.random.default_rng(len(drawn)).integers(-30, 60, size=len(values)).tolist())
        values += np.array(drawn[-1], dtype=np.int64)

    with patch.object(Noise, "add", spread):
        many = term.many(records, trials, SeededBits(np.random.default_rng(0)))
    tests, values = drawn[0], iter(drawn[1])
    distance = max(0, people - 100 + 1)
    assert many == [
        scripted(term, records, [test, next(values)] if distance + test >= term.threshold else [test])[0]
        for test in tests
    ]
    assert next(values, None) is None
    assert len(many) == trials

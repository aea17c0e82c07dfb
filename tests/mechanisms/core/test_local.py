"""Local sensitivities hold for every small pair of neighbours, and noise scaled to a smooth bound keeps its claim."""

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
import pytest

from mechanisms.core.grid import Grid
from mechanisms.core.local import LocalQuery, Mean, Median
from mechanisms.core.smooth import Smooth, smooth
from tests.mechanisms.core.databases import databases, one_more, one_replaced
from tests.mechanisms.core.scripted_noise import worst_divergence

pytestmark = pytest.mark.slow

SIZES = [size + more for size in (2**8, 2**15, 2**16, 2**20) for more in (-1, 0, 1)]


def hold(query: LocalQuery, pairs: Iterable[tuple[Any, Any]]) -> bool:
    """Whether the three inequalities of `LocalQuery` hold for each pair."""

    @cache
    def said(z: Any) -> tuple[int, list[int]]:
        return query.of(z), [*query.sensitivities(z)] + [query.stability] * 9

    for pair in pairs:
        for x, y in (pair, pair[::-1]):
            (value, here), (other, there) = said(x), said(y)
            if abs(value - other) > min(here[0], query.stability):
                return False
            if any(a > b for a, b in zip(here, there[1:], strict=False)):
                return False
    return True


@pytest.mark.parametrize("width", [1, 2, 3, 4, 6])
def test_what_the_mean_says_of_its_sensitivities_holds_for_all_small_databases(width: int) -> None:
    assert hold(Mean(Fraction(-1), Fraction(width - 1), Grid(0)), one_more(range(-1, width), 4))


def changed(x: tuple[int, ...], values: range) -> set[tuple[int, ...]]:
    """The databases that adding, removing or replacing one record of `x` makes of it."""
    fewer = [x[:place] + x[place + 1 :] for place in range(len(x))]
    return {*fewer, *(tuple(sorted((*y, value))) for y in (x, *fewer) for value in values)}


@cache
def median_moves(x: tuple[int, ...], distance: int) -> int:
    """By definition, the most that one change moves the lower median of integers from 0 to 3, `distance` changes on."""
    around = changed(x, range(4))
    if distance:
        return max(median_moves(y, distance - 1) for y in {x, *around})
    medians = [sorted(y)[(len(y) - 1) // 2] if y else 0 for y in (x, *around)]
    return max(abs(median - medians[0]) for median in medians)


def test_the_medians_sensitivities_are_the_textbooks_at_every_distance_of_all_small_databases() -> None:
    query = Median(Fraction(0), Fraction(3), Grid(0))
    for x in databases(range(4), 5):
        said = [*query.sensitivities(x)] + [3] * 4
        assert said[:4] == [median_moves(x, distance) for distance in range(4)], x


@pytest.mark.parametrize("width", [1, 2, 4])
def test_what_the_median_says_of_its_sensitivities_holds_for_all_small_databases(width: int) -> None:
    query = Median(Fraction(-1), Fraction(width - 1), Grid(0))
    assert hold(query, one_more(range(-1, width), 5))
    assert hold(query, one_replaced(range(-1, width), 4))


def test_records_off_the_grid_and_beyond_the_bounds_move_the_median_no_further() -> None:
    records = [-math.inf, 0, 5e-324, 0.25, 0.75, Fraction(5, 4), 1.5, 2**70]
    assert hold(Median(Fraction(0), Fraction(3, 2), Grid(-1)), one_more(records, 4))


@pytest.mark.parametrize("size", SIZES)
def test_no_record_is_lost_at_any_size(size: int) -> None:
    """Ones before the last record, and it alone at the upper bound, which moves the sum of 2^k records by 2^40."""
    query = Mean(Fraction(0), Fraction(2**40), Grid(0))
    records = np.ones(size)
    records[-1] = 2.0**40
    assert query.of(records) == (2 * (size - 1 + 2**40) + size) // (2 * size)
    sensitivities = iter(query.sensitivities(records))
    assert [next(sensitivities) for _ in range(2)] == [math.ceil(Fraction(2**40, n)) for n in (size, size - 1)]
    assert len([*islice(sensitivities, 1 << 17)]) == min(size - 2, 1 << 17)


EPSILON, DELTA = Fraction(2), Fraction(1, 20)


def mean(width: int) -> Mean:
    return Mean(Fraction(0), Fraction(width), Grid(0))


def median(width: int) -> Median:
    return Median(Fraction(0), Fraction(width), Grid(0))


def test_the_exact_law_of_a_median_meets_the_claim_on_all_tiny_pairs() -> None:
    pairs = [*one_replaced(range(4), 3), *one_more(range(4), 3)]
    enough, quarter = worst_divergence(smooth(median(3), EPSILON, DELTA), pairs, EPSILON, EPSILON / 4)
    assert enough <= DELTA < quarter


@pytest.mark.parametrize(("width", "delta"), [(6, Fraction(1, 20)), (2**14, Fraction(1, 10**6))])
def test_the_exact_law_meets_the_claim_where_the_smoothing_sets_the_scale_and_where_the_data_do(
    width: int, delta: Fraction
) -> None:
    sizes = range(12) if width < 100 else [150]
    pairs = [((0,) * size, (0,) * size + (width,)) for size in sizes]
    enough, quarter = worst_divergence(smooth(mean(width), EPSILON, delta), pairs, EPSILON, EPSILON / 4)
    assert enough <= delta < quarter


@pytest.mark.parametrize("smoothing", [1, 2, 5, 23, 43])
@pytest.mark.parametrize("width", [1, 2, 7, 60, 1000])
def test_the_bound_is_smooth_and_close_to_the_maximum_over_all_distances_at_every_size(
    smoothing: int, width: int
) -> None:
    growth = 1 + Fraction(1, smoothing)
    term = Smooth(mean(width), Fraction(2), smoothing)
    bounds = [term.bound(np.zeros(size)) for size in range(200)]
    maximum = Fraction(width)
    for size in range(1, 200):
        sensitivity = math.ceil(Fraction(width, size))
        maximum = max(Fraction(sensitivity), maximum / growth)
        assert bounds[size] <= bounds[size - 1] <= growth * bounds[size]
        assert maximum <= bounds[size] <= maximum + growth
    assert bounds[0] == width


@pytest.mark.parametrize("delta", [Fraction(1, 2), 1e-3, 32_561**-2, 5e-324])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(1, 3), 1, 50])
def test_the_claim_derived_is_what_was_asked_for_and_hardly_more(epsilon: Fraction, delta: float | Fraction) -> None:
    claim = smooth(Mean(Fraction(0), Fraction(4), Grid(0)), epsilon, delta).claim
    assert claim.epsilon == epsilon
    assert claim.delta <= Fraction(delta) < claim.delta * Fraction(math.exp(epsilon / 2)) * Fraction(101, 100)

"""The public domain and the constants derived from epsilon and delta."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import gmpy2
import numpy as np
import pytest

from mechanisms.grid import Grid
from mechanisms.local_sensitivity.constants import failure_probability, smoothing_steps, tail_threshold
from mechanisms.local_sensitivity.domain import Domain, nearest_integer

EPSILONS = [Fraction(1, 100), Fraction(1, 2), Fraction(1), Fraction(7, 3), Fraction(40)]
DELTAS = [Fraction(1, 2), Fraction(1, 20), Fraction(1, 32_561**2), Fraction(1, 10**300)]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_the_threshold_is_the_least_that_the_noise_reaches_with_probability_delta_or_less(
    epsilon: Fraction, delta: Fraction
) -> None:
    threshold = tail_threshold(epsilon, delta)
    with gmpy2.context(precision=400):
        q = gmpy2.exp(-gmpy2.mpfr(gmpy2.mpq(epsilon)))
        # The tail from T on is summed as a geometric series of the mass function, not taken from its closed form.
        mass_at_threshold = (1 - q) / (1 + q) * q**threshold
        tail = mass_at_threshold / (1 - q)
        assert tail <= gmpy2.mpq(delta) < tail / q


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_the_smoothing_integer_is_the_least_whose_growth_the_linear_part_of_beta_allows(
    epsilon: Fraction, delta: Fraction
) -> None:
    smoothing = smoothing_steps(epsilon, delta)
    with gmpy2.context(precision=400):
        beta = gmpy2.mpq(epsilon) / (2 * gmpy2.log(gmpy2.mpq(2 / delta)))
        assert gmpy2.mpq(1, smoothing) <= beta
        assert 1 + gmpy2.mpq(1, smoothing) <= gmpy2.exp(beta)
        assert smoothing == 1 or gmpy2.mpq(1, smoothing - 1) > beta


def test_positions_are_rounded_and_clipped_on_both_sides() -> None:
    domain = Domain(20, 80, Grid(-1))
    positions = domain.positions([20.0, 20.2, 20.3, 79.9, 80.0, 81.0, -1e308, 1e308, math.inf, -math.inf, math.nan])
    assert positions.tolist() == [0, 0, 1, 120, 120, 120, 0, 120, 120, 0, 60]


@pytest.mark.parametrize("exponent", [-1022, 970])
def test_the_finest_and_the_coarsest_grid_round_every_double(exponent: int) -> None:
    domain = Domain(0, Fraction(2) ** (exponent + 3), Grid(exponent))
    assert domain.positions([5e-324, 2.0**exponent, 1.7e308]).tolist() == [0, 1, 8]


def test_a_position_does_not_depend_on_the_other_values() -> None:
    domain = Domain(-1, 1, Grid(-10))
    values = np.random.default_rng(5).standard_cauchy(1003)
    alone = [int(domain.positions(values[i : i + 1])[0]) for i in range(len(values))]
    assert domain.positions(values).tolist() == alone


def test_records_half_way_between_grid_points_move_the_sum_by_no_more_than_the_width() -> None:
    """Halves go to even here, which would not do for an answer; a record only has to go its own way."""
    domain = Domain(0, 2, Grid(0))
    assert domain.positions([0.5, 1.5, 2.5]).tolist() == [0, 2, 2]
    for records in product([-0.5, 0.5, 1.0, 1.5, 2.5, math.nan, math.inf], repeat=3):
        total = int(domain.positions(records).sum())
        without = [int(domain.positions(records[:i] + records[i + 1 :]).sum()) for i in range(3)]
        assert all(0 <= total - rest <= domain.width for rest in without)


def test_a_position_and_its_value_are_inverse_on_the_grid() -> None:
    domain = Domain(-0.75, 2, Grid(-2))
    values = [domain.value(position) for position in range(12)]
    assert values[:2] == [-0.75, -0.5]
    assert values[-1] == 2
    assert domain.positions(values).tolist() == list(range(12))


def test_a_position_beyond_the_range_has_the_value_of_its_grid_point() -> None:
    domain = Domain(10, 20, Grid(0))
    assert [domain.value(position) for position in (-3, 40)] == [7, 50]


@pytest.mark.parametrize("denominator", [1, 2, 3, 8])
def test_quotients_are_rounded_to_the_nearest_integer_and_halves_upwards(denominator: int) -> None:
    for numerator in range(-30, 30):
        quotient = Fraction(numerator, denominator)
        rounded = nearest_integer(numerator, denominator)
        assert -Fraction(1, 2) <= quotient - rounded < Fraction(1, 2)
    numerators = np.arange(-30, 30)
    assert nearest_integer(numerators, denominator).tolist() == [
        nearest_integer(n, denominator) for n in range(-30, 30)
    ]


def test_quotients_of_the_largest_noisy_integers_do_not_overflow() -> None:
    numerators = np.array([2**61, -(2**61), 2**61 - 1, 1 - 2**61])
    for denominator in (1, 2, 3, 2**61 - 1, 2**61):
        expected = [math.floor(Fraction(int(n), denominator) + Fraction(1, 2)) for n in numerators]
        assert nearest_integer(numerators, denominator).tolist() == expected
        assert nearest_integer(numerators, np.full(4, denominator)).tolist() == expected


def test_a_signalling_nan_and_an_overflow_go_unnoticed() -> None:
    """How a caller handles floating-point events must not depend on the records."""
    signalling = np.array([0x7FF0000000000001], dtype=np.uint64).view(np.float64)
    with np.errstate(all="raise"):
        assert Domain(0, 2, Grid(0)).positions(signalling).tolist() == [1]
        assert Domain(0, Fraction(2) ** -1021, Grid(-1022)).positions([1e300]).tolist() == [2]


@pytest.mark.parametrize(
    ("lower", "upper", "exponent", "message"),
    [
        (1, 1, 0, "upper must lie 1 to"),
        (2, 1, 0, "upper must lie 1 to"),
        (0, 2, -31, "upper must lie 1 to"),
        (math.nan, 1, 0, "lower must be finite"),
        (0, math.inf, 0, "upper must be finite"),
        (0.5, 1, 0, r"lower must be a multiple of the grid's step 2\^0,"),
        (0, 0.1, -10, r"upper must be a multiple of the grid's step 2\^-10,"),
        (2.0**60, 2.0**60 + 2.0**10, 0, r"at most 2\^53 steps from 0"),
    ],
)
def test_an_impossible_domain_is_refused(lower: float, upper: float, exponent: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Domain(lower, upper, Grid(exponent))


def test_values_in_more_than_one_dimension_are_refused() -> None:
    with pytest.raises(ValueError, match="one-dimensional, not of shape"):
        Domain(0, 1, Grid(0)).positions(np.zeros((2, 2)))


@pytest.mark.parametrize("delta", [0, -0.1, 0.6, 1, math.nan])
def test_a_delta_outside_its_range_is_refused(delta: float) -> None:
    with pytest.raises(ValueError, match="delta must"):
        failure_probability(delta)


def test_a_float_stands_for_the_rational_that_it_is() -> None:
    assert failure_probability(0.1) == Fraction(3602879701896397, 2**55)

"""The exact samplers have their laws, in rational numbers, and their mechanism the ε it claims."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import gmpy2
import numpy as np
import pytest

from attacklab.random_bits import SeededBits
from mechanisms.grid import Grid
from mechanisms.laplace.exact import (
    discrete_laplace,
    discrete_scale,
    exact_discrete_laplace,
    two_sided_geometric,
)
from mechanisms.laplace.exact_fast import discrete_laplace_by_inversion
from mechanisms.randomness import RandomBits
from tests.mechanisms.enumeration import law_of

CLOSE = 1e-13


def discrete_laplace_probability(outcome: int, scale: Fraction) -> float:
    """(1 − q)/(1 + q)·q^|n| with q = e^(−1/scale), from MPFR."""
    with gmpy2.context(precision=120):
        q = gmpy2.exp(-1 / gmpy2.mpfr(gmpy2.mpq(scale)))
        return float((1 - q) / (1 + q) * q ** abs(outcome))


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(7, 3), Fraction(4)])
def test_algorithm_2_has_the_discrete_laplace_law(scale: Fraction) -> None:
    found = law_of(discrete_laplace, scale, smallest=Fraction(1, 10**9))
    missing = float(1 - sum(found.values()))
    assert 0 <= missing < 1e-6
    for outcome in range(-8, 9):
        ideal = discrete_laplace_probability(outcome, scale)
        assert float(found[outcome]) - missing - CLOSE <= ideal <= float(found[outcome]) + missing + CLOSE


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3, 2), Fraction(4)])
def test_inversion_has_the_same_law_as_algorithm_2(scale: Fraction) -> None:
    found = law_of(discrete_laplace_by_inversion, scale, smallest=Fraction(1, 2**22))
    missing = float(1 - sum(found.values()))
    assert 0 <= missing < 0.01
    for outcome in range(-4, 5):
        ideal = discrete_laplace_probability(outcome, scale)
        assert float(found[outcome]) - CLOSE <= ideal <= float(found[outcome]) + missing + CLOSE


@pytest.mark.parametrize("ratio", [Fraction(1, 2), Fraction(2, 3), Fraction(1, 10)])
def test_the_two_sided_geometric_law_is_rational(ratio: Fraction) -> None:
    """The dropped part is a tail of powers of the ratio, so each inner probability is met to within it."""
    found = law_of(two_sided_geometric, ratio, smallest=Fraction(1, 10**12))
    missing = 1 - sum(found.values())
    assert 0 <= missing < Fraction(1, 10**10)
    for outcome in range(-5, 6):
        ideal = (1 - ratio) / (1 + ratio) * ratio ** abs(outcome)
        assert abs(found[outcome] - ideal) <= missing


@pytest.mark.parametrize(
    ("answer", "neighbour", "sensitivity", "exponent"),
    [(0.0, 1.0, 1, 0), (0.25, 0.75, Fraction(1, 2), 0), (0.4, 0.6, 0.2, -3)],
)
def test_neighbouring_answers_give_probabilities_within_e_to_the_epsilon(
    answer: float, neighbour: float, sensitivity: float, exponent: int
) -> None:
    """Half a unit of sensitivity moves the rounded answer by a whole step; noise for half a step would give e^2ε."""
    epsilon = Fraction(1, 2)
    scale = discrete_scale(epsilon, sensitivity, Grid(exponent))
    moved = abs(Grid(exponent).nearest(neighbour) - Grid(exponent).nearest(answer))
    assert moved >= 1
    losses = [
        math.log(discrete_laplace_probability(n, scale) / discrete_laplace_probability(n - moved, scale))
        for n in range(-12, 13)
    ]
    assert max(map(abs, losses)) <= float(epsilon) + CLOSE


def test_outputs_are_points_of_the_grid_around_the_rounded_answer() -> None:
    """Beyond 60 steps of scale lies e^−60 of the noise, and 500 draws: 1e-23."""
    bits = SeededBits(np.random.default_rng(5))
    grid = Grid(-3)
    for _ in range(500):
        output = exact_discrete_laplace(10.06, bits, epsilon=1, sensitivity=Fraction(1, 8), grid=grid)
        assert output * 8 == int(output * 8)
        assert abs(output - 10.0) <= 60 / 8


def test_the_answer_is_rounded_to_the_nearest_grid_point() -> None:
    """With noise of 10^−3 of a step any other output has probability below e^−1000."""
    bits = SeededBits(np.random.default_rng(9))
    for answer, nearest in ((0.7, 1.0), (0.3, 0.0), (-0.3, 0.0), (-0.7, -1.0), (12.4, 12.0), (-12.6, -13.0)):
        assert exact_discrete_laplace(answer, bits, epsilon=1000, grid=Grid(0)) == nearest


def test_answers_and_outputs_beyond_the_grid_are_brought_to_its_end() -> None:
    bits = SeededBits(np.random.default_rng(6))
    outputs = {exact_discrete_laplace(math.inf, bits, epsilon=1, grid=Grid(0)) for _ in range(200)}
    assert max(outputs) == 2.0**53
    assert min(outputs) > 2.0**53 - 60


@pytest.mark.parametrize("answer", [math.nan, math.inf, -math.inf, 1e308, -5e-324, 10**400, Fraction(1, 3)])
def test_no_answer_makes_the_mechanism_fail(answer: float) -> None:
    bits = SeededBits(np.random.default_rng(7))
    assert math.isfinite(exact_discrete_laplace(answer, bits, epsilon=1, grid=Grid(-20)))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 0}, "epsilon must be above 0"),
        ({"epsilon": -0.5}, "epsilon must be above 0"),
        ({"epsilon": math.nan}, "epsilon must be finite"),
        ({"epsilon": math.inf}, "epsilon must be finite"),
        ({"epsilon": 1, "sensitivity": 0}, "sensitivity must be above 0"),
        ({"epsilon": 1, "sensitivity": -1.0}, "sensitivity must be above 0"),
        ({"epsilon": 1, "grid": Grid(-47)}, "too fine"),
        ({"epsilon": 1e-300}, "too fine"),
    ],
)
def test_public_parameters_out_of_range_are_named(parameters: dict[str, object], message: str) -> None:
    arguments = {"grid": Grid(0)} | parameters
    with pytest.raises(ValueError, match=message):
        exact_discrete_laplace(0.0, SeededBits(np.random.default_rng(0)), **arguments)


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1), math.nan])
def test_samplers_refuse_a_scale_that_is_not_above_zero(scale: Fraction) -> None:
    for sampler in (discrete_laplace, discrete_laplace_by_inversion):
        with pytest.raises(ValueError, match="scale"):
            sampler(scale, SeededBits(np.random.default_rng(0)))


@pytest.mark.parametrize("ratio", [Fraction(0), Fraction(1), Fraction(-1, 2), Fraction(3), math.nan])
def test_a_ratio_outside_its_interval_is_refused(ratio: Fraction) -> None:
    with pytest.raises(ValueError, match="ratio"):
        two_sided_geometric(ratio, SeededBits(np.random.default_rng(0)))


def test_a_ratio_given_as_a_float_is_the_rational_that_it_is() -> None:
    bits, same = (SeededBits(np.random.default_rng(4)) for _ in range(2))
    assert [two_sided_geometric(0.1, bits) for _ in range(99)] == [
        two_sided_geometric(Fraction(0.1), same) for _ in range(99)
    ]


@pytest.mark.few(1)
@pytest.mark.parametrize("sampler", [discrete_laplace, discrete_laplace_by_inversion])
def test_drawing_agrees_with_the_enumerated_law(sampler: Callable[[Fraction, RandomBits], int]) -> None:
    """An enumeration stops at a restart, a draw goes on: 20 000 draws stray by 0.025 with probability 2·e^−25."""
    bits = SeededBits(np.random.default_rng(8))
    drawn = Counter(sampler(Fraction(5, 2), bits) for _ in range(20_000))
    for outcome in range(-6, 7):
        assert abs(drawn[outcome] / 20_000 - discrete_laplace_probability(outcome, Fraction(5, 2))) < 0.025

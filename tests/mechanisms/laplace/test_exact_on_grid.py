"""Laplace noise on a finite grid: its law in rational numbers, and the loss that the finite grid costs."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import pytest

from attacklab.random_bits import TapedBits
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.laplace.exact_on_grid import exact_laplace_on_grid
from tests.mechanisms.enumeration import law_of

HALF = BaseTwoEta(1, 1)


@pytest.mark.parametrize(("answer", "centre"), [(3, 3), (0, 0), (-8, 0), (math.inf, 5), (-math.inf, 0), (math.nan, 0)])
def test_laplace_on_a_grid_decays_by_the_same_factor_at_every_step_from_the_clamped_answer(
    answer: float, centre: int
) -> None:
    law = law_of(partial(exact_laplace_on_grid, answer, eta=BaseTwoEta(3, 2), lower=0, spacing=1, points=6))
    weights = {Fraction(point): Fraction(3, 4) ** abs(point - centre) for point in range(6)}
    assert law == {point: weight / sum(weights.values()) for point, weight in weights.items()}


def test_laplace_on_a_grid_scales_with_spacing_and_sensitivity() -> None:
    law = law_of(
        partial(exact_laplace_on_grid, 0.5, eta=HALF, lower=Fraction(-1, 2), spacing=0.5, points=3, sensitivity=0.5)
    )
    assert law == {Fraction(-1, 2): Fraction(1, 7), Fraction(0): Fraction(2, 7), Fraction(1, 2): Fraction(4, 7)}


def test_on_a_finite_grid_laplace_loses_more_than_eta_and_no_more_than_twice_eta() -> None:
    laws = [
        law_of(partial(exact_laplace_on_grid, answer, eta=HALF, lower=0, spacing=1, points=8)) for answer in range(8)
    ]
    ratios = [laws[a][o] / laws[b][o] for a in range(8) for b in range(8) if abs(a - b) <= 1 for o in laws[a]]
    assert 2 < max(ratios) <= 4


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"points": 0}, "points"),
        ({"spacing": 0}, "spacing"),
        ({"spacing": math.nan}, "spacing"),
        ({"lower": math.inf}, "lower"),
        ({"sensitivity": -1}, "sensitivity"),
    ],
)
def test_an_impossible_grid_is_refused(options: dict[str, float], named: str) -> None:
    public = {"lower": 0, "spacing": 1, "points": 4, "sensitivity": 1, **options}
    with pytest.raises(ValueError, match=named):
        exact_laplace_on_grid(0, TapedBits(0, 0), eta=HALF, **public)  # type: ignore[arg-type]


def test_a_number_of_points_that_is_not_an_integer_is_refused() -> None:
    with pytest.raises(TypeError, match="points must be an integer"):
        exact_laplace_on_grid(0, TapedBits(0, 0), eta=HALF, lower=0, spacing=1, points=4.0)  # type: ignore[arg-type]

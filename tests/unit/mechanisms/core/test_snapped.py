"""Snapping has the law of ideal noise, rounded and clamped, and so its ε and no less."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import mpmath
import pytest
from gmpy2 import mpq

from mechanisms.core.grid import Grid
from mechanisms.core.snapped import Snapped
from tests.unit.mechanisms.enumeration import law_of

SMALL = Snapped(Fraction(3, 4), Fraction(1, 2), Fraction(15, 2))
"""λ = 3/2, Λ = 2, and B not a multiple of Λ."""


def above(threshold: float, answer: float, scale: float) -> float:
    """P[answer + X ≥ threshold] for Laplace noise X."""
    distance = (threshold - answer) / scale
    return math.exp(-distance) / 2 if distance > 0 else 1 - math.exp(distance) / 2


def ideal(answer: float) -> dict[float, float]:
    ends = [-math.inf, -7.0, -5.0, -3.0, -1.0, 1.0, 3.0, 5.0, 7.0, math.inf]
    tails = [1.0, *(above(end, answer, 1.5) for end in ends[1:-1]), 0.0]
    values = [-7.5, -6.0, -4.0, -2.0, 0.0, 2.0, 4.0, 6.0, 7.5]
    return {value: tails[place] - tails[place + 1] for place, value in enumerate(values)}


@pytest.mark.parametrize(
    ("answer", "counts_as"), [(0.3, 0.3), (1.0, 1.0), (7.5, 7.5), (-99, -7.5), (math.inf, 7.5), (math.nan, 0.0)]
)
def test_the_law_is_that_of_ideal_noise(answer: float, counts_as: float) -> None:
    law = law_of(partial(SMALL.release, answer), smallest=Fraction(1, 2**24))
    missing = float(1 - sum(law.values()))
    assert missing < 1e-5
    assert set(law) == set(ideal(counts_as))
    for output, probability in ideal(counts_as).items():
        assert float(law[output]) - 1e-12 <= probability <= float(law[output]) + missing


@pytest.mark.parametrize("precision", [64, 200])
def test_tails_enclose_those_of_ideal_noise_closely(precision: int) -> None:
    snap = SMALL.prepared(Fraction(1, 3))
    with mpmath.workdps(80):
        for outcome in range(-60, 61):
            distance = (mpmath.mpf(2 * outcome - 1) - mpmath.mpf(1) / 3) / mpmath.mpf(3) * 2
            ideal = mpmath.exp(-distance) / 2 if distance > 0 else 1 - mpmath.exp(distance) / 2
            lower, upper = (
                mpmath.mpf(mpq(end).numerator) / mpq(end).denominator for end in snap.tail(outcome, precision)
            )
            assert lower < ideal < upper < lower * (1 + mpmath.mpf(2) ** (8 - precision))


@pytest.mark.parametrize(
    ("scale", "exponent"),
    [(1, 0), (Fraction(4, 3), 1), (2, 1), (3, 2), (Fraction(1, 3), -1), (Fraction(2**60 + 1), 61)],
)
def test_outputs_lie_on_the_multiples_of_the_least_power_of_two_not_below_the_scale(
    scale: Fraction, exponent: int
) -> None:
    assert Snapped(scale, Fraction(1), Fraction(1)).grid == Grid(exponent)

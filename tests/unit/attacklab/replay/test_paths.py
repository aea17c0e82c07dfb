"""Integrals over noise that two noisy numbers share, beside closed forms."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest

from attacklab.replay import paths
from attacklab.replay.choices import QUADRATURE_ERROR
from attacklab.replay.laws import Law
from attacklab.replay.paths import Bound
from attacklab.replay.session import Site

SITE = Site("place.py", 1, "compare")
CLOSED: dict[str, Callable[[float], float]] = {
    "exponential": lambda gap: math.exp(-gap) / 2,
    "Laplace": lambda gap: math.exp(-gap) * (2 + gap) / 4,
    "Gaussian": lambda gap: math.erfc(gap / 2) / 2,
    "Gumbel": lambda gap: 1 / (1 + math.exp(gap)),
}
"""P[A > B + gap] of independent noise of scale 1, worked out by hand."""


@pytest.mark.parametrize("gap", [0.1, 0.5, 1.0, 1.3, 2.0, 3.0, 5.0, 8.0, 12.0])
@pytest.mark.parametrize("family", CLOSED)
def test_integrals_are_as_near_to_the_truth_as_is_said(family: str, gap: float) -> None:
    low, high = Law(family, Fraction(0), Fraction(1)), Law(family, Fraction(gap), Fraction(1))
    compared = paths.probability([Bound((1, low), (2, high), True, SITE)])
    largest = paths.argmax_law([low, high])
    assert compared is not None
    assert largest is not None
    for found in (compared, largest.weights[0]):
        assert found == pytest.approx(CLOSED[family](gap), rel=float(QUADRATURE_ERROR))


def test_cauchy_noise_whose_tails_reach_beyond_the_grid_has_no_law() -> None:
    low, high = Law("Cauchy", Fraction(0), Fraction(1)), Law("Cauchy", Fraction(1), Fraction(1))
    assert paths.probability([Bound((1, low), (2, high), True, SITE)]) is None
    assert paths.argmax_law([low, high]) is None

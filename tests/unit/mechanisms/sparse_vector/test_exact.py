"""AboveThreshold as a term: scales, claims, and what reaches the claim."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from mechanisms.core.claims import ApproximateDP
from mechanisms.core.grid import Grid
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.sparse_vector.exact import exact_above_threshold

PUBLIC: dict[str, Any] = {
    "threshold": 1,
    "positives": 3,
    "epsilon_threshold": Fraction(1, 2),
    "epsilon_answers": 0.25,
    "sensitivity": Fraction(5, 3),
    "grid": Grid(-2),
}


def test_scales_grow_with_the_positives_and_with_the_steps_that_answers_move() -> None:
    """⌈(5/3)/(1/4)⌉ = 7 steps: 7/ε₁, 2·3·7/ε₂ and 3·7/ε₃; the claim is the sum of all ε."""
    term = exact_above_threshold(**PUBLIC)
    assert (term.threshold_law, term.answer_law) == (DiscreteLaplace(Fraction(14)), DiscreteLaplace(Fraction(168)))
    assert (term.value_law, term.claim) == (None, ApproximateDP(Fraction(3, 4)))
    with_values = exact_above_threshold(**PUBLIC, epsilon_values=Fraction(1, 5))
    assert with_values.value_law == DiscreteLaplace(Fraction(105))
    assert with_values.claim == ApproximateDP(Fraction(19, 20))


def at_least(value: int, scale: float) -> float:
    q = math.exp(-1 / scale)
    return q**value / (1 + q) if value > 0 else 1 - q ** (1 - value) / (1 + q)


@pytest.mark.parametrize("positives", [1, 2, 3])
def test_the_claim_is_reached_by_reports_of_many_below(positives: int) -> None:
    """5,000 answers rise by 1, are below, and as many as may be above fall by 1; the threshold is 0."""
    term = exact_above_threshold(
        threshold=0, positives=positives, epsilon_threshold=0.5, epsilon_answers=1, grid=Grid(0)
    )
    bar, noise = float(term.threshold_law.spread), float(term.answer_law.spread)
    assert (bar, noise) == (2, 2 * positives)

    def chance(moved: int) -> float:
        return sum(
            (at_least(at, bar) - at_least(at + 1, bar))
            * (1 - at_least(at - moved, noise)) ** 5000
            * at_least(at + moved, noise) ** positives
            for at in range(-100, 101)
        )

    assert 1.45 < math.log(chance(0) / chance(1)) <= 1.5 + 1e-9

"""AboveThreshold and its numeric form: their laws against their definition, and the loss of all small neighbours."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

from attacklab.random_bits import SeededBits
from mechanisms.grid import Grid
from mechanisms.sparse_vector.exact import exact_above_threshold, exact_numeric_sparse, noise_scales, value_scale
from tests.mechanisms.enumeration import law_of
from tests.mechanisms.sparse_vector.laws import chance, law, loss

WHOLE = Grid(0)
PUBLIC: dict[str, Any] = {
    "threshold": 1,
    "positives": 1,
    "epsilon_threshold": 2,
    "epsilon_answers": 4,
    "grid": WHOLE,
}


@pytest.mark.parametrize("answers", [(0, 3), (1, 1), (5, -2)])
def test_the_law_is_that_of_the_definition(answers: tuple[int, int]) -> None:
    found = law_of(partial(exact_above_threshold, answers, **PUBLIC), smallest=Fraction(1, 2**22))
    missing = float(1 - sum(found.values()))
    assert 0 <= missing < 1e-2
    for report, ideal in law(answers, 1, 1, (0.5, 0.5)).items():
        least = float(found.get(report, 0))
        assert least - 1e-12 <= ideal <= least + missing + 1e-12


def test_scales_grow_with_the_positives_and_with_the_steps_that_answers_move() -> None:
    """⌈(5/3)/(1/4)⌉ = 7 steps: 7/ε₁, 2·3·7/ε₂ and 3·7/ε₃."""
    found = noise_scales(3, Fraction(1, 2), 0.25, Fraction(5, 3), Grid(-2))
    assert found == (14, 168)
    assert value_scale(3, Fraction(1, 5), Fraction(5, 3), Grid(-2)) == 105


THREE = list(product(range(-1, 2), repeat=3))


def worst(positives: int, scales: tuple[float, float]) -> float:
    """The largest loss among neighbours whose three answers are about the threshold."""
    laws = {answers: law(answers, 0, positives, scales) for answers in THREE}
    return max(
        loss(laws[first], laws[second])
        for first, second in product(THREE, repeat=2)
        if max(abs(a - b) for a, b in zip(first, second, strict=True)) <= 1
    )


@pytest.mark.parametrize("positives", [1, 2, 3])
def test_all_small_neighbours_keep_the_claim(positives: int) -> None:
    """ε₁ = ½ and ε₂ = 1, so the scales are 2 and 2c."""
    assert 0.4 < worst(positives, (2.0, 2.0 * positives)) <= 1.5 + 1e-9


@pytest.mark.parametrize("positives", [1, 2, 3])
def test_the_claim_is_reached_by_reports_of_many_below(positives: int) -> None:
    """Many answers rise by 1, and as many as may be above fall by 1."""
    report = (False,) * 5000 + (True,) * positives
    first, second = ((one,) * 5000 + (-one,) * positives for one in (0, 1))
    scales = (2.0, 2.0 * positives)
    found = math.log(chance(report, first, 0, positives, scales) / chance(report, second, 0, positives, scales))
    assert 1.45 < found <= 1.5 + 1e-9


@pytest.mark.parametrize(("positives", "most"), [(2, 3.25), (3, 4.75)])
def test_noise_that_does_not_grow_with_the_positives_loses_more(positives: int, most: float) -> None:
    """ε = 1 as in SVT4: scales 4 and 4/3. It loses (1 + 6c)/4 at most."""
    found = worst(positives, (4.0, 4 / 3))
    assert 1.5 < found <= most + 1e-9


def test_answers_without_noise_make_reports_that_are_impossible_for_a_neighbour() -> None:
    assert loss(law((0, 1), 1, 2, (2.0, 0.0)), law((1, 0), 1, 2, (2.0, 0.0))) == math.inf


def test_without_a_stop_the_loss_grows_with_the_queries() -> None:
    """ε = 1 as in SVT6: scales 2 and 2; half of n answers rise and half fall, and nε/4 is lost at the least."""
    for half in (1, 2, 3, 4):
        still, moved = (0,) * 2 * half, (1,) * half + (-1,) * half
        assert loss(law(still, 0, math.inf, (2.0, 2.0)), law(moved, 0, math.inf, (2.0, 2.0))) >= half / 2


NUMERIC = {**PUBLIC, "positives": 2, "epsilon_threshold": 1, "epsilon_answers": 1, "epsilon_values": 1}


def test_values_are_points_of_the_grid_and_there_are_no_more_than_positives() -> None:
    bits, seen = SeededBits(np.random.default_rng(0)), set()
    for _ in range(300):
        found = exact_numeric_sparse([0, 1, 2, 3.4], bits, **NUMERIC)
        values = [one for one in found if one != -math.inf]
        assert all(value == math.floor(value) for value in values)
        seen.add(len(values))
    assert seen == {0, 1, 2}


def test_the_noise_of_values_is_not_that_of_the_comparison() -> None:
    """With little noise in the comparison and much on values, about half of the values lie below the threshold.

    300 values: fewer than 75 of them on either side have probability below 1e-17.
    """
    bits = SeededBits(np.random.default_rng(1))
    public = {**NUMERIC, "epsilon_threshold": 100, "epsilon_answers": 400, "epsilon_values": Fraction(1, 50)}
    values = [exact_numeric_sparse([2], bits, **public)[0] for _ in range(300)]
    assert -math.inf not in values
    assert 75 < sum(value < 1 for value in values) < 225


class Counting(SeededBits):
    """Counts the calls of samplers by the mechanism itself."""

    calls, depth = 0, 0

    def call(self, sampler: Any, *arguments: object) -> Any:
        self.calls += not self.depth
        self.depth += 1
        try:
            return super().call(sampler, *arguments)
        finally:
            self.depth -= 1


def test_after_the_last_positive_nothing_is_drawn() -> None:
    """Noise of a scale of 1/50 is 50 with probability below e^−2000."""
    bits = Counting(np.random.default_rng(2))
    public = {**PUBLIC, "epsilon_threshold": 100, "epsilon_answers": 100}
    assert exact_above_threshold([-50, 50, 50, 50], bits, **public) == (False, True, False, False)
    assert bits.calls == 3
    assert exact_above_threshold([], bits, **public) == ()


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"threshold": Fraction(1, 2)}, ValueError, "threshold must be a multiple of the grid's step"),
        ({"threshold": math.nan}, ValueError, "threshold must be finite"),
        ({"positives": 0}, ValueError, "positives must be at least 1"),
        ({"positives": 1.5}, TypeError, "positives must be an integer"),
        ({"epsilon_threshold": 0}, ValueError, "epsilon must be above 0"),
        ({"epsilon_answers": -1}, ValueError, "epsilon_answers must be above 0"),
        ({"epsilon_values": math.inf}, ValueError, "epsilon_values must be finite"),
        ({"sensitivity": 0}, ValueError, "sensitivity must be above 0"),
        ({"epsilon_answers": Fraction(1, 2**50)}, ValueError, "too fine"),
    ],
)
def test_public_parameters_out_of_range_are_refused(
    changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    bits = SeededBits(np.random.default_rng(3))
    with pytest.raises(error, match=message):
        exact_numeric_sparse([0.0], bits, **{**NUMERIC, **changes})

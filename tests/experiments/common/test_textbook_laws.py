"""The exact figures on the textbook's flaws: two routes to each."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from scipy import integrate

from experiments.common.textbook_laws import (
    moves_of_one_person,
    passing_probabilities,
    rounding_losses,
    sum_over_count_loss,
)

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
@pytest.mark.parametrize("delta", [1e-2, 1 / 32_561**2])
def test_the_law_of_the_textbooks_test_is_its_closed_form_and_far_above_the_claim(delta: float, epsilon: float) -> None:
    found = passing_probabilities(delta, epsilon)
    # The law is a multiple of 2^−53 and the uniform's rounding moves it by a few of those.
    assert found["computed"] == pytest.approx(found["derived"], abs=4 * 2.0**-53, rel=1e-9)
    assert found["derived"] > delta
    assert delta / math.exp(epsilon / 2) < found["repaired"] <= delta


@pytest.mark.parametrize(("size", "epsilon"), [(1, 1.0), (4, 0.5), (30, 1.0)])
def test_the_loss_of_sum_over_count_is_that_of_its_density_at_minus_u(size: int, epsilon: float) -> None:
    def density(n: int) -> float:
        """The density of sum/(count·u) at −1, up to a factor: ∫ |c| × the densities of sum at −c and count at c."""

        def at(count: float) -> float:
            return abs(count) * math.exp(epsilon * (2 * size - abs(-count - n) - abs(count - n)))

        edges = (-n - 80 / epsilon, -n, 0, n, n + 80 / epsilon)
        return sum(integrate.quad(at, *pair)[0] for pair in itertools.pairwise(edges))

    assert sum_over_count_loss(size, epsilon) == pytest.approx(math.log(density(size) / density(size + 1)), rel=1e-6)


@pytest.mark.parametrize("others", [1, 2, 4])
def test_the_loss_of_rounded_utilities_is_that_of_all_roundings_counted(others: int) -> None:
    """The first outcome's weight is 1 or 2 against others of 1, or it is 1 and each other one's is 1 or 2."""
    chosen = (Fraction(1, 1 + others) + Fraction(2, 2 + others)) / 2
    flips = list(itertools.product((1, 2), repeat=others))
    spared = sum(Fraction(1, 1 + sum(weights)) for weights in flips) / len(flips)
    most = max(chosen / spared, (1 - spared) / (1 - chosen))
    assert rounding_losses(others)["naive"] == pytest.approx(math.log2(most), rel=1e-12)


def test_one_person_moves_the_textbooks_aggregates_too_far_and_the_repaired_ones_never() -> None:
    found = moves_of_one_person(seed=0)
    assert found["chunks"] == 593
    named = dict(zip(found["names"], found["naive"], strict=True))
    assert named["1200 rows,\nmaxima"] == pytest.approx((80 - 50) / ((80 - 20) / 600)) == 300
    assert named["600 → 601 rows,\nmeans"] == pytest.approx(600 / 301)
    assert named["an age of −10^6,\nsum"] == pytest.approx(1e4, rel=0.01)
    assert all(move <= 1 for move in found["exact"])

"""Permute and flip, by every branch of its bits."""

import math
from fractions import Fraction
from itertools import permutations

import pytest

from mechanisms.noisy_max.exact import exact_exponential_noisy_max
from tests.mechanisms.enumeration import law_of


def by_permutations(gaps: tuple[float, ...]) -> list[float]:
    """The definition: over all orders, the first coin that comes up."""
    coins = [math.exp(-gap) for gap in gaps]
    law = [0.0] * len(gaps)
    for order in permutations(range(len(gaps))):
        still = 1 / math.factorial(len(gaps))
        for index in order:
            law[index] += still * coins[index]
            still *= 1 - coins[index]
    return law


@pytest.mark.slow
@pytest.mark.parametrize("gaps", [(0.0, 1.0), (2.0, 0.0, 0.5), (0.0, 0.0, 3.0), (1.0, 0.25, 0.0)])
def test_permute_and_flip_has_the_law_of_exponential_noise(gaps: tuple[float, ...]) -> None:
    utilities = tuple(7 - 3 * Fraction(gap) for gap in gaps)
    law = law_of(exact_exponential_noisy_max(epsilon=2, sensitivity=3).release, utilities, smallest=Fraction(2.0**-24))
    left_open = 1 - sum(law.values())
    assert left_open < 1e-6
    for index, probability in enumerate(by_permutations(gaps)):
        assert law[index] - 1e-12 <= probability <= law[index] + left_open + 1e-12

"""Exact report noisy max: laws enclosed by following every branch of the bits, privacy over all small neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import permutations, product

import pytest

from mechanisms.core.term import Mechanism
from mechanisms.noisy_max.exact import exact_exponential_noisy_max, exact_laplace_noisy_max
from tests.unit.mechanisms.enumeration import Law, law_of

UNDECIDED = "undecided"
Make = Callable[..., Mechanism]


@cache
def enclosed_law(mechanism: Make, utilities: Sequence[float | Fraction], smallest: float, **public: object) -> Law:
    """The law up to branches of probability below `smallest`; what they hold is under UNDECIDED."""
    law = law_of(mechanism(**public).release, utilities, smallest=Fraction(smallest))
    return {UNDECIDED: 1 - sum(law.values()), **law}


def assert_encloses(law: Law, ideal: Sequence[float], width: float) -> None:
    """The ideal is a float: 10^−12 allows for its rounding."""
    assert law[UNDECIDED] < width
    for index, probability in enumerate(ideal):
        assert law[index] - 1e-12 <= probability <= law[index] + law[UNDECIDED] + 1e-12


def permute_and_flip_by_permutations(gaps: Sequence[float]) -> list[float]:
    """The definition: over all orders, the first coin that comes up."""
    coins = [math.exp(-gap) for gap in gaps]
    law = [0.0] * len(gaps)
    for order in permutations(range(len(gaps))):
        still = 1 / math.factorial(len(gaps))
        for index in order:
            law[index] += still * coins[index]
            still *= 1 - coins[index]
    return law


@pytest.mark.parametrize("gaps", [(0.0, 1.0), (2.0, 0.0, 0.5), (0.0, 0.0, 3.0), (1.0, 0.25, 0.0)])
def test_permute_and_flip_has_the_law_of_exponential_noise(gaps: tuple[float, ...]) -> None:
    by_permutations = permute_and_flip_by_permutations(gaps)
    utilities = tuple(7 - 3 * Fraction(gap) for gap in gaps)
    law = enclosed_law(exact_exponential_noisy_max, utilities, 2.0**-24, epsilon=2, sensitivity=3)
    assert_encloses(law, by_permutations, 1e-6)


def discrete_laplace_masses(scale: float) -> dict[int, float]:
    ratio = math.exp(-1 / scale)
    reach = math.ceil(45 * scale)
    return {k: (1 - ratio) / (1 + ratio) * ratio ** abs(k) for k in range(-reach, reach + 1)}


def discrete_noisy_max_law(levels: Sequence[int], scale: float) -> list[float]:
    """Sum over all noises, an outcome's share of a tie being one over the number of those tied."""
    law = [0.0] * len(levels)
    for noises in product(discrete_laplace_masses(scale).items(), repeat=len(levels)):
        totals = [level + noise for level, (noise, _) in zip(levels, noises, strict=True)]
        winners = [index for index, total in enumerate(totals) if total == max(totals)]
        for index in winners:
            law[index] += math.prod(mass for _, mass in noises) / len(winners)
    return law


@pytest.mark.parametrize(
    ("utilities", "monotone", "scale"), [((3, 2), False, 2.0), ((0, 2), True, 1.0), ((4, 4), False, 2.0)]
)
def test_laplace_noise_on_integers_has_the_law_of_the_sum_over_all_noises(
    utilities: tuple[int, ...], monotone: bool, scale: float
) -> None:
    law = enclosed_law(exact_laplace_noisy_max, utilities, 2.0**-22, epsilon=1, monotone=monotone)
    assert_encloses(law, discrete_noisy_max_law(utilities, scale), 2e-4)

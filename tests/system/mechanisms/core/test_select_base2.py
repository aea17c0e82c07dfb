"""The exponential mechanism in base 2: its law in rational numbers, its privacy loss over all neighbours, bad input."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import product

import pytest

from attacklab.model.random_bits import SeededBits, TapedBits
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.exact import exact_exponential_base2
from tests.unit.mechanisms.enumeration import Law, law_of

HALF = BaseTwoEta(1, 1)


def ideal_law(shortfalls: Sequence[Fraction], decay: Fraction) -> Law:
    """The definition, averaged over every combination of roundings up and down."""
    law = dict.fromkeys(range(len(shortfalls)), Fraction(0))
    choices = [{(math.floor(s), 1 - s % 1), (math.ceil(s), s % 1)} for s in shortfalls]
    for rounding in product(*choices):
        share = math.prod((probability for _, probability in rounding), start=Fraction(1))
        weights = [decay**level for level, _ in rounding]
        for index, weight in enumerate(weights):
            law[index] += share * weight / sum(weights)
    return law


def mechanism_law(utilities: Sequence[float | Fraction], **public: object) -> Law:
    return law_of(exact_exponential_base2(**public).release, utilities)


@pytest.mark.parametrize("eta", [HALF, BaseTwoEta(3, 2), BaseTwoEta(2, 3), BaseTwoEta(5, 3)], ids=str)
@pytest.mark.parametrize("utilities", [(2,), (0, 0, 0), (3, 1, 2), (1, 3, 1, 0)], ids=str)
def test_integer_utilities_give_the_ideal_law_exactly(eta: BaseTwoEta, utilities: tuple[int, ...]) -> None:
    law = mechanism_law(utilities, eta=eta, utility_range=(0, 3))
    assert law == ideal_law([Fraction(3 - u) for u in utilities], eta.decay)


def test_many_draws_are_single_ones_by_the_same_bits() -> None:
    """With utilities that are rounded at random, and with integers; weights are kept from one draw to the next."""
    for scores in ([0.5, 1.25, 3.0, 0.5], [3, 1, 2], [Fraction(1, 3)] * 40):
        term = exact_exponential_base2(eta=BaseTwoEta(155, 8), utility_range=(0, 3))
        singles, many = SeededBits(5), SeededBits(5)
        assert [term.release(scores, singles) for _ in range(300)] == term.many(scores, 300, many).tolist()
    assert term.many([1, 2], 0, TapedBits(0, 0)).shape == (0,)


def rounded_at_half(others: int) -> tuple[Fraction, Fraction]:
    """In closed form, an outcome's probability at ½ beside others at 0, and at 0 beside others at ½."""
    before = (Fraction(1, 1 + others) + Fraction(2, 2 + others)) / 2
    after = sum(Fraction(math.comb(others, up), (1 + others + up) * 2**others) for up in range(others + 1))
    return before, Fraction(after)


def test_rounding_at_sensitivity_one_half_without_rescaling_is_not_private() -> None:
    """η = 1, Δu = ½: the claimed base-2 loss is 2·1·½ = 1. One outcome falls by ½, ten others rise by ½."""
    unscaled = partial(mechanism_law, eta=HALF, utility_range=(0, 1), sensitivity=1)
    half = Fraction(1, 2)
    before, after = unscaled((half, *[0] * 10))[0], unscaled((0, *[half] * 10))[0]
    assert (before, after) == rounded_at_half(10)
    assert before > 2 * after


@pytest.mark.parametrize("shortfall", [8, 9, 40])
def test_a_light_outcome_beside_sixty_three_heavy_ones_keeps_its_probability(shortfall: int) -> None:
    law = mechanism_law((0,) * 63 + (-shortfall,), eta=HALF, utility_range=(-50, 0))
    assert law[63] == Fraction(1, 63 * 2**shortfall + 1)


@pytest.mark.parametrize("outcomes", [2**8 + 1, 2**15 + 1, 2**16 + 1])
def test_the_last_of_many_outcomes_is_selected_if_it_is_the_best_by_far(outcomes: int) -> None:
    term = exact_exponential_base2(eta=HALF, utility_range=(0, 200))
    assert term.many([*[0] * (outcomes - 1), 200], 3, SeededBits(1)).tolist() == [outcomes - 1] * 3

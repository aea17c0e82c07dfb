"""The exponential mechanism in base 2: its law in rational numbers, its privacy loss over all neighbours, bad input."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import pytest

from attacklab.model.random_bits import SeededBits, TapedBits
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.exact import exact_exponential_base2
from tests.mechanisms.enumeration import Law, law_of

pytestmark = pytest.mark.slow

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

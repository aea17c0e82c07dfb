"""A table of integers releases exactly what its rows say, by the same work each time, and claims what they lose."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from itertools import product

import mpmath
import pytest

from attacklab.model.random_bits import TapedBits
from mechanisms.core.grid import Grid
from mechanisms.core.kernel import Kernel
from mechanisms.core.records import Answer
from mechanisms.randomness import RandomBits
from tests.unit.mechanisms.enumeration import law_of

STEP = Answer(Fraction(1), Grid(0))
THREE = ((5, 2, 1), (2, 4, 2), (1, 2, 5))
IMPOSSIBLE = ((4, 4, 0), (2, 4, 2), (1, 2, 5))


@pytest.mark.parametrize(
    ("answer", "row"),
    [(-1, 0), (-0.5, 1), (-0.51, 0), (0.3, 1), (1, 2), (9, 2), (-math.inf, 0), (math.inf, 2), (math.nan, 1)],
)
def test_each_answer_has_the_law_of_its_row(answer: float, row: int) -> None:
    law = law_of(partial(Kernel(STEP, -1, THREE).release, answer))
    assert law == {float(step): Fraction(words, 8) for step, words in zip((-1, 0, 1), THREE[row], strict=True)}


def test_every_draw_takes_all_its_bits_and_compares_with_every_sum() -> None:
    class Counting(int):
        compared = 0

        def __ge__(self, other: int) -> bool:
            Counting.compared += 1
            return int(self) >= other

    class CountingBits(TapedBits):
        def take(self, count: int) -> int:
            return Counting(super().take(count))

    for answer, word in product((-1, 0, 1), range(8)):
        Counting.compared = 0
        bits: RandomBits = CountingBits(word, 3)
        Kernel(STEP, -1, THREE).release(answer, bits)
        assert (Counting.compared, bits.left) == (2, 0)  # type: ignore[attr-defined]


def test_pure_claims_are_the_logarithm_of_the_greatest_ratio_of_rows_that_neighbours_can_have() -> None:
    near, far = Kernel(STEP, -1, THREE), Kernel(Answer(Fraction(5, 4), Grid(0)), -1, THREE)
    with mpmath.workdps(60):
        for term, ratio in ((near, Fraction(5, 2)), (far, Fraction(5))):
            excess = mpmath.mpf(term.claim.epsilon.numerator) / term.claim.epsilon.denominator - mpmath.log(
                float(ratio)
            )
            assert 0 <= excess < mpmath.mpf(2) ** -100
            assert term.claim.delta == 0


def test_approximate_claims_are_the_greatest_excess() -> None:
    """Of the rows (4, 4, 0) and (2, 4, 2), 2 words of 8 are possible for the second alone, and 5 − 2·e^ε for others."""
    for epsilon in (Fraction(1, 2), Fraction(3)):
        claim = Kernel(STEP, -1, IMPOSSIBLE, epsilon).claim
        ideal = max(2.0, 5 - 2 * math.exp(epsilon)) / 8
        assert claim.epsilon == epsilon
        assert 0 <= float(claim.delta) - ideal < 1e-15

"""Tables of integers and snapping release exactly what their rows or ideal noise say, and claim what they lose."""

import math
from fractions import Fraction
from functools import partial
from itertools import product

import pytest
from scipy.stats import laplace

from attacklab.model.random_bits import TapedBits
from mechanisms.core.grid import Grid
from mechanisms.core.kernel import Kernel
from mechanisms.core.records import Answer
from mechanisms.core.snapped import Snapped
from mechanisms.randomness import RandomBits
from tests.mechanisms.enumeration import law_of

STEP = Answer(Fraction(1), Grid(0))
THREE = ((5, 2, 1), (2, 4, 2), (1, 2, 5))


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


SMALL = Snapped(Fraction(3, 4), Fraction(1, 2), Fraction(15, 2))
"""λ = 3/2, Λ = 2, and B not a multiple of Λ."""


def ideal(answer: float) -> dict[float, float]:
    ends = [-math.inf, -7.0, -5.0, -3.0, -1.0, 1.0, 3.0, 5.0, 7.0, math.inf]
    tails = [1.0, *laplace.sf(ends[1:-1], answer, 1.5).tolist(), 0.0]
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


@pytest.mark.parametrize(
    ("scale", "exponent"),
    [(1, 0), (Fraction(4, 3), 1), (2, 1), (3, 2), (Fraction(1, 3), -1), (Fraction(2**60 + 1), 61)],
)
def test_outputs_lie_on_the_multiples_of_the_least_power_of_two_not_below_the_scale(
    scale: Fraction, exponent: int
) -> None:
    assert Snapped(scale, Fraction(1), Fraction(1)).grid == Grid(exponent)

"""The exact coins, by counting every tape of a fixed length, and permute and flip by every branch of its bits."""

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import permutations

import gmpy2
import pytest

from attacklab.model.random_bits import TapedBits, TapeEnded
from mechanisms.coins import bernoulli, bernoulli_exp, uniform_below
from mechanisms.noisy_max.exact import exact_exponential_noisy_max
from mechanisms.randomness import RandomBits
from tests.mechanisms.enumeration import law_of


def outcomes_over_all_tapes(sampler: Callable[[RandomBits], object], length: int) -> Counter[object]:
    """Count outcomes over every tape of `length` bits; None stands for a tape that ended too early."""
    counts: Counter[object] = Counter()
    for value in range(1 << length):
        try:
            counts[sampler(TapedBits(value, length))] += 1
        except TapeEnded:
            counts[None] += 1
    return counts


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 8])
def test_every_integer_below_the_bound_gets_the_same_number_of_tapes(bound: int) -> None:
    counts = outcomes_over_all_tapes(lambda bits: uniform_below(bound, bits), 9)
    finished = {counts[value] for value in range(bound)}
    assert len(finished) == 1
    assert counts[None] <= 512 * Fraction(3, 8) ** 3
    assert counts.total() == 512


@pytest.mark.parametrize("probability", [Fraction(0), Fraction(1), Fraction(1, 2), Fraction(3, 4), Fraction(2, 7)])
def test_bernoulli_is_true_on_its_exact_share_of_the_tapes(probability: Fraction) -> None:
    counts = outcomes_over_all_tapes(lambda bits: bernoulli(probability, bits), 12)
    finished = counts[True] + counts[False]
    assert finished > 0
    assert Fraction(counts[True], finished) == probability


@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(5, 2)])
def test_bernoulli_exp_encloses_the_exponential(gamma: Fraction) -> None:
    counts = outcomes_over_all_tapes(lambda bits: bernoulli_exp(gamma, bits), 14)
    truth = gmpy2.exp(-gmpy2.mpfr(float(gamma)))
    total = counts.total()
    assert counts[True] / total <= truth <= (counts[True] + counts[None]) / total
    assert counts[None] / total < 0.05


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

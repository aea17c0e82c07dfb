"""The exact Laplace and Gaussian terms have the laws of their textbooks, and claim the ε that is asked for."""

import math
from collections import Counter
from fractions import Fraction
from functools import partial
from typing import Any

import mpmath
import pytest

from attacklab.model.random_bits import TapedBits
from checker.check import check
from mechanisms.core.certificate import certificate
from mechanisms.core.grid import Grid
from mechanisms.core.laws import DiscreteGaussian, DiscreteLaplace, Law, RoundedGaussian
from mechanisms.core.noisy import Noisy
from mechanisms.gaussian.exact import WORD, exact_discrete_gaussian, exact_fixed_work_gaussian, exact_rounded_gaussian
from mechanisms.laplace import exact
from tests.mechanisms.core.known_laws import known_mass
from tests.mechanisms.enumeration import law_of

SIGMA = Fraction(3, 2)


SCALE = {"sigma": SIGMA / 4, "grid": Grid(-2)}
TERMS: list[tuple[Noisy, Law]] = [
    (exact_discrete_gaussian(**SCALE), DiscreteGaussian(SIGMA**2)),
    (exact_rounded_gaussian(**SCALE), RoundedGaussian(SIGMA**2)),
    (exact.exact_discrete_laplace(epsilon=4, grid=Grid(-2)), DiscreteLaplace(Fraction(1))),
]


@pytest.mark.parametrize(("term", "law"), TERMS)
def test_the_law_is_that_of_noise_on_the_answer_rounded_to_the_grid(term: Noisy, law: Law) -> None:
    found = law_of(lambda bits: term.release(0.49, bits), smallest=Fraction(1, 2**36))
    missing = float(1 - sum(found.values()))
    assert missing < 1e-8
    for steps in range(-6, 7):
        truth = known_mass(law, steps)
        assert found[0.5 + steps / 4] - 1e-14 <= truth <= found[0.5 + steps / 4] + missing + 1e-14


def fixed_work_law(answer: Any) -> dict[float, Fraction]:
    """The law, by bisecting the 2^62 words at every change of the output, which grows with the word."""
    term = exact_fixed_work_gaussian(1, sigma=SIGMA, lower=-2, upper=3)
    law: Counter[float] = Counter()
    start, last = 0, (1 << WORD) - 1
    while start <= last:
        output, low, high = term.release(answer, TapedBits(start, WORD)), start, last
        while low < high:
            middle = (low + high + 1) // 2
            is_same = term.release(answer, TapedBits(middle, WORD)) == output
            low, high = (middle, high) if is_same else (low, middle - 1)
        law[output] += low + 1 - start
        start = low + 1
    return {output: Fraction(words, 1 << WORD) for output, words in law.items()}


def test_noise_of_fixed_work_has_the_discrete_law_clamped_to_the_range() -> None:
    for answer in range(-2, 4):
        found, ideal = fixed_work_law(answer), Counter[Any]()
        for noise in range(-60, 61):
            ideal[min(max(answer + noise, -2), 3)] += known_mass(DiscreteGaussian(SIGMA**2), noise)
        assert sum(found.values()) == 1
        for output in range(-2, 4):
            assert float(found[output]) == pytest.approx(ideal[output], rel=1e-12)


@pytest.mark.parametrize("sensitivity", [Fraction(1, 2), 1, 2])
def test_the_delta_of_fixed_work_is_that_of_the_exhausted_laws(sensitivity: Fraction) -> None:
    laws = {answer: fixed_work_law(answer) for answer in range(-2, 4)}
    excess = max(
        sum(max(0.0, float(laws[one][o]) - math.e * float(laws[other][o])) for o in laws[one])
        for one in laws
        for other in laws
        if abs(one - other) <= math.ceil(sensitivity)
    )
    term = exact_fixed_work_gaussian(1, sigma=SIGMA, sensitivity=sensitivity, lower=-2, upper=3)
    assert term.claim.epsilon == 1
    assert float(term.claim.delta) == pytest.approx(excess, rel=1e-9)
    check(certificate("fixed work", term))


@pytest.mark.parametrize(
    ("epsilon", "length"), [(1, 32), (Fraction(1, 10), 6), (3, 2), (5, 1), (40, 20), (Fraction(1, 10**9), 5), (2, 300)]
)
def test_the_rows_of_geometric_noise_are_symmetric_and_near_the_ideal_law(epsilon: Any, length: int) -> None:
    term = exact.exact_two_sided_geometric(epsilon=epsilon, lower=0, upper=length)
    with mpmath.workdps(60):
        q = mpmath.exp(-mpmath.mpf(float(epsilon)))
        for place in (0, length // 2, length):
            row = term.rows[place]
            assert row == term.rows[length - place][::-1]
            ideal = [(1 - q) / (1 + q) * q ** abs(outcome - place) for outcome in range(length + 1)]
            ideal[0], ideal[-1] = q**place / (1 + q), q ** (length - place) / (1 + q)
            distance = sum(abs(words / mpmath.mpf(2**62) - share) for words, share in zip(row, ideal, strict=True))
            assert distance < (length + 1) ** 2 * max(1, 1 / float(epsilon)) * mpmath.mpf(2) ** -62


def test_a_dyadic_ratio_is_the_loss_of_each_step() -> None:
    term = exact.exact_dyadic_geometric(ratio=Fraction(5, 8), lower=-2, upper=3)
    law = law_of(partial(exact.exact_dyadic_geometric(ratio=Fraction(1, 2), lower=0, upper=3).release, 1))
    most = Fraction(11, 16)  # 2/3, rounded up to 4 bits
    tails = {size: most / 2**size for size in (1, 2, 3)}
    assert law == {0.0: tails[1], 1.0: 1 - 2 * tails[1], 2.0: tails[1] - tails[2], 3.0: tails[2]}
    assert float(term.claim.epsilon) == pytest.approx(math.log(8 / 5), abs=1e-15)
    assert term.bits == 3 * 7 + 2


def test_an_exact_answer_can_be_a_lie_at_any_epsilon() -> None:
    """At ε = 40 a lie has probability 4e-18: a uniform number of 64 ones is in it."""
    bits = TapedBits(2**64 - 1, 64)
    assert exact.exact_randomized_response(epsilon=40).release(True, bits) is False
    assert bits.left < 10

"""The family's terms have the laws that their textbooks give them, and claim the ε that is asked for."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pytest

from attacklab.laws import Decision, certify, enumerate_law
from attacklab.model.random_bits import SeededBits, TapedBits
from mechanisms.core.claims import ApproximateDP
from mechanisms.core.grid import Grid
from mechanisms.core.laws import DiscreteLaplace, RoundedLaplace
from mechanisms.laplace import exact
from tests.unit.mechanisms.enumeration import law_of

HALVES = Grid(-1)
MAKERS: dict[str, Callable[..., Any]] = {
    "discrete": partial(exact.exact_discrete_laplace, grid=HALVES),
    "rounded": partial(exact.exact_rounded_laplace, grid=HALVES),
    "histogram": exact.exact_histogram,
    "response": exact.exact_randomized_response,
    "snapping": partial(exact.exact_snapping, bound=16.0),
}
RANGED: dict[str, Callable[..., Any]] = {
    "geometric": partial(exact.exact_two_sided_geometric, lower=-4, upper=4, grid=HALVES),
    "on_grid": partial(exact.exact_laplace_on_grid, lower=-4, upper=4, grid=HALVES),
}


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), 1, 0.7])
@pytest.mark.parametrize("name", MAKERS)
def test_the_claim_is_the_epsilon_that_is_asked_for(name: str, epsilon: Any) -> None:
    assert MAKERS[name](epsilon=epsilon).claim == ApproximateDP(Fraction(epsilon))


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), 1, 0.7, 3])
@pytest.mark.parametrize("sensitivity", [1, 0.75, Fraction(1, 7)])
def test_on_a_range_the_claim_is_within_the_epsilon_and_near_it(epsilon: Any, sensitivity: Any) -> None:
    geometric = RANGED["geometric"](epsilon=epsilon, sensitivity=sensitivity).claim.epsilon
    assert Fraction(epsilon) * (1 - Fraction(1, 2**35)) < geometric <= epsilon
    on_grid = RANGED["on_grid"](epsilon=epsilon, sensitivity=sensitivity).claim.epsilon
    assert epsilon - math.exp(epsilon / 2) / 2**15 < on_grid <= epsilon


@pytest.mark.parametrize(
    ("make", "law"), [(exact.exact_discrete_laplace, DiscreteLaplace), (exact.exact_rounded_laplace, RoundedLaplace)]
)
def test_noise_is_scaled_to_the_whole_steps_that_a_rounded_answer_moves(make: Any, law: Any) -> None:
    assert make(epsilon=2, sensitivity=Fraction(3, 4), grid=HALVES).law == law(Fraction(2, 2))
    assert make(epsilon=2, sensitivity=1, grid=Grid(8)).law == law(Fraction(1, 2))


@pytest.mark.parametrize("name", ["discrete", "rounded"])
def test_answers_that_round_a_step_apart_spend_all_of_epsilon(name: str) -> None:
    """0.25 and 0.5 round to neighbouring points; the enumeration leaves less than 10^−5 of the probability open."""
    term = MAKERS[name](epsilon=1, sensitivity=0.25)
    p, q = (law_of(partial(term.release, answer), smallest=Fraction(1, 2**30)) for answer in (0.0, 0.25))
    losses = [math.log(p[output] / q[output]) for output in (-0.5, 0.0, 0.5, 1.0)]
    assert max(losses) == pytest.approx(1, abs=1e-3)
    assert min(losses) == pytest.approx(-1, abs=1e-3)


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


def test_no_word_of_geometric_noise_breaks_the_ratio() -> None:
    """The claim by another formula: neighbouring rows, in both directions, against e^ε in 60 digits."""
    term = exact.exact_two_sided_geometric(epsilon=1, lower=-16, upper=16)
    with mpmath.workdps(60):
        most = max(Fraction(max(a, b), min(a, b)) for p, q in pairwise(term.rows) for a, b in zip(p, q, strict=True))
        assert mpmath.mpf(most.numerator) / most.denominator < mpmath.e
    assert {sum(row) for row in term.rows} == {1 << 62}


def test_a_dyadic_ratio_is_the_loss_of_each_step() -> None:
    term = exact.exact_dyadic_geometric(ratio=Fraction(5, 8), lower=-2, upper=3)
    law = law_of(partial(exact.exact_dyadic_geometric(ratio=Fraction(1, 2), lower=0, upper=3).release, 1))
    most = Fraction(11, 16)  # 2/3, rounded up to 4 bits
    tails = {size: most / 2**size for size in (1, 2, 3)}
    assert law == {0.0: tails[1], 1.0: 1 - 2 * tails[1], 2.0: tails[1] - tails[2], 3.0: tails[2]}
    assert float(term.claim.epsilon) == pytest.approx(math.log(8 / 5), abs=1e-15)
    assert term.bits == 3 * 7 + 2


def test_points_of_a_finite_grid_are_released_as_doubles() -> None:
    """A ratio of one bit is ½: the least ε that it is within is 2·ln 2."""
    term = exact.exact_laplace_on_grid(epsilon=1.3863, lower=-1, upper=0.5, grid=HALVES, sensitivity=0.5, ratio_bits=1)
    law = law_of(partial(term.release, -0.5))
    assert law == {-1.0: Fraction(2, 9), -0.5: Fraction(4, 9), 0.0: Fraction(2, 9), 0.5: Fraction(1, 9)}
    assert set(term.many(-0.5, 200, SeededBits(1)).tolist()) == set(law)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(2)])
def test_randomized_response_has_its_epsilon_and_no_less(epsilon: Fraction) -> None:
    delta = Fraction(1, 10**15)  # more than the enumeration leaves open
    p, q = (enumerate_law(exact.exact_randomized_response(epsilon=epsilon).release, truth) for truth in (False, True))
    assert certify(epsilon, delta, p, q).decision is Decision.PROVED
    assert certify(epsilon * Fraction(99, 100), delta, p, q).decision is Decision.REFUTED


def test_an_exact_answer_can_be_a_lie_at_any_epsilon() -> None:
    """At ε = 40 a lie has probability 4e-18: a uniform number of 64 ones is in it."""
    bits = TapedBits(2**64 - 1, 64)
    assert exact.exact_randomized_response(epsilon=40).release(True, bits) is False
    assert bits.left < 10


def test_a_histogram_has_noise_of_its_own_on_each_count() -> None:
    """20,000 draws stray from a probability by 0.025 with probability below 2·e^−25 (Hoeffding); the seed is fixed."""
    released = exact.exact_histogram(epsilon=1).many([5, 9], 20_000, SeededBits(3))
    noise = released - np.array([5, 9])
    q = math.exp(-1)
    for n in range(-4, 5):
        for cell in (0, 1):
            assert abs(np.mean(noise[:, cell] == n) - (1 - q) / (1 + q) * q ** abs(n)) < 0.025
    both = np.mean((noise[:, 0] == 0) & (noise[:, 1] == 0))
    assert abs(both - ((1 - q) / (1 + q)) ** 2) < 0.025

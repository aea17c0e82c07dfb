"""The exact mechanisms keep their claim, by their exact laws, and hardly anything smaller."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from fractions import Fraction

import pytest

from attacklab.laws import Decision, certify, enumerate_law
from mechanisms.grid import Grid
from mechanisms.laplace.exact import discrete_laplace, exact_discrete_laplace
from mechanisms.laplace.exact_randomized_response import exact_randomized_response
from mechanisms.laplace.exact_rounded import exact_rounded_laplace
from mechanisms.randomness import RandomBits

PAIRS = ((0.25, 0.75), (0.0, 0.5), (7.5, 7.0))

DELTA = Fraction(1, 10**15)
"""More than the enumerations leave unresolved, far less than any flaw here would need."""


def decide(
    mechanism: Callable[[float, RandomBits], Hashable], pair: tuple[float, float], epsilon: Fraction
) -> tuple[Decision, Decision]:
    """Decide the claim (ε, 10^−15) and the claim of a hundredth less."""
    p, q = (enumerate_law(mechanism, answer) for answer in pair)
    return certify(epsilon, DELTA, p, q).decision, certify(epsilon * Fraction(99, 100), DELTA, p, q).decision


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("mechanism", "pair"),
    [
        *((exact_discrete_laplace, pair) for pair in PAIRS),
        # By default its certificate is checked in tests/checker/test_laplace.py.
        *(pytest.param(exact_rounded_laplace, pair, marks=pytest.mark.slow) for pair in PAIRS),
    ],
)
def test_an_additive_mechanism_has_its_epsilon_and_no_less(
    mechanism: Callable[..., float], pair: tuple[float, float]
) -> None:
    """Each pair is half a step apart and rounds to neighbouring steps: both mechanisms spend all of their ε on it."""
    epsilon = Fraction(1)

    def release(answer: float, bits: RandomBits) -> float:
        return mechanism(answer, bits, epsilon=epsilon, sensitivity=Fraction(1, 2), grid=Grid(0))

    assert decide(release, pair, epsilon) == (Decision.PROVED, Decision.REFUTED)


@pytest.mark.ci
def test_noise_for_the_sensitivity_before_rounding_breaks_the_claim() -> None:
    """0.25 and 0.75 are half a step apart and round to a step apart: e^2ε."""
    epsilon, grid = Fraction(1), Grid(0)

    def release(answer: float, bits: RandomBits) -> float:
        return grid.value(grid.nearest(answer) + bits.call(discrete_laplace, Fraction(1, 2) / epsilon))

    assert decide(release, (0.25, 0.75), epsilon)[0] is Decision.REFUTED
    assert decide(release, (0.25, 0.75), 2 * epsilon) == (Decision.PROVED, Decision.REFUTED)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(2)])
def test_randomized_response_has_its_epsilon_and_no_less(epsilon: Fraction) -> None:
    def answer(truth: bool, bits: RandomBits) -> bool:
        return exact_randomized_response(truth, bits, epsilon=epsilon)

    assert decide(answer, (False, True), epsilon) == (Decision.PROVED, Decision.REFUTED)

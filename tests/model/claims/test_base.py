"""Claims against linear programs and against randomized response, enumerated in rational numbers."""

import itertools
import math
import re
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from attacklab.model.claims import PrivacyClaim, directions


def randomized_response(ratio: Fraction, delta: Fraction) -> tuple[list[Fraction], list[Fraction]]:
    """The two output laws of the hardest (ln ratio, delta)-DP mechanism: with delta it tells the input outright."""
    high, low = (1 - delta) * ratio / (1 + ratio), (1 - delta) / (1 + ratio)
    return [delta, high, low, Fraction(0)], [Fraction(0), low, high, delta]


def independent(law: list[Fraction], times: int) -> list[Fraction]:
    return [math.prod(combination, start=Fraction(1)) for combination in itertools.product(law, repeat=times)]


def hockey_stick(first: list[Fraction], second: list[Fraction], ratio: Fraction) -> Fraction:
    return sum((max(p - ratio * q, Fraction(0)) for p, q in zip(first, second, strict=True)), Fraction(0))


@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 0.01, 0.5, 1.0, 4.0, 10.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.1, 0.9])
def test_ceiling_is_the_best_that_a_linear_program_finds_within_the_claim(epsilon: float, delta: float) -> None:
    ratio = math.exp(epsilon)
    # In (P, Q): P ≤ rQ + δ, Q ≤ rP + δ, and both for the complement.
    constraints = [[1, -ratio], [-ratio, 1], [-1, ratio], [ratio, -1]]
    limits = [delta, delta, ratio - 1 + delta, ratio - 1 + delta]
    best = linprog([-1, 1], A_ub=constraints, b_ub=limits, bounds=[(0, 1), (0, 1)], method="highs")
    assert best.success
    assert PrivacyClaim(epsilon, delta).ceiling == pytest.approx(-best.fun, rel=1e-6, abs=1e-7)


def test_ceiling_keeps_its_relative_accuracy_for_the_smallest_epsilon_and_stays_at_one_for_the_largest() -> None:
    assert PrivacyClaim(1e-300).ceiling == pytest.approx(5e-301, rel=1e-12)
    assert PrivacyClaim(1e308).ceiling == 1.0
    assert PrivacyClaim(0.01).ceiling == pytest.approx(0.00499996, rel=1e-5)


def test_excess_is_zero_on_the_boundary_and_changes_sign_across_it() -> None:
    claim = PrivacyClaim(math.log(3), 0.1)
    assert claim.excess(0.7, 0.2) == pytest.approx(0, abs=1e-15)
    assert claim.excess(0.71, 0.2) == pytest.approx(0.01)
    assert claim.excess(0.2, 0.7) == pytest.approx(-2.0)


@pytest.mark.parametrize("answers", [1, 2, 4])
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 100)])
def test_composed_claim_holds_for_independent_randomized_responses(answers: int, delta: Fraction) -> None:
    ratio = Fraction(2)
    first, second = (independent(law, answers) for law in randomized_response(ratio, delta))
    composed = PrivacyClaim(math.log(2), float(delta)).composed(answers)
    assert math.exp(composed.epsilon) == pytest.approx(2**answers)
    assert hockey_stick(first, second, ratio**answers) <= Fraction(composed.delta) * (1 + Fraction(1, 10**12))
    # Nothing smaller than mε would do: at half an answer's ε less, δ does not suffice.
    assert float(hockey_stick(first, second, ratio ** (answers - 1))) > composed.delta


def test_what_is_out_of_range_or_not_a_number_is_refused_by_name() -> None:
    for epsilon in (-1e-9, math.nan, math.inf, -math.inf):
        with pytest.raises(ValueError, match=r"^epsilon must be finite and at least 0, not "):
            PrivacyClaim(epsilon)
    for delta in (-1e-300, 1.0, 2.0, math.nan, math.inf):
        with pytest.raises(ValueError, match=r"^delta must lie in \[0, 1\), not "):
            PrivacyClaim(1.0, delta)
    values: list[Any] = ["1", None, True, 1j, [1.0]]
    for value in values:
        with pytest.raises(TypeError, match=f"^epsilon must be a number, not {re.escape(repr(value))}$"):
            PrivacyClaim(value)
        with pytest.raises(TypeError, match=f"^delta must be a number, not {re.escape(repr(value))}$"):
            PrivacyClaim(1.0, value)


def test_a_claim_that_would_promise_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="delta must lie"):
        PrivacyClaim(1.0, 0.3).composed(4)


@pytest.mark.parametrize("claimed", [0.0, 1e-9, 0.5, 3.0, 50.0, 800.0])
def test_the_implied_profile_is_that_of_randomized_response_and_never_too_small(claimed: float) -> None:
    for delta, part in itertools.product((0.0, 1e-9, 0.2), (0.0, 0.3, 0.999, 1.0, 1.7)):
        epsilon = part * claimed
        with mpmath.workprec(300):
            ratio, exact_delta = mpmath.exp(mpmath.mpf(claimed)), mpmath.mpf(delta)
            high, low = (1 - exact_delta) * ratio / (1 + ratio), (1 - exact_delta) / (1 + ratio)
            truth = exact_delta + max(mpmath.mpf(0), high - mpmath.exp(mpmath.mpf(epsilon)) * low)
            found = mpmath.mpf(PrivacyClaim(claimed, delta).delta_at(epsilon))
            noise = mpmath.mpf(2) ** -280  # of the truth itself, which is a difference
            assert truth - noise <= found <= truth * (1 + mpmath.mpf(2) ** -51) + noise, (delta, part)


@given(st.floats(0, 1), st.floats(0, 1))
def test_the_directions_of_a_known_pair_are_the_four_of_the_definition(p: float, q: float) -> None:
    assert set(directions((p, p), (q, q))) == {(p, q), (q, p), (1 - p, 1 - q), (1 - q, 1 - p)}


def test_the_directions_of_bounds_are_the_most_cautious_ones() -> None:
    p, q = (0.25, 0.5), (0.0, 0.125)
    for at_least, at_most in directions(p, q):
        assert any(
            at_least <= min(here) and at_most >= max(there)
            for here, there in (
                (p, q),
                (q, p),
                ([1 - one for one in p], [1 - one for one in q]),
                ([1 - one for one in q], [1 - one for one in p]),
            )
        )

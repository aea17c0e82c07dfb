"""Claims: what two of them come to, which keeps which, what they convert to, and the figures of Gaussian noise."""

import json
import math
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checker.claims import claim as checked
from checker.claims import keep
from mechanisms.core.claims import NOTHING, ApproximateDP, GaussianDP, ProfileDP, RenyiDP, ZeroConcentratedDP, together
from mechanisms.core.term import encoded
from mechanisms.gaussian.claims import discrete_gaussian_delta, gaussian_delta, gaussian_sigma

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
PURE, LOOSE = ApproximateDP(HALF), ApproximateDP(THIRD, Fraction(1, 100))
RHO, MU = ZeroConcentratedDP(HALF), GaussianDP(Fraction(4))


TINY = Fraction(1, 10**9)
LEAST: list[tuple[tuple[Any, ...], Any]] = [
    ((PURE, NOTHING, PURE), ApproximateDP(Fraction(1))),
    ((PURE, LOOSE), ApproximateDP(Fraction(5, 6), Fraction(1, 100))),
    ((LOOSE, LOOSE), ApproximateDP(2 * THIRD, Fraction(2, 100))),
    ((RHO, RHO), ZeroConcentratedDP(Fraction(1))),
    ((RHO, PURE), ZeroConcentratedDP(HALF + Fraction(1, 8))),
    ((PURE, RHO), ZeroConcentratedDP(HALF + Fraction(1, 8))),
    ((PURE,), ZeroConcentratedDP(Fraction(1, 8))),
    ((MU, MU), GaussianDP(Fraction(8))),
    ((RenyiDP(Fraction(2), HALF), RenyiDP(Fraction(2), THIRD)), RenyiDP(Fraction(2), Fraction(5, 6))),
    ((RenyiDP(Fraction(3), HALF),), RenyiDP(Fraction(2), HALF)),
    ((RHO,), RenyiDP(Fraction(3), Fraction(3, 2))),
    ((PURE,), RenyiDP(Fraction(2), Fraction(1, 4))),
    ((PURE,), RenyiDP(Fraction(100), HALF)),
    ((ProfileDP((LOOSE,)), LOOSE), ApproximateDP(2 * THIRD, Fraction(2, 100))),
    ((ProfileDP((PURE, LOOSE)),), ProfileDP((LOOSE, PURE))),
]
"""Claims, and the least of a kind that they come to."""


def read(claim: Any) -> Any:
    """Return a claim as the checker has it."""
    return checked(json.loads(json.dumps(encoded(claim))))


def keep_both(claims: Iterable[Any], promised: Any) -> set[bool]:
    """Whether claims keep a promise, by the rules of the mechanisms and by those of the checker."""
    return {together(*claims).within(promised), keep(tuple(map(read, claims)), read(promised))}


@pytest.mark.parametrize(("claims", "least"), LEAST)
def test_claims_keep_what_they_add_up_to_and_nothing_stronger(claims: Any, least: Any) -> None:
    assert keep_both(claims, least) == {True}
    for name, number in vars(least).items():
        if name not in ("alpha", "points") and number:
            assert keep_both(claims, replace(least, **{name: number * (1 - TINY)})) == {False}


@pytest.mark.parametrize(
    ("kept", "promised"),
    [
        (LOOSE, ApproximateDP(THIRD)),
        (LOOSE, ZeroConcentratedDP(Fraction(9))),
        (LOOSE, RenyiDP(Fraction(2), Fraction(5))),
        (RHO, PURE),
        (RenyiDP(Fraction(2), HALF), RenyiDP(Fraction(3), HALF)),
        (MU, RHO),
        (ProfileDP((LOOSE,)), ProfileDP((LOOSE, PURE))),
    ],
)
def test_a_claim_of_another_kind_is_not_kept(kept: Any, promised: Any) -> None:
    assert keep_both((kept,), promised) == {False}


@pytest.mark.parametrize(
    ("claim", "delta", "expected"),
    [
        (PURE, 0, 0.5),
        (LOOSE, 0.5, 1 / 3),
        (ProfileDP((LOOSE, PURE)), 0.01, 1 / 3),
        (ProfileDP((LOOSE, PURE)), 0.001, 0.5),
        (ZeroConcentratedDP(Fraction(1)), 1, 0),
        (ZeroConcentratedDP(Fraction(0)), 0, 0),
        (GaussianDP(Fraction(1)), 0.12693673750664395, 1),  # Φ(−1/2) − e·Φ(−3/2)
        (GaussianDP(Fraction(0)), 0, 0),
        (RenyiDP(Fraction(2), HALF), 0.01, 0.5 + math.log(0.5) + math.log(50)),
        (ZeroConcentratedDP(Fraction(1, 10**400)), 1e-6, 0),
        (ZeroConcentratedDP(1e-310), 1e-6, 0),
    ],
)
def test_a_claim_converts_to_epsilon_and_delta(claim: Any, delta: float, expected: float) -> None:
    found = claim.to_approximate(delta)
    assert (type(found.epsilon), found.delta) == (Fraction, Fraction(delta))
    assert float(found.epsilon) == pytest.approx(expected, rel=1e-12, abs=1e-18)
    assert claim.within(found)


@pytest.mark.parametrize(
    ("claim", "delta"),
    [
        (LOOSE, 0),
        (RHO, 0),
        (MU, 0),
        (MU, Fraction(1, 2**1101)),
        (RenyiDP(Fraction(2), HALF), 0),
        (ProfileDP((LOOSE,)), 0.001),
        (RHO, 2),
        (RHO, -1),
    ],
)
def test_what_a_claim_says_nothing_about_is_refused(claim: Any, delta: float) -> None:
    with pytest.raises(ValueError, match="delta"):
        claim.to_approximate(delta)


NUMBERS = st.fractions(Fraction(1, 10**6), 50)
CLAIMS = st.one_of(
    st.builds(ApproximateDP, NUMBERS, st.fractions(0, Fraction(1, 4))),
    st.builds(ZeroConcentratedDP, NUMBERS),
    st.builds(GaussianDP, NUMBERS),
    st.builds(RenyiDP, st.sampled_from([Fraction(3, 2), Fraction(2)]), NUMBERS),
    st.builds(ProfileDP, st.lists(st.builds(ApproximateDP, NUMBERS, st.just(Fraction(1, 9))), min_size=1, max_size=3)),
)


@given(CLAIMS, CLAIMS)
def test_two_claims_are_more_than_one_in_either_order_or_refused(one: Any, other: Any) -> None:
    try:
        both = one + other
    except ValueError:
        with pytest.raises(ValueError, match="restate one of the parts"):
            other + one
        return
    assert both == other + one
    assert both.within(both)
    assert not both.within(one)
    assert not both.within(other)


@given(CLAIMS)
def test_a_claim_is_what_the_checker_reads_of_its_json(claim: Any) -> None:
    def numbers(of: Any) -> Any:
        points = [numbers(point) for point in getattr(of, "points", ())]
        return type(of).__name__, points or vars(of)

    assert numbers(read(claim)) == numbers(claim)


@settings(max_examples=40)
@given(st.fractions(Fraction(1, 100), 6), st.fractions(Fraction(1, 10**9), Fraction(2, 5)), st.sampled_from([2, 5, 40]))
def test_normal_noise_keeps_what_its_claims_convert_to(mu: Fraction, delta: Fraction, alpha: int) -> None:
    """δ(ε) of N(0, 1) against N(μ, 1) by mpmath: nearly reached by μ-GDP, and less for what follows from it alone."""
    implied = [GaussianDP(mu**2), ZeroConcentratedDP(mu**2 / 2), RenyiDP(Fraction(alpha), alpha * mu**2 / 2)]
    with mpmath.workdps(40):
        for claim in implied:
            epsilon, real = (mpmath.mpf(x.numerator) / x.denominator for x in (claim.to_approximate(delta).epsilon, mu))
            near, far = (mpmath.erfc((epsilon / real + side * real / 2) / mpmath.sqrt(2)) / 2 for side in (-1, 1))
            truth = near - mpmath.exp(epsilon) * far
            assert truth <= float(delta) * (1 + 1e-12)
            assert claim is not implied[0] or not epsilon or truth >= float(delta) * (1 - 1e-9)


def test_the_two_curves_at_sigma_one_epsilon_one_are_the_known_figures() -> None:
    assert gaussian_delta(1, sigma=1) == pytest.approx(0.12693673750664, abs=1e-13)
    assert discrete_gaussian_delta(1, sigma=1) == pytest.approx(0.14135133940, abs=1e-10)


def test_a_delta_too_small_for_a_double_is_rounded_up_and_not_to_zero() -> None:
    assert gaussian_delta(100, sigma=1) == math.ulp(0.0)
    assert discrete_gaussian_delta(100, sigma=20) == math.ulp(0.0)
    assert discrete_gaussian_delta(1, sigma=100) == math.ulp(0.0)
    assert discrete_gaussian_delta(10_000, sigma=100) == math.ulp(0.0)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 8.0])
@pytest.mark.parametrize("delta", [0.3, 1e-5, 1e-12])
def test_the_analytic_sigma_is_enough_and_a_hair_less_is_not(epsilon: float, delta: float) -> None:
    sigma = gaussian_sigma(epsilon, delta, 2.5)
    assert gaussian_delta(epsilon, sigma=sigma, sensitivity=2.5) <= delta
    assert gaussian_delta(epsilon, sigma=sigma * (1 - 2**-48), sensitivity=2.5) > delta

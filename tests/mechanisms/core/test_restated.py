"""Promises of another kind: kept by the law's own divergence, refused where they are just too strong."""

from fractions import Fraction
from typing import Any

import mpmath
import pytest

from checker.check import check
from checker.forms import Refused
from mechanisms.core.certificate import certificate
from mechanisms.core.claims import ApproximateDP, Claim, GaussianDP, ProfileDP, RenyiDP, ZeroConcentratedDP
from mechanisms.core.compose import Both, Mapped
from mechanisms.core.grid import Grid
from mechanisms.core.laws import DiscreteGaussian, DiscreteLaplace, RoundedGaussian
from mechanisms.core.maps import Share
from mechanisms.core.noisy import Noisy
from mechanisms.core.noisy_max import PermuteAndFlip
from mechanisms.core.records import Answer
from mechanisms.core.restated import Restated
from mechanisms.core.scores import Utilities
from mechanisms.core.select import Select
from mechanisms.core.term import Mechanism, encoded

ONE = Fraction(1)
WHOLE = Grid(0)
ANSWER = Answer(ONE, WHOLE)
DISCRETE, ROUNDED = Noisy(ANSWER, DiscreteGaussian(ONE)), Noisy(ANSWER, RoundedGaussian(ONE))
LAPLACE = Noisy(ANSWER, DiscreteLaplace(Fraction(2)))
CHOICE, FLIPPED = Select(Utilities(), ONE), PermuteAndFlip(Utilities(), ONE)
CONCENTRATED = Select(Utilities(), ONE, concentrated=True)
HAIR = Fraction(1, 10**7)
ZCDP = ((2.0, 30), (0.5, 1), (64.0, 99), (2.0**-10, 0.5), (2.0**-20, 0.02))
"""ρ, and an ε that it is converted to."""


def normal_delta(epsilon: float, mu: float) -> Fraction:
    """δ(ε) of N(0, 1) against N(μ, 1), by mpmath."""
    with mpmath.workdps(40):
        tails = [
            mpmath.erfc((epsilon / mpmath.mpf(mu) + side * mpmath.mpf(mu) / 2) / mpmath.sqrt(2)) / 2 for side in (-1, 1)
        ]
        return Fraction(mpmath.nstr(tails[0] - mpmath.exp(epsilon) * tails[1], 30))


def discrete_delta(epsilon: float = 1, variance: float = 1, steps: int = 1) -> Fraction:
    """Σ max(P[N = k − steps] − e^ε·P[N = k], 0), by mpmath."""
    with mpmath.workdps(40):
        weights = [mpmath.exp(-mpmath.mpf(k * k) / (2 * variance)) for k in range(-60, 61)]
        apart = zip(weights, weights[steps:], strict=False)
        excess = mpmath.fsum(max(near - mpmath.exp(epsilon) * far, 0) for near, far in apart)
        return Fraction(mpmath.nstr(excess / mpmath.fsum(weights), 30))


def renyi_delta(alpha: Any, tau: Any, epsilon: float) -> Fraction:
    """e^((α−1)(τ−ε))·(1 − 1/α)^α/(α − 1), by mpmath: the same proposition at one order."""
    with mpmath.workdps(40):
        value = mpmath.exp((alpha - 1) * (tau - epsilon)) * (1 - mpmath.mpf(1) / alpha) ** alpha / (alpha - 1)
        return Fraction(mpmath.nstr(value, 30))


def zcdp_delta(rho: float, epsilon: float) -> Fraction:
    """The least of e^((α−1)(αρ−ε))·(1 − 1/α)^α/(α − 1) over α, by mpmath: proposition 12 of Canonne et al. 2020."""
    with mpmath.workdps(40):
        at = mpmath.findroot(lambda a: (2 * a - 1) * rho - epsilon + mpmath.log(1 - 1 / a), (epsilon + rho) / (2 * rho))
        return renyi_delta(at, at * rho, epsilon)


def shifted(steps: int) -> Mechanism:
    """Discrete noise on an answer that moves by so many steps."""
    return Noisy(Answer(Fraction(steps), WHOLE), DiscreteGaussian(Fraction(23, 2)))


def twice(rho: float) -> Mechanism:
    """Two releases that come to ρ-zCDP."""
    return Both((Noisy(ANSWER, DiscreteGaussian(1 / Fraction(rho))),) * 2)


LEAST: list[tuple[Mechanism, Claim]] = [
    (DISCRETE, ApproximateDP(ONE, discrete_delta())),
    *((shifted(steps), ApproximateDP(e, discrete_delta(e, 11.5, steps))) for steps, e in ((1, 0.5), (2, 2), (5, 0))),
    (ROUNDED, ApproximateDP(ONE, normal_delta(1, 1))),
    (ROUNDED, ProfileDP((ApproximateDP(Fraction(2), normal_delta(2, 1)),))),
    (ROUNDED, GaussianDP(ONE)),
    (DISCRETE, ZeroConcentratedDP(Fraction(1, 2))),
    (DISCRETE, RenyiDP(Fraction(3, 2), Fraction(3, 4))),
    (ROUNDED, RenyiDP(Fraction(32), Fraction(16))),
    (Both((Restated(ROUNDED, GaussianDP(ONE)),) * 4), ApproximateDP(ONE, normal_delta(1, 2))),
    (Both((ROUNDED,) * 4), ApproximateDP(ONE, normal_delta(1, 2))),
    (Both((DISCRETE, DISCRETE)), ApproximateDP(Fraction(3), zcdp_delta(1, 3))),
    (Both((DISCRETE, LAPLACE)), ApproximateDP(ONE, discrete_delta(0.5))),
    (Both((LAPLACE, Mapped(DISCRETE, Share(2, 0.0)))), ApproximateDP(ONE, discrete_delta(0.5))),
    (Both((DISCRETE, *[LAPLACE] * 3)), ApproximateDP(Fraction(2), zcdp_delta(0.875, 2))),
    (Restated(DISCRETE, RenyiDP(Fraction(4), Fraction(2))), ApproximateDP(Fraction(3), renyi_delta(4, 2, 3))),
    (LAPLACE, ApproximateDP(Fraction(1, 2))),
    (LAPLACE, ZeroConcentratedDP(Fraction(1, 8))),
    (Both((CHOICE, CHOICE)), ApproximateDP(Fraction(2))),
    (Both((CONCENTRATED, FLIPPED)), ZeroConcentratedDP(Fraction(5, 8))),
    *((twice(rho), ApproximateDP(e, zcdp_delta(rho, e))) for rho, e in ZCDP),
]
"""Mechanisms and claims that are the least of their kind that are seen."""


@pytest.mark.parametrize(("mechanism", "claim"), LEAST)
def test_the_least_claim_is_kept_and_one_just_too_strong_refused(mechanism: Mechanism, claim: Claim) -> None:
    """By the term, and by the checker of its certificate."""
    enough = _times(claim, 1 + HAIR)
    term = Restated(mechanism, enough)
    assert (term.claim, term.relation) == (enough, mechanism.relation)
    written = certificate("restated", term)
    check(written)
    stronger = _times(claim, 1 - HAIR)
    with pytest.raises(ValueError, match="is not seen to keep"):
        Restated(mechanism, stronger)
    for part in (written, written["term"]):
        part["claim" if part is written else "promised"] = encoded(stronger)
    with pytest.raises(Refused, match="not seen to keep"):
        check(written)


def _times(claim: Any, factor: Fraction) -> Any:
    """Return a claim whose last number is another: δ, unless it is 0, and else ε, ρ or μ²."""
    if isinstance(claim, ProfileDP):
        (point,) = claim.points
        return ProfileDP((ApproximateDP(2 * point.epsilon, point.delta), _times(point, factor)))
    numbers = list(vars(claim).values())
    place = len(numbers) - 1 if numbers[-1] else 0
    numbers[place] *= factor
    return type(claim)(*numbers)

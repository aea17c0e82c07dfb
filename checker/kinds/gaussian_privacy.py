"""What Gaussian noise keeps: claims of every statistical kind, settled for the normal law and for the discrete one.

Both laws are symmetric and log-concave, and neighbours move them by at most a known distance, in either direction.
Then an event [x, ∞) tells most, and the largest move is the worst (lemma `largest-move`).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from checker.core.certificate import Refused
from checker.enclosures import normal
from checker.enclosures.discrete_gaussian import DiscreteGaussian
from checker.enclosures.elementary import Enclosure, up
from checker.kinds.claims import Claim, Concentrated, Gaussian, Points, Renyi, shown

_BITS = (96, 192, 384)
_GDP_BITS = 160
_MOST_THRESHOLDS = 4000
_MOST_SUMMED = 1 << 14

Found = tuple[tuple[str, ...], dict[str, int]]
"""The lemmas used, and how much was checked."""


def require_normal(claim: Claim, ratio: Fraction) -> Found:
    """Check a claim of normal noise that neighbours move by `ratio` standard deviations at most.

    Raises:
        Refused: the claim is not kept, or not seen to be.
    """
    if isinstance(claim, Gaussian):
        if claim.mu < ratio:
            raise Refused(f"the least μ is {shown(ratio)}, more than {shown(claim.mu)}")
        return ("gaussian-dp",), {}
    if not isinstance(claim, Points):
        return _require_renyi(claim, ratio)
    for epsilon, delta in claim.points:
        nearer, farther = epsilon / ratio - ratio / 2, epsilon / ratio + ratio / 2
        _require_delta(epsilon, delta, partial(_tails_at, normal.tail, nearer, farther))
    return ("largest-move",), {"points of the profile": len(claim.points)}


def require_discrete(claim: Claim, variance: Fraction, sigma: Fraction, distance: int) -> Found:
    """Check a claim of discrete Gaussian noise on the integers that neighbours move by `distance` at most.

    Args:
        claim: what is promised.
        variance: σ².
        sigma: σ.
        distance: in steps.

    Raises:
        Refused: the claim is not kept, or not seen to be.
    """
    if isinstance(claim, Gaussian):
        return _require_discrete_mu(claim.mu, variance, sigma, distance)
    if not isinstance(claim, Points):
        return _require_renyi(claim, Fraction(distance) / sigma)
    thresholds = [
        (epsilon * variance / distance + Fraction(distance, 2)).__floor__() + 1 for epsilon, _ in claim.points
    ]
    last = max(*thresholds, distance + 1)
    if last > _MOST_SUMMED:
        raise Refused(f"tails are added up for thresholds of at most {_MOST_SUMMED} steps, not {last}")
    laws: dict[int, DiscreteGaussian] = {}

    def tail(threshold: int, bits: int) -> Enclosure:
        if bits not in laws:
            laws[bits] = DiscreteGaussian(variance, last, bits)
        return laws[bits].tail(threshold)

    for (epsilon, delta), threshold in zip(claim.points, thresholds, strict=True):
        _require_delta(epsilon, delta, partial(_tails_at, tail, threshold - distance, threshold))
    return ("largest-move",), {"points of the profile": len(claim.points)}


def _tails_at(
    tail: Callable[[Any, int], Enclosure], nearer: Any, farther: Any, bits: int
) -> tuple[Enclosure, Enclosure]:
    return tail(nearer, bits), tail(farther, bits)


def _require_renyi(claim: Concentrated | Renyi, ratio: Fraction) -> Found:
    """D_α is at most α·ratio²/2, for the normal law and for the discrete one."""
    rho = ratio**2 / 2
    if isinstance(claim, Concentrated):
        if claim.rho < rho:
            raise Refused(f"the least ρ is {shown(rho)}, more than {shown(claim.rho)}")
        return ("gaussian-renyi",), {}
    for order, epsilon in claim.bounds:
        if epsilon < order * rho:
            raise Refused(f"at order {shown(order)} the bound is {shown(order * rho)}, more than {shown(epsilon)}")
    return ("gaussian-renyi",), {"orders": len(claim.bounds)}


def _require_delta(epsilon: Fraction, delta: Fraction, tails: Callable[[int], tuple[Enclosure, Enclosure]]) -> None:
    """Check that the nearer tail less e^ε times the farther one is at most δ."""
    for bits in _BITS:
        nearer, farther = tails(bits)
        odds_low, odds_high = normal.decay(epsilon, bits)  # e^−ε
        if nearer[1] - farther[0] / odds_high <= delta:
            return
        if nearer[0] - farther[1] / odds_low > delta:
            break
    raise Refused(f"at ε = {shown(epsilon)} δ is {float(nearer[0] - farther[1] / odds_low):.7g}, more than claimed")


def _require_discrete_mu(mu: Fraction, variance: Fraction, sigma: Fraction, distance: int) -> Found:
    """Check μ-GDP of the discrete law, threshold by threshold, up to where the lemma `far-thresholds` takes over.

    With T(t) = P[X ≥ t], a threshold t keeps μ-GDP if Q⁻¹(T(t)) − Q⁻¹(T(t − d)) ≤ μ, which a number z shows for which
    Q(z) ≤ T(t) and Q(z − μ) ≥ T(t − d). All thresholds of at least t keep it if T(s) ≤ Q(μ/2 + (s·d − d²/2)/σ²μ) for
    every s ≥ t. That holds by itself from (½ + σμ/2 − κd/2)/(1 − κ) on, κ = d/σμ, and is tried one by one before.
    """
    kappa = distance / (sigma * mu)
    if kappa >= 1:
        raise Refused(f"the least μ of discrete noise is more than d/σ = {shown(distance / sigma)}")
    half = Fraction(1, 2)
    proved = max(sigma + 1, (half + sigma * mu / 2 - kappa * distance / 2) / (1 - kappa)).__ceil__()
    if proved > _MOST_THRESHOLDS:
        raise Refused(f"{proved} thresholds would have to be tried, more than {_MOST_THRESHOLDS}")
    law = DiscreteGaussian(variance, proved + distance, _GDP_BITS)
    first = (distance + 2) // 2
    flat = proved
    while flat > first:
        at = mu / 2 + ((flat - 1) * distance - Fraction(distance**2, 2)) / (variance * mu)
        if law.tail(flat - 1)[1] > normal.tail(_rounded_up(at), _GDP_BITS)[0]:
            break
        flat -= 1
    for threshold in range(first, flat):
        here, there = law.tail(threshold), law.tail(threshold - distance)
        guess = (threshold - half) * (1 + 1 / (24 * variance)) / sigma
        z = _quantile_above(here[0], guess)
        if normal.tail(z, _GDP_BITS)[1] > here[0] or normal.tail(z - mu, _GDP_BITS)[0] < there[1]:
            raise Refused(f"a threshold of {threshold} tells neighbours apart better than {shown(mu)}-GDP allows")
    return ("largest-move", "far-thresholds"), {
        "thresholds of the trade-off curve": flat - first,
        "far thresholds": proved - flat,
    }


def _rounded_up(value: Fraction) -> Fraction:
    """Round up to a number that is fast to compute with."""
    return up(value, _GDP_BITS - 32)


def _quantile_above(tail: Fraction, guess: Fraction) -> Fraction:
    """Return a number a little above Q⁻¹ of a tail below ½, by Newton's method; what it is used for is checked."""
    z = guess
    for _ in range(12):
        z = max(_rounded_up(z), Fraction(0))
        there, slope = normal.tail(z, _GDP_BITS)[0], normal.density(z, _GDP_BITS)[0]
        step = (there - tail) / slope
        z += step
        if abs(step) < Fraction(1, 1 << 56):
            break
    return _rounded_up(z + Fraction(1, 1 << 100))

"""The cost of shifts, and whether a claim allows it, by the arithmetic of its kind of privacy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from attacklab.model.claims import Claim, GaussianDP, PrivacyClaim, Renyi, ZeroConcentrated

ROUNDING_SLACK = 2.0**-20
"""The share by which a cost may exceed the claim, because scales and sums are rounded."""


@dataclass(frozen=True)
class Cost:
    """The privacy cost of the shifts at one outcome.

    Attributes:
        epsilon: the sum of the costs of draws whose shift has a bounded loss, as for Laplace noise.
        mu: the length of the vector of shifts of Gaussian draws, each in units of its σ.
    """

    epsilon: float = 0.0
    mu: float = 0.0

    def __str__(self) -> str:
        if not self.mu:
            return f"ε = {self.epsilon:.6g}"
        return f"μ = {self.mu:.6g}" + (f" and ε = {self.epsilon:.6g}" if self.epsilon else "")


def keeps(claim: Claim, cost: Cost) -> bool:
    """Whether a mechanism with this cost at every outcome is known to keep a claim."""
    epsilon, mu, allowed = cost.epsilon, cost.mu, 1 + ROUNDING_SLACK
    if not epsilon and not mu:
        return True
    if isinstance(claim, GaussianDP) and not epsilon:
        return mu <= claim.mu * allowed
    if isinstance(claim, ZeroConcentrated):
        return epsilon**2 / 2 + mu**2 / 2 <= claim.rho * allowed
    if isinstance(claim, Renyi):
        return all(
            order * mu**2 / 2 + min(epsilon, order * epsilon**2 / 2) <= most * allowed for order, most in claim.pairs
        )
    if isinstance(claim, PrivacyClaim) and not mu and epsilon <= claim.epsilon * allowed:
        return True
    return all(delta_of(cost, point) <= claim.at(point).delta * allowed for point in claim.points)


def exceeds(claim: Claim, largest: Sequence[float], mu: float) -> bool:
    """Whether shifts of the draws break a claim, if the outputs reveal every draw.

    Args:
        claim: the claim.
        largest: the cost in ε of each shift whose loss is bounded.
        mu: the length of the vector of shifts of Gaussian draws, as in `Cost`.
    """
    epsilon, beyond = sum(largest), 1 + ROUNDING_SLACK
    if isinstance(claim, GaussianDP) and not epsilon:
        return mu > claim.mu * beyond
    if isinstance(claim, ZeroConcentrated) and not epsilon:
        return mu**2 / 2 > claim.rho * beyond
    if isinstance(claim, Renyi) and not epsilon:
        return any(a * mu**2 / 2 > most * beyond for a, most in claim.pairs)
    if isinstance(claim, PrivacyClaim) and not claim.delta:
        return mu > 0 or epsilon > claim.epsilon * beyond
    single = max(largest, default=0.0)
    deltas = ((max(gaussian_delta(mu, at), laplace_delta(single, at)), claim.at(at).delta) for at in claim.points)
    return any(delta > most * beyond for delta, most in deltas)


def delta_of(cost: Cost, epsilon: float) -> float:
    """Return an upper bound on δ(ε) for a mechanism with this cost."""
    if not cost.epsilon:
        return gaussian_delta(cost.mu, epsilon)
    if cost.mu:
        return gaussian_delta(cost.mu, epsilon - cost.epsilon)
    most, gap = cost.epsilon, cost.epsilon - epsilon
    from scipy import special

    return 0.0 if gap <= 0 else -math.expm1(-gap) * special.expit(most)


def laplace_delta(epsilon: float, at: float) -> float:
    """Return δ at ε = `at` for Laplace noise whose location moves by `epsilon` scales."""
    return max(0.0, -math.expm1((at - epsilon) / 2))


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return δ(ε) for μ-Gaussian DP (Balle and Wang 2018, theorem 8)."""
    if not mu:
        return max(0.0, -math.expm1(epsilon)) if epsilon < 0 else 0.0
    from scipy import special

    tail = math.exp(min(700.0, epsilon + float(special.log_ndtr(-epsilon / mu - mu / 2))))
    return max(0.0, float(special.ndtr(mu / 2 - epsilon / mu)) - tail)

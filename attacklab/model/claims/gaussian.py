"""μ-GDP: telling neighbours apart is at least as hard as telling N(0, 1) from N(μ, 1).

Source: Dong, Roth and Su 2022, 'Gaussian Differential Privacy': definition 4, corollary 2.13 (the profile, which holds
for every ε if and only if the claim does), corollary 3.3 (composition).
"""

from __future__ import annotations

from dataclasses import dataclass

import gmpy2

from attacklab.model.claims.base import Claim, require_numbers
from attacklab.model.intervals import Interval, Number


@dataclass(frozen=True, slots=True)
class GaussianDP(Claim):
    """μ-GDP.

    Args:
        mu: μ, finite and above 0.

    Raises:
        UsageError: μ is out of range, or not a number.
    """

    kind = "gdp"

    mu: float

    def __post_init__(self) -> None:
        require_numbers(mu=self.mu)

    def __str__(self) -> str:
        return f"μ-GDP with μ = {self.mu!r}"

    def delta_at(self, epsilon: float) -> float:
        """Return Φ(−ε/μ + μ/2) − e^ε·Φ(−ε/μ − μ/2), rounded up."""
        return min(1.0, gaussian_delta(epsilon, Interval.of(self.mu)).above())

    def _composed(self, answers: int) -> GaussianDP:
        """Return (√m·μ)-GDP for m answers, rounded up."""
        return GaussianDP((Interval.of(answers).sqrt() * self.mu).above())


def gaussian_delta(epsilon: Number, mu: Interval) -> Interval:
    """Return δ(ε) for N(0, 1) against N(μ, 1), at the set precision; μ = Δ/σ for the Gaussian mechanism."""
    half, shift = mu / 2, Interval.of(epsilon) / mu
    difference = (shift - half).normal_tail() - Interval.of(epsilon).exp() * (shift + half).normal_tail()
    return Interval(max(difference.lower, gmpy2.mpfr(0)), max(difference.upper, gmpy2.mpfr(0)))

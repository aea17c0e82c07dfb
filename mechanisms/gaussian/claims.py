"""The privacy of Gaussian noise, as doubles that are rounded up: for choosing σ, and for claims.

`mechanisms.core.gaussian_claims` has the theorems. σ and sensitivity are in one unit, that of the answer for normal
noise. For discrete noise it is the step of the grid, and for rounded noise too the sensitivity that counts is that of
the answer rounded to the grid: the next whole number of steps. Where a docstring names a claim for a term's noise,
`Restated(term, claim)`, with rational numbers, is a term with that claim, for a certificate.
"""

from __future__ import annotations

import math
from fractions import Fraction

from mechanisms.core.gaussian_claims import least_sigma, normal_delta
from mechanisms.core.laws import DiscreteGaussian
from mechanisms.core.numbers import Number, count, positive, rational


def gaussian_sigma(epsilon: Number, delta: Number, sensitivity: Number = 1) -> float:
    """Return a σ with which normal noise is (ε, δ)-DP, within a part in 2^50 of the least one."""
    shift = positive("sensitivity", sensitivity)
    return least_sigma(rational("epsilon", epsilon), rational("delta", delta), shift=shift)


def gaussian_delta(epsilon: Number, *, sigma: Number, sensitivity: Number = 1) -> float:
    """Return δ(ε) of normal noise, rounded up; for rounded noise the claim is `ApproximateDP(ε, δ)`."""
    variance, shift = positive("sigma", sigma) ** 2, positive("sensitivity", sensitivity)
    return _double_above(normal_delta(rational("epsilon", epsilon), variance=variance, shift=shift))


def discrete_gaussian_delta(epsilon: Number, *, sigma: Number, sensitivity: int = 1) -> float:
    """Return δ(ε) of discrete noise, rounded up; the claim is `ApproximateDP(ε, δ)`."""
    law = DiscreteGaussian(positive("sigma", sigma) ** 2)
    return _double_above(law.delta(count("sensitivity", sensitivity), rational("epsilon", epsilon)))


def gaussian_rho(*, sigma: Number, sensitivity: Number = 1) -> float:
    """Return ρ = Δ²/2σ², rounded up: discrete and rounded noise are ρ-zCDP, which their terms claim by themselves."""
    return _double_above((positive("sensitivity", sensitivity) / positive("sigma", sigma)) ** 2 / 2)


def gaussian_mu(*, sigma: Number, sensitivity: Number = 1) -> float:
    """Return μ = Δ/σ, rounded up: normal noise is μ-GDP; for rounded noise the claim is `GaussianDP(μ²)`."""
    return _double_above(positive("sensitivity", sensitivity) / positive("sigma", sigma))


def _double_above(number: Fraction) -> float:
    """Return the least double that is at least a number."""
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)

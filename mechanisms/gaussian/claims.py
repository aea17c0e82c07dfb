"""What Gaussian noise promises, as doubles that are rounded up: for choosing σ, and for claims.

`mechanisms.core.gaussian_claims` has the theorems. σ and sensitivity are in one unit, that of the answer for normal
noise. For discrete noise it is the step of the grid, and for rounded noise too the sensitivity that counts is that of
the answer rounded to the grid: the next whole number of steps. A certificate says of a term what is found here, where
a docstring names the claim to make of it: `Restated(term, claim)`, in rational numbers.
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
    """Return the least double known to be at least δ(ε) of normal noise: `ApproximateDP(ε, δ)` of rounded noise."""
    variance, shift = positive("sigma", sigma) ** 2, positive("sensitivity", sensitivity)
    return _double_above(normal_delta(rational("epsilon", epsilon), variance=variance, shift=shift))


def discrete_gaussian_delta(epsilon: Number, *, sigma: Number, sensitivity: int = 1) -> float:
    """Return the least double known to be at least δ(ε) of discrete noise: `ApproximateDP(ε, δ)`."""
    law = DiscreteGaussian(positive("sigma", sigma) ** 2)
    return _double_above(law.delta(count("sensitivity", sensitivity), rational("epsilon", epsilon)))


def gaussian_rho(*, sigma: Number, sensitivity: Number = 1) -> float:
    """Return the least ρ with which both noises are ρ-zCDP, Δ²/2σ²: what a term claims by itself."""
    return _double_above((positive("sensitivity", sensitivity) / positive("sigma", sigma)) ** 2 / 2)


def gaussian_mu(*, sigma: Number, sensitivity: Number = 1) -> float:
    """Return the least μ with which normal noise is μ-GDP, Δ/σ: `GaussianDP(μ²)` of rounded noise."""
    return _double_above(positive("sensitivity", sensitivity) / positive("sigma", sigma))


def _double_above(number: Fraction) -> float:
    """Return the least double that is at least a number."""
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)

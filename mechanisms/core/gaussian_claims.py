"""What Gaussian noise promises beyond ρ-zCDP: certified δ(ε) and μ-GDP of both laws, and the σ that a δ needs.

`mechanisms.core.half_lines` has the theorem of δ(ε).

*μ-GDP.* Rounded noise postprocesses normal noise, and is d/σ-GDP. For discrete noise with tails T, and Q those of N(0,
1), the best tests are thresholds t, and a threshold keeps μ-GDP if Q⁻¹(T(t)) − Q⁻¹(T(t − d)) ≤ μ; t and d + 1 − t ask
the same. The trade-off curve joins these vertices by straight lines. From t to t + 1 it falls with the slope −e^((td −
d²/2)/σ²), and that of μ-GDP at Q(x) with −e^(μx − μ²/2): no threshold from t₁ on needs more than μ if T(t) ≤ Q(μ/2 +
(td − d²/2)/σ²μ) for all t ≥ t₁, as then the difference of the curves, 0 at their end, grows up to t₁. And that holds by
itself from max(σ + 1, (½ + σμ/2)/(1 − κ)) on, κ = d/σμ: there T(t) ≤ Q((t − ½)/σ), because g(k) ≤ ∫ g over [k − ½, k +
½] where g is convex, and Σ g ≥ σ√(2π).

Sources: Balle and Wang 2018, theorem 8; Canonne, Kamath and Steinke 2020, theorem 7; Dong, Roth and Su 2022, 'Gaussian
Differential Privacy', theorem 2.7. The least μ of discrete noise is worked out here.
"""

from __future__ import annotations

import math
from fractions import Fraction

import gmpy2
from gmpy2 import mpfr, mpq

from mechanisms.core.claims import GaussianDP
from mechanisms.core.gaussian_tails import normal_tail
from mechanisms.core.half_lines import delta_beyond, normal_delta
from mechanisms.core.laws import DiscreteGaussian, RoundedGaussian
from mechanisms.core.numbers import count, positive
from mechanisms.core.rounding import fraction

MOST_SIGMA = 32
"""The σ in steps up to which the least μ of discrete noise is found: about 24σ² thresholds have to be looked at."""

_FLAT_PRECISION = 96
_MU_PRECISION = 160
_MU_MARGIN = 1 + Fraction(1, 2**72)
_QUANTILE_MARGIN = 1 + Fraction(1, 2**100)  # more than Newton's method leaves after a step of 2^−60
_HALVINGS = 54  # of [σ, 2σ], which reach neighbouring doubles


def delta(law: DiscreteGaussian | RoundedGaussian, steps: int, epsilon: Fraction) -> Fraction:
    """Bound δ(ε) of noise for a shift of at most so many steps from above, by a part in 2^60 or 2^−1100 too much."""
    shift = Fraction(count("steps", steps, least=0))
    if isinstance(law, RoundedGaussian):
        return normal_delta(epsilon, variance=law.variance, shift=shift)
    return delta_beyond(lambda x, bits: law.tail(int(x // 1) + 1, bits), epsilon, law.variance, shift)


def least_sigma(epsilon: Fraction, delta: Fraction, *, shift: Fraction = Fraction(1)) -> float:
    """Return a σ of normal noise that keeps (ε, δ)-DP for a shift, within a part in 2^50 of the least one.

    Source: Balle and Wang 2018, algorithm 1 (the analytic Gaussian mechanism).
    """
    positive("epsilon", epsilon)
    if positive("delta", delta) >= 1:
        raise ValueError(f"delta must lie in (0, 1), not {delta}")

    def is_enough(sigma: float) -> bool:
        return normal_delta(epsilon, variance=Fraction(sigma) ** 2, shift=shift) <= delta

    low, high = float(positive("shift", shift)) / 2, float(shift)
    while not is_enough(high):
        low, high = high, 2 * high
    while is_enough(low):
        low, high = low / 2, low
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def gaussian_dp(law: DiscreteGaussian | RoundedGaussian, steps: int) -> GaussianDP:
    """Return the least μ-GDP of noise for a shift of at most so many steps, at least 1.

    That of discrete noise is at most a part in 2^64 too large.
    """
    if isinstance(law, RoundedGaussian):
        return GaussianDP(count("steps", steps) ** 2 / law.variance)
    if law.variance > MOST_SIGMA**2:
        raise ValueError(f"sigma must be at most 32 steps for the least mu to be found, not {float(law.spread):g}")
    first, last = (count("steps", steps) + 2) // 2, steps + 2 * int(law.spread) + 4
    quantiles = [_quantile(law, threshold) for threshold in range(first - steps, last + 1)]
    pairs = zip(quantiles, quantiles[steps:], strict=False)
    mu = max(here - there for there, here in pairs) * _MU_MARGIN
    flat_from = _flat_from(law, steps, mu)
    for threshold in range(first, flat_from):
        z = _quantile(law, threshold) * _QUANTILE_MARGIN
        is_kept = (
            normal_tail(mpq(z), mpq(1), _MU_PRECISION).upper <= law.tail(threshold, _MU_PRECISION).lower
            and normal_tail(mpq(z - mu), mpq(1), _MU_PRECISION).lower
            >= law.tail(threshold - steps, _MU_PRECISION).upper
        )
        if not is_kept:
            raise ArithmeticError(f"threshold {threshold} is not known to keep mu = {float(mu)}")
    return GaussianDP(mu**2)


def _flat_from(law: DiscreteGaussian, steps: int, mu: Fraction) -> int:
    """Return a threshold from which on none needs more than μ, by the slopes of the two curves."""
    sigma = law.spread + Fraction(1, 2**64)  # above σ, by at most 2^−63
    kappa = steps / (law.spread * mu)
    if kappa >= 1:
        raise ArithmeticError(f"mu = {float(mu)} is not known to exceed the limit d/σ of far thresholds")
    threshold = math.ceil(max(sigma + 1, (Fraction(1, 2) + sigma * mu / 2) / (1 - kappa)))
    while threshold > 1:
        at = mu / 2 + ((threshold - 1) * steps - Fraction(steps**2, 2)) / (law.variance * mu)
        if law.tail(threshold - 1, _FLAT_PRECISION).upper > normal_tail(mpq(at), mpq(1), _FLAT_PRECISION).lower:
            break
        threshold -= 1
    return threshold


def _quantile(law: DiscreteGaussian, threshold: int) -> Fraction:
    """Return about Q⁻¹(T(threshold)), by Newton's method on the logarithm of Q, which is concave."""
    if threshold < 1:
        return -_quantile(law, 1 - threshold)
    with gmpy2.context(precision=_MU_PRECISION):
        aimed = gmpy2.log(law.tail(threshold, _MU_PRECISION).lower)
        x = mpfr((threshold - 0.5) / math.sqrt(law.variance))
        for _ in range(60):
            there = gmpy2.erfc(x / gmpy2.sqrt(mpfr(2))) / 2
            density = gmpy2.exp(-x * x / 2) / gmpy2.sqrt(2 * gmpy2.const_pi())
            step = (gmpy2.log(there) - aimed) * there / density
            x += step
            if abs(step) <= x * mpfr(2) ** -60:  # the next step would be about its square
                break
    return fraction(x)

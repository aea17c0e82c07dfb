"""The laws of noise by their definitions, in mpmath: what the tests judge them by. No code is shared with them."""

from fractions import Fraction

import mpmath

from mechanisms.core.laws import DiscreteGaussian, DiscreteLaplace, Law, RoundedGaussian, RoundedLaplace

SCALES = (Fraction(1, 4), Fraction(1), Fraction(4), Fraction(1000), Fraction(2**20), Fraction(2**45))

_WAVES = 60


def laws(scale: Fraction) -> list[Law]:
    """Every law, about as wide as the scale says."""
    return [DiscreteLaplace(scale), RoundedLaplace(scale), DiscreteGaussian(scale**2), RoundedGaussian(scale**2)]


ALL_LAWS = [law for scale in SCALES for law in laws(scale)]


def named(law: Law) -> str:
    return f"{type(law).__name__}-{float(law.spread):.3g}"


def known_tail(law: Law, outcome: int) -> mpmath.mpf:
    """P[N ≥ outcome], in mpmath's precision at the time."""
    if outcome < 1:
        return 1 - known_tail(law, 1 - outcome)
    if isinstance(law, DiscreteGaussian):
        return _gaussian_sum(law.variance, outcome) / (1 + 2 * _gaussian_sum(law.variance, 1))
    if isinstance(law, RoundedGaussian):
        return mpmath.erfc((outcome - mpmath.mpf(1) / 2) / mpmath.sqrt(2 * _real(law.variance))) / 2
    if isinstance(law, RoundedLaplace):
        return mpmath.exp(-(outcome - mpmath.mpf(1) / 2) / _real(law.scale)) / 2
    assert isinstance(law, DiscreteLaplace)
    ratio = mpmath.exp(-1 / _real(law.scale))
    return ratio**outcome / (1 + ratio)


def known_mass(law: Law, outcome: int) -> mpmath.mpf:
    """P[N = outcome]."""
    outcome = abs(outcome)
    if isinstance(law, DiscreteGaussian):
        whole = 1 + 2 * _gaussian_sum(law.variance, 1)
        return mpmath.exp(-(mpmath.mpf(outcome) ** 2) / (2 * _real(law.variance))) / whole
    return known_tail(law, outcome) - known_tail(law, outcome + 1)


def _gaussian_sum(variance: Fraction, first: int) -> mpmath.mpf:
    """Σ exp(−k²/2σ²) from a first k ≥ 1 on: term by term, or for large σ by Poisson summation."""
    scale = _real(variance)
    if variance <= max(2**12, 8 * first):
        terms, term, k = mpmath.mpf(0), mpmath.mpf(1), first
        while term > mpmath.eps * terms or not terms:
            term = mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * scale))
            terms, k = terms + term, k + 1
        return terms
    # Poisson: ∫ + g/2 + Σ_j 2·∫_first^∞ g(x)·cos(2πjx) dx, and by parts such an integral is −g'(first)/(2πj)² +
    # g'''(first)/(2πj)^4 − …, whose terms fall by σ² each.
    z = mpmath.mpf(first)
    whole = mpmath.sqrt(mpmath.pi * scale / 2) * mpmath.erfc(z / mpmath.sqrt(2 * scale))
    height = mpmath.exp(-(z**2) / (2 * scale))
    before, slope = height, -z * height / scale  # the derivatives of order n − 1 and n
    whole += height / 2
    for n in range(1, _WAVES):
        if n % 2:
            whole += 2 * (-1) ** ((n + 1) // 2) * mpmath.zeta(n + 1) / (2 * mpmath.pi) ** (n + 1) * slope
        before, slope = slope, -(z * slope + n * before) / scale
    return whole


def _real(number: Fraction) -> mpmath.mpf:
    return mpmath.mpf(number.numerator) / number.denominator

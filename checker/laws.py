"""Laws of noise on the integers: their masses and tails between two bounds, and what a shift costs.

All are symmetric about 0 and log-concave, as their densities or weights are: e^(−|k|/s) and e^(−k²/2σ²) are
log-concave in k, and rounding a real number of log-concave density to integers keeps that (Prékopa). For such a law the
largest shift is the worst, and an event [t, ∞) tells most (Canonne, Kamath and Steinke 2020, theorem 7).

Sources: Canonne, Kamath and Steinke 2020, 'The Discrete
Gaussian for Differential Privacy', theorem 7 and proposition 5; Balle and Wang 2018, theorem 8. DLMF
18.14.9 has Cramér's inequality, 2.10.1 Euler–Maclaurin.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from math import factorial, isqrt
from typing import Any

from checker.forms import Fields
from checker.intervals import BITS, HALF, Interval, exp, normal_tail, of, pi, sqrt

SUMMED_UP_TO = 64  # the variance up to which tail sums of the discrete Gaussian are added up

_LAST_DERIVATIVE = 240


class Law(ABC):
    """A law of noise; a frozen dataclass of its parameters."""

    @property
    @abstractmethod
    def spread(self) -> Fraction:
        """The scale or the standard deviation in steps, but for less than one."""

    @abstractmethod
    def tail(self, k: int) -> Interval:
        """Enclose P[N ≥ k] for k ≥ 1."""

    def mass(self, k: int) -> Interval:
        """Enclose P[N = k]."""
        if k == 0:
            return of(1) - self.tail(1).times(2)
        return self.tail(abs(k)) - self.tail(abs(k) + 1)


class LaplaceLaw(Law):
    """A law whose masses fall by one factor with every step, so that a shift of d steps costs d times its logarithm."""

    scale: Fraction

    @property
    def spread(self) -> Fraction:
        """See `Law`."""
        return self.scale

    def loss(self, steps: int) -> Fraction:
        """Bound the privacy loss of a shift, ln P[N = k]/P[N = k + d]: d/s."""
        return steps / self.scale


class GaussianLaw(Law):
    """A normal law, rounded, or the discrete one; ρ-zCDP with ρ = d²/2σ² for a shift of d, and more.

    D_α is αd²/2σ² for the normal law and at most that for the discrete one (Canonne, Kamath and Steinke, prop. 5).
    """

    variance: Fraction

    @property
    def spread(self) -> Fraction:
        """See `Law`."""
        return Fraction(isqrt(self.variance.__floor__()))

    @abstractmethod
    def keeps_delta(self, steps: int, epsilon: Fraction, delta: Fraction) -> bool:
        """Whether a shift of at most so many steps is seen to keep (ε, δ)-DP."""


@dataclass(frozen=True)
class DiscreteLaplace(LaplaceLaw):
    """P[N = k] = (1 − q)/(1 + q)·q^|k| with q = e^(−1/s)."""

    scale: Fraction

    def tail(self, k: int) -> Interval:
        """P[N ≥ k] = q^k/(1 + q)."""
        return exp(of(-k / self.scale)) / (of(1) + self._power(1))

    def mass(self, k: int) -> Interval:
        """See the class; q^|k| is the product of a power for each byte of |k|."""
        product, power = self._middle, self._power
        for place, byte in enumerate(abs(k).to_bytes(8, "little")):
            if byte:
                product *= power(byte << 8 * place)
        return product

    @cached_property
    def _power(self) -> Callable[[int], Interval]:
        return cache(lambda k: exp(of(-k / self.scale)))

    @cached_property
    def _middle(self) -> Interval:
        return (of(1) - self._power(1)) / (of(1) + self._power(1))


@dataclass(frozen=True)
class RoundedLaplace(LaplaceLaw):
    """N = ⌊L + ½⌋ with L of density e^(−|x|/s)/2s: for an integer x, x + N = ⌊x + L + ½⌋ is a function of x + L."""

    scale: Fraction

    def tail(self, k: int) -> Interval:
        """P[L ≥ k − ½]."""
        return exp(of((HALF - k) / self.scale)) * of(HALF)


@dataclass(frozen=True)
class RoundedGaussian(GaussianLaw):
    """N = ⌊X + ½⌋ with X normal: for an integer x, x + N is a function of x + X, and keeps all that this keeps."""

    variance: Fraction

    def tail(self, k: int) -> Interval:
        """P[X ≥ k − ½]."""
        return normal_tail(of(k - HALF) / _root(self.variance))

    def mass(self, k: int) -> Interval:
        """∫ f over [k − ½, k + ½] for the density f: Σ f^(n)(k)/(2^n·(n + 1)!) over even n, by Taylor's theorem.

        What begins with the n-th derivative is at most sup|f^(n)|/(2^n·(n + 1)!) ≤ ½·√n!/(σ^(n+1)·2^n·(n + 1)!), by
        Cramér's inequality |He_n(x)|·φ(x) < ½·√n!.
        """
        if self.variance < 1:
            return super().mass(k)
        weights = _taylor_weights(self.variance)
        total = Interval(0, 0)
        for relative, weight in zip(_derivatives(self.variance, k, 2 * len(weights) - 1)[::2], weights, strict=True):
            total += Interval(relative.low // weight, -(-relative.high // weight))
        return _weight(self.variance, k) * _height(self.variance) * total + Interval(-1 << _REST_BITS, 1 << _REST_BITS)

    def keeps_delta(self, steps: int, epsilon: Fraction, delta: Fraction) -> bool:
        """δ(ε) = P[X > x] − e^ε·P[X > x + d], x = εσ²/d − d/2."""
        return normal_keeps_delta(Fraction(steps**2) / self.variance, epsilon, delta)


@dataclass(frozen=True)
class DiscreteGaussian(GaussianLaw):
    """P[N = k] in proportion to e^(−k²/2σ²)."""

    variance: Fraction

    def tail(self, k: int) -> Interval:
        """S(k)/(1 + 2·S(1)), S(t) = Σ e^(−k²/2σ²) over k ≥ t."""
        if k < 1:
            return of(1) - self.tail(1 - k)
        return _sum(self.variance, k) / _whole(self.variance)

    def mass(self, k: int) -> Interval:
        """See the class."""
        return _weight(self.variance, k) / _whole(self.variance)

    def keeps_delta(self, steps: int, epsilon: Fraction, delta: Fraction) -> bool:
        """δ(ε) = P[N ≥ t − d] − e^ε·P[N ≥ t] for the least t > εσ²/d + d/2."""
        if not steps:
            return True
        t = (epsilon * self.variance / steps + Fraction(steps, 2)).__floor__() + 1
        return (self.tail(t - steps) - exp(of(epsilon)) * self.tail(t)).upper <= delta


LAWS = {kind.__name__: kind for kind in (DiscreteLaplace, RoundedLaplace, DiscreteGaussian, RoundedGaussian)}


def law(value: Any) -> LaplaceLaw | GaussianLaw:
    """Read a law."""
    fields = Fields(value, "a law")
    kind = LAWS[fields.one_of("is", *LAWS)]
    (name,) = kind.__dataclass_fields__
    parameter = fields.positive(name)
    fields.done()
    return kind(parameter)


def normal_keeps_delta(mu_squared: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether N(0, 1) and N(μ, 1) are seen to keep (ε, δ): δ(ε) = Q(ε/μ − μ/2) − e^ε·Q(ε/μ + μ/2)."""
    if not mu_squared:
        return True
    mu = _root(mu_squared)
    if mu.low <= 0:
        return False
    middle, half = of(epsilon) / mu, mu * of(HALF)
    return (normal_tail(middle - half) - exp(of(epsilon)) * normal_tail(middle + half)).upper <= delta


@cache
def _height(variance: Fraction) -> Interval:
    """Enclose 1/(σ·√(2π))."""
    return of(1) / (_root(variance) * sqrt(pi().times(2)))


@cache
def _root(square: Fraction) -> Interval:
    return sqrt(of(square))


def _derivatives(variance: Fraction, k: int, count: int) -> list[Interval]:
    """Enclose f^(n)(k)/f(k) for n < count and f in proportion to e^(−x²/2σ²), but for the sign of odd ones.

    They are h_0 = 1, h_1 = k/σ² and h_{n+1} = (k·h_n − n·h_{n−1})/σ².
    """
    before, current = Interval(0, 0), of(1)
    found = []
    top, bottom = variance.denominator, variance.numerator
    for n in range(count):
        found.append(current)
        low = (k * current.low - n * before.high) * top
        high = (k * current.high - n * before.low) * top
        before, current = current, Interval(low // bottom, -(-high // bottom))
    return found


_REST_BITS = 256  # so many units at most are the Taylor remainder of `RoundedGaussian.mass`, as a power of 2


@cache
def _taylor_weights(variance: Fraction) -> list[int]:
    """Return 2^n·(n + 1)! for even n until `RoundedGaussian.mass` leaves out less than 2^256 units; σ is at least 1."""
    sigma = isqrt(variance.__floor__())
    weights = [1]
    n = 2
    while (isqrt(factorial(n)) + 1) << BITS - _REST_BITS > sigma ** (n + 1) * factorial(n + 1) << n:
        weights.append(factorial(n + 1) << n)
        n += 2
    return weights


@cache
def _half_rate(variance: Fraction) -> Interval:
    return of(1 / (2 * variance))


def _weight(variance: Fraction, k: int) -> Interval:
    """Enclose e^(−k²/2σ²)."""
    return exp(-_half_rate(variance).times(k * k))


@cache
def _sum(variance: Fraction, t: int) -> Interval:
    """Enclose S(t) for t ≥ 1: up to a variance of 64 by adding up, above it by the formula of Euler and Maclaurin."""
    if variance > SUMMED_UP_TO:
        return _euler_maclaurin(variance, t)
    k, total = t, Interval(0, 0)
    while True:
        weight = _weight(variance, k)
        if weight.high <= 4:  # from here on weights fall by a factor of more than 2 each time
            return Interval(total.low, total.high + 8)
        total += weight
        k += 1


@cache
def _whole(variance: Fraction) -> Interval:
    return of(1) + _sum(variance, 1).times(2)


def _euler_maclaurin(variance: Fraction, t: int) -> Interval:
    """Enclose S(t) = ∫_t^∞ g + g(t)·(½ + Σ B_2j/(2j)!·h_{2j−1}) + R, |R| ≤ 4·(2π)^−2p·∫|g^(2p)|.

    ∫|g^(n)| ≤ √(2π)·σ^(1−n)·√n!, by Cauchy and Schwarz; with 2π > 6 and σ > 8 the bound falls for long.
    """
    sigma = isqrt(variance.__floor__())
    order = 2
    while order < _LAST_DERIVATIVE and 12 * (isqrt(factorial(order)) + 1) << BITS > (6 * sigma) ** order:
        order += 2
    root = _root(variance)
    rest = of(Fraction(12 * (isqrt(factorial(order)) + 1), (6 * sigma) ** order)) * root
    total = of(HALF)
    for n, relative in enumerate(_derivatives(variance, t, order)):
        if n % 2:
            total += relative * of(_bernoulli()[n + 1] / factorial(n + 1))
    area = normal_tail(of(t) / root) * sqrt(pi().times(2)) * root
    return area + _weight(variance, t) * total + Interval(-rest.high, rest.high)


@cache
def _bernoulli() -> list[Fraction]:
    """Return B_0, B_1, … by Σ_{k ≤ n} binomial(n + 1, k)·B_k = 0."""
    numbers = [Fraction(1)]
    for n in range(1, _LAST_DERIVATIVE + 1):
        if n > 1 and n % 2:
            numbers.append(Fraction(0))
            continue
        total, binomial = Fraction(0), 1
        for k, number in enumerate(numbers):
            total += binomial * number
            binomial = binomial * (n + 1 - k) // (k + 1)
        numbers.append(-total / (n + 1))
    return numbers

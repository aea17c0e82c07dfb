"""The least μ for which Gaussian noise is μ-GDP: Δ/σ for the normal law, and more for the discrete one, certified.

Discrete Gaussian noise keeps less than its σ suggests: at σ = Δ = 1 it is 1.0458-GDP and no better. README.md proves
that the least μ is that of a threshold, and that no threshold beyond those tried needs more.

Source: Dong, Roth and Su 2022, 'Gaussian Differential Privacy', definition 2.6 and theorem 2.7 (normal noise). The
discrete case is worked out here.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import gmpy2
from gmpy2 import mpfr, mpq

from mechanisms.certified import round_up
from mechanisms.gaussian.law import SUMMED_UP_TO, Enclosure, normal_tail, tail_sum
from mechanisms.parameters import positive_integer, positive_rational
from mechanisms.rounding import rounding

_PRECISION = 112
_MARGIN = mpfr(2) ** -80  # of a quantile, relative: more than Newton's method leaves after a step of at most its root
_MOST_NEWTON_STEPS = 60
_MOST_SIGMAS = 2  # beyond the middle of the two answers, within which the greatest μ is looked for first


class LeastMu(NamedTuple):
    """Bounds on the least μ, as doubles rounded outwards; the upper one is a claim that holds."""

    lower: float
    upper: float


def gaussian_mu(*, sigma: Fraction | float, sensitivity: Fraction | float = 1) -> float:
    """Return the least μ of normal noise, Δ/σ, rounded up.

    Args:
        sigma: standard deviation of the noise, positive; a float stands for the rational that it is, here and below.
        sensitivity: Δ, positive, in the unit of sigma.

    Raises:
        ValueError: an argument is outside its range.
    """
    return round_up(positive_rational("sensitivity", sensitivity) / positive_rational("sigma", sigma))


@lru_cache(maxsize=64)
def discrete_gaussian_mu(*, sigma: Fraction | float, sensitivity: int = 1) -> LeastMu:
    """Enclose the least μ for which discrete Gaussian noise on the integers is μ-GDP.

    Args:
        sigma: the noise is N_Z(0, sigma²), positive and at most 32.
        sensitivity: the most an integer answer moves, at least 1.

    Returns:
        Its bounds, a few parts in 2^52 apart.

    Raises:
        ValueError: an argument is outside its range.
    """
    variance = mpq(positive_rational("sigma", sigma) ** 2)
    move = positive_integer("sensitivity", sensitivity)
    if variance > SUMMED_UP_TO:
        raise ValueError(f"sigma must be at most 32 steps for the least mu to be found, not {float(sigma):g}")
    curve = _Curve(variance, move)
    first, last = (move + 2) // 2, move + _MOST_SIGMAS * math.isqrt(math.ceil(variance)) + 2
    found = [curve.mu(threshold) for threshold in range(first, last + 1)]
    while True:
        # Rounded up before it is used: what is proved is the double that is returned.
        upper = max(round_up(Fraction(mpq(mu.upper))) for mu in found)
        proved_from = curve.proved_from(mpq(upper))
        if proved_from <= last + 1:
            return LeastMu(max(_round_down(Fraction(mpq(mu.lower))) for mu in found), upper)
        found += [curve.mu(threshold) for threshold in range(last + 1, proved_from)]
        last = proved_from - 1


class _Curve:
    """The trade-off curve between discrete Gaussian noise and the same moved by Δ; its vertices are thresholds.

    Args:
        variance: σ².
        move: Δ.
    """

    def __init__(self, variance: mpq, move: int) -> None:
        self._variance, self._move = variance, move
        self._quantiles: dict[int, Enclosure] = {}
        self._sums: list[Enclosure] = []  # S(1), S(2), …
        self._down, self._up = rounding(_PRECISION)

    def mu(self, threshold: int) -> Enclosure:
        """The μ that a threshold needs, ψ(t) − ψ(t − Δ)."""
        here, there = self._quantile(threshold), self._quantile(threshold - self._move)
        return Enclosure(self._down.sub(here.lower, there.upper), self._up.sub(here.upper, there.lower))

    def proved_from(self, mu: mpq) -> int:
        """A threshold from which on none needs more than μ, by the slopes of the two curves."""
        with self._up:
            sigma = mpq(gmpy2.sqrt(mpfr(self._variance)))
        with self._down:
            least = mpq(gmpy2.sqrt(mpfr(self._variance)))
        kappa = self._move / (least * mu)  # rounded up, like σ
        if kappa >= 1:
            raise ArithmeticError(f"mu = {float(mu)} is not known to exceed the limit Δ/σ of far thresholds")
        end = max(sigma + 1, (mpq(1, 2) + sigma * mu / 2) / (1 - kappa))
        threshold: int = math.ceil(end)
        self._sums_up_to(threshold)
        while threshold > 1 and self._is_flat(threshold - 1, mu):
            threshold -= 1
        return threshold

    def _is_flat(self, threshold: int, mu: mpq) -> bool:
        """Whether the curve is no steeper than that of μ-GDP between this threshold and the next."""
        at = mu / 2 + (threshold * self._move - mpq(self._move**2, 2)) / (self._variance * mu)
        return bool(self._tail(threshold).upper <= normal_tail(at, mpq(1), _PRECISION).lower)

    def _tail(self, threshold: int) -> Enclosure:
        self._sums_up_to(threshold)
        tail, half = self._sums[threshold - 1], self._sums[0]
        with self._up:
            most = 1 + 2 * half.upper
        with self._down:
            least, lower = 1 + 2 * half.lower, tail.lower / most
        return Enclosure(lower, self._up.div(tail.upper, least))

    def _sums_up_to(self, last: int) -> None:
        """Find S(t) for every t from 1 to `last`, from the largest t down."""
        if len(self._sums) >= last:
            return
        last = max(last, 2 * len(self._sums))
        sums = [tail_sum(last, self._variance, _PRECISION)]
        for k in range(last - 1, 0, -1):
            exponent = -mpq(k * k) / (2 * self._variance)
            with self._down:
                lower = sums[-1].lower + gmpy2.exp(mpfr(exponent))
            with self._up:
                sums.append(Enclosure(lower, sums[-1].upper + gmpy2.exp(mpfr(exponent))))
        self._sums = sums[::-1]

    def _guess(self, threshold: int) -> float:
        """About ψ(t), for t ≥ 1: the midpoint rule with its first correction (README.md, fast paths)."""
        return (threshold - 0.5) * (1 + 1 / (24 * float(self._variance))) / math.sqrt(self._variance)

    def _quantile(self, threshold: int) -> Enclosure:
        """Enclose ψ(t) = Q⁻¹(P[X ≥ t])."""
        if threshold < 1:
            mirrored = self._quantile(1 - threshold)
            return Enclosure(-mirrored.upper, -mirrored.lower)
        if threshold not in self._quantiles:
            self._quantiles[threshold] = _quantile(self._tail(threshold), self._guess(threshold))
        return self._quantiles[threshold]


def _quantile(tail: Enclosure, guess: float) -> Enclosure:
    """Enclose Q⁻¹ of a tail of less than ½, by Newton's method on the logarithm of Q, which is concave."""
    with gmpy2.context(precision=_PRECISION):
        aimed = gmpy2.log(tail.lower)
        x = mpfr(guess)
        for _ in range(_MOST_NEWTON_STEPS):
            there = gmpy2.erfc(x / gmpy2.sqrt(mpfr(2))) / 2
            density = gmpy2.exp(-x * x / 2) / gmpy2.sqrt(2 * gmpy2.const_pi())
            step = (gmpy2.log(there) - aimed) * there / density
            x += step
            if abs(step) <= x * gmpy2.sqrt(_MARGIN):
                break
        margin = x * _MARGIN
        while True:
            lower, upper = x - margin, x + margin
            if (
                normal_tail(mpq(lower), mpq(1), _PRECISION).lower >= tail.upper
                and normal_tail(mpq(upper), mpq(1), _PRECISION).upper <= tail.lower
            ):
                return Enclosure(lower, upper)
            margin *= 16


def _round_down(number: Fraction) -> float:
    nearest = float(number)
    return nearest if Fraction(nearest) <= number else math.nextafter(nearest, -math.inf)

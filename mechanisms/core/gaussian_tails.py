"""Enclosures of the tails of the normal and of the discrete Gaussian law, by MPFR with directed rounding.

The discrete Gaussian of variance σ² gives the integer k a probability in proportion to g(k) = exp(−k²/2σ²). Its tail
sums S(t) = Σ_{k ≥ t} g(k) are added term by term if few terms matter, else by the Euler–Maclaurin formula:

    S(t) = ∫_t^∞ g + g(t)/2 − Σ_{i ≤ p} B_{2i}/(2i)!·g^{(2i−1)}(t) + R,    |R| ≤ |B_{2p}|/(2p)!·∫_t^∞ |g^{(2p)}|.

g^{(n)} = (−1)^n·a_n·g with a_n = σ^−n·He_n(t/σ), a_{n+1} = (t·a_n − n·a_{n−1})/σ²: rational for rational σ². By Cauchy
and Schwarz ∫_z^∞ |He_n(y)|·e^{−y²/2} dy ≤ √(π·n!)·e^{−z²/4}, so

    |R|/g(t) ≤ |B_{2p}|/(2p)!·σ·√(π·(2p)!)·σ^{−2p}·e^{t²/4σ²}.

As g falls from 0 on, 0 ≤ S(t) − ∫_t^∞ g ≤ g(t) as well, however large R is.
"""

from __future__ import annotations

from math import factorial, isqrt
from typing import NamedTuple

import gmpy2
from gmpy2 import mpfr, mpq

from mechanisms.core.rounding import rounding

_FEW_TERMS = 128
_MOST_TERMS = 1 << 14
_ADDED_UP_TO = 64
"""Up to this variance the sum over all integers is added term by term; above it, Poisson's formula gives it."""

_COEFFICIENTS = 64


class Enclosure(NamedTuple):
    """A lower and an upper bound of a real number."""

    lower: mpfr
    upper: mpfr


def complement(tail: Enclosure, precision: int) -> Enclosure:
    """Enclose 1 − x, where `tail` encloses x."""
    down, up = rounding(precision)
    return Enclosure(down.sub(1, tail.upper), up.sub(1, tail.lower))


def exponential(exponent: mpq, precision: int) -> Enclosure:
    """Enclose e to the power of a rational number."""
    down, up = rounding(precision)
    with down:
        lower = gmpy2.exp(mpfr(exponent))
    with up:
        return Enclosure(lower, gmpy2.exp(mpfr(exponent)))


def normal_tail(threshold: mpq, variance: mpq, precision: int) -> Enclosure:
    """Enclose P[X > threshold] for X normal with mean 0.

    It is erfc(√h)/2 with h = threshold²/2σ². Let x be √h as computed, rounded down twice: √h ≤ x·(1 + 2^(2−precision)).
    Beyond x, erfc falls by at most erfc(x)·(x + √(x² + 2)) for each unit. As x·(x + √(x² + 2)) ≤ 3h + 1, erfc(√h) is
    less than erfc(x) by a relative 2^(2−precision)·(3h + 1) at most. Rounding erfc(x) up adds at most a relative
    2^(1−precision).
    """
    if threshold < 0:
        return complement(normal_tail(-threshold, variance, precision), precision)
    half_square = threshold * threshold / (2 * variance)
    down, up = rounding(precision)
    with down:
        nearer = gmpy2.sqrt(mpfr(half_square))
    with up:
        upper = gmpy2.erfc(nearer) / 2
        beyond = (3 * mpfr(half_square) + 2) / (1 << precision - 2)
    with down:
        return Enclosure(upper * max(1 - beyond, mpfr(0)), upper)


def lattice_sum(variance: mpq, precision: int) -> Enclosure:
    """Enclose Σ_k exp(−k²/2σ²) over all integers: 1 + 2·S(1), or by Poisson summation σ√(2π)·(1 + 2·Σ_{j ≥ 1} r^(j²)).

    Here r = e^(−2π²σ²) < e^(−19σ²) is tiny, so the last sum is between 0 and 2r.
    """
    down, up = rounding(precision)
    if variance <= _ADDED_UP_TO:
        half = discrete_sum(1, variance, precision)
        return Enclosure(down.fma(2, half.lower, 1), up.fma(2, half.upper, 1))
    with down:
        lower = gmpy2.sqrt(2 * gmpy2.const_pi() * mpfr(variance))
    with up:
        upper = gmpy2.sqrt(2 * gmpy2.const_pi() * mpfr(variance))
        return Enclosure(lower, upper * (1 + 4 * gmpy2.exp(mpfr(-19 * variance))))


def discrete_sum(threshold: int, variance: mpq, precision: int) -> Enclosure:
    """Enclose S(threshold), threshold ≥ 1: add terms if few matter or the Euler–Maclaurin formula is too coarse."""
    terms = isqrt(threshold**2 + int(2 * precision * variance)) - threshold + 1  # the next one is below 2^−precision
    if terms <= _FEW_TERMS:
        return _added(threshold, variance, precision, terms)
    correction, remainder = _correction(threshold, variance, precision)
    if remainder >= mpq(1, 1 << precision) and terms <= _MOST_TERMS:
        return _added(threshold, variance, precision, terms)
    return _integrated(threshold, variance, precision, correction, remainder)


def _added(threshold: int, variance: mpq, precision: int, terms: int) -> Enclosure:
    """Enclose S(threshold) by its first `terms` terms and a geometric series of ratio g(k + 1)/g(k) above the rest.

    g(k + 1) = g(k)·r(k) and r(k + 1) = r(k)·e^(−1/σ²) are products of positive numbers: each is rounded the right way.
    """
    term = exponential(-mpq(threshold * threshold) / (2 * variance), precision)
    ratio = exponential(-(2 * threshold + 1) / (2 * variance), precision)
    factor = exponential(-1 / variance, precision)
    sums = []
    for context, first, slope, bend in zip(rounding(precision), term, ratio, factor, strict=True):
        with context:
            total = mpfr(0)
            for _ in range(terms):
                total, first, slope = total + first, first * slope, slope * bend
            sums.append((total, first, slope))
    (lower, _, _), (upper, after, slope) = sums
    down, up = rounding(precision)
    with up:
        return Enclosure(lower, upper + after / down.sub(1, slope))


def _integrated(threshold: int, variance: mpq, precision: int, correction: mpq, remainder: mpfr) -> Enclosure:
    """Enclose S(t) = ∫_t^∞ g + c·g(t), t = threshold, g as in the module: |c − correction| ≤ remainder, 0 ≤ c ≤ 1."""
    tail = normal_tail(mpq(threshold), variance, precision)
    height = exponential(-mpq(threshold * threshold) / (2 * variance), precision)
    down, up = rounding(precision)
    with down:
        lower = gmpy2.sqrt(2 * gmpy2.const_pi() * mpfr(variance)) * tail.lower
        lower += height.lower * max(mpfr(correction) - remainder, mpfr(0))
    with up:
        upper = gmpy2.sqrt(2 * gmpy2.const_pi() * mpfr(variance)) * tail.upper
        return Enclosure(lower, upper + height.upper * min(mpfr(correction) + remainder, mpfr(1)))


def _correction(threshold: int, variance: mpq, precision: int) -> tuple[mpq, mpfr]:
    """Return C = ½ + Σ_{i ≤ p} B_{2i}/(2i)!·a_{2i−1} and a bound on |R|/g(t), for a p that makes it small."""
    _, up = rounding(64)
    with up:
        scale = gmpy2.exp(mpfr(threshold * threshold / (4 * variance))) * gmpy2.sqrt(gmpy2.const_pi() * mpfr(variance))
    correction, remainder = mpq(1, 2), mpfr("inf")
    before, current = mpq(1), threshold / variance  # a_0 and a_1
    for half, coefficient in enumerate(_BERNOULLI, start=1):
        with up:
            bound = scale * gmpy2.sqrt(mpfr(factorial(2 * half) / variance ** (2 * half))) * mpfr(abs(coefficient))
        if bound >= remainder:
            break
        remainder = bound
        correction += coefficient * current
        if remainder < mpq(1, 1 << precision):
            break
        for n in (2 * half - 1, 2 * half):
            before, current = current, (threshold * current - n * before) / variance
    return correction, remainder


def _bernoulli(count: int) -> list[mpq]:
    """Return B_{2i}/(2i)! for 1 ≤ i ≤ count, the coefficients of (x/2)·coth(x/2) = cosh(x/2) / (sinh(x/2)/(x/2))."""
    found: list[mpq] = []
    for n in range(count + 1):
        known = sum((found[i] / (4 ** (n - i) * factorial(2 * (n - i) + 1)) for i in range(n)), mpq(0))
        found.append(mpq(1, 4**n * factorial(2 * n)) - known)
    return found[1:]


_BERNOULLI = _bernoulli(_COEFFICIENTS)

"""Enclosures of the tails of the normal and of the discrete Gaussian law, by MPFR with directed rounding.

Everything that is *certified* about a Gaussian here, its δ(ε) and its exact samplers, rests on these two tails.

The discrete Gaussian N_Z(0, σ²) gives the integer k a probability in proportion to g(k) = exp(−k²/2σ²) (Canonne,
Kamath and Steinke 2020, Definition 1). Its tail sum S(t) = Σ_{k ≥ t} g(k) is added up term by term for small σ, and
found by the Euler–Maclaurin formula for large σ, where adding would take as long as σ is large; README.md derives
both remainders.
"""

from __future__ import annotations

import math
from functools import lru_cache
from math import factorial
from typing import NamedTuple

import gmpy2
from gmpy2 import mpfr, mpq, mpz

from mechanisms.rounding import rounding

SUMMED_UP_TO = mpq(32**2)
"""The variance up to which tail sums are added up; above it the Euler–Maclaurin formula is exact enough and faster."""

_KEPT_PRECISION = 256  # enough for draws whose first 190 bits decide

_LAST_DERIVATIVE = 400  # of the Euler-Maclaurin formula, whose remainder is small long before unless the tail is absurd


def _even_bernoulli_numbers(count: int) -> tuple[mpq, ...]:
    """Return B_2, B_4, …, from the tangent numbers.

    Source: Brent and Harvey 2011, 'Fast Computation of Bernoulli, Tangent and Secant Numbers', Figure 2.
    """
    tangents = [mpz(1)]
    for index in range(1, count):
        tangents.append(index * tangents[-1])
    for first in range(1, count):
        for index in range(first, count):
            tangents[index] = (index - first) * tangents[index - 1] + (index - first + 2) * tangents[index]
    return tuple(
        mpq((-1) ** (half - 1) * 2 * half * tangent, 4**half * (4**half - 1))
        for half, tangent in enumerate(tangents, start=1)
    )


_EVEN_BERNOULLI_NUMBERS = _even_bernoulli_numbers(_LAST_DERIVATIVE // 2)


class Enclosure(NamedTuple):
    """Two numbers with the truth between them."""

    lower: mpfr
    upper: mpfr


def normal_tail(threshold: mpq, variance: mpq, precision: int) -> Enclosure:
    """Enclose P[X > threshold] for X normal with mean 0.

    With h = threshold²/2σ², it is half of erfc(√h). √h is at most x·(1 + 2^(2−precision)), x its value rounded down
    twice. erfc falls, and ever more slowly: by at most erfc(x)·(x + √(x² + 2)) for each unit beyond x. As
    x·(x + √(x² + 2)) ≤ 3h + 1, that is a part of 2^(2−precision)·(3h + 1), and erfc(x) is rounded up by half of
    2^(2−precision).

    Args:
        threshold: any rational number.
        variance: σ², positive.
        precision: bits of the arithmetic.

    Returns:
        The enclosure.
    """
    if threshold < 0:
        return _complement(normal_tail(-threshold, variance, precision), precision)
    half_square = threshold * threshold / (2 * variance)
    down, up = rounding(precision)
    with down:
        nearer = gmpy2.sqrt(mpfr(half_square))
    with up:
        upper = gmpy2.erfc(nearer) / 2
        beyond = (3 * mpfr(half_square) + 2) / (1 << precision - 2)
    with down:
        lower = upper * max(1 - beyond, mpfr(0))
    return Enclosure(lower, upper)


def discrete_tail(threshold: int, variance: mpq, precision: int) -> Enclosure:
    """Enclose P[X ≥ threshold] for X discrete Gaussian, N_Z(0, variance).

    Args:
        threshold: any integer.
        variance: σ², positive.
        precision: bits of the arithmetic.

    Returns:
        The enclosure.
    """
    if threshold < 1:
        return _complement(discrete_tail(1 - threshold, variance, precision), precision)
    return _share(tail_sum(threshold, variance, precision), tail_sum(1, variance, precision), precision)


def discrete_tails(last: int, variance: mpq, precision: int) -> list[Enclosure]:
    """Enclose P[X ≥ 1], …, P[X ≥ last] for X discrete Gaussian, in one pass from the far end."""
    sums = _sums(last, variance, precision)
    return [_share(tail, sums[0], precision) for tail in sums]


def tail_sum(threshold: int, variance: mpq, precision: int) -> Enclosure:
    """Enclose S(threshold) = Σ_{k ≥ threshold} exp(−k²/2σ²) for threshold ≥ 1."""
    if precision <= _KEPT_PRECISION:
        kept = _kept_sums(variance)
        if threshold <= len(kept):
            return kept[threshold - 1]
    return _computed_sum(threshold, variance, precision)


@lru_cache(maxsize=64)
def _kept_sums(variance: mpq) -> list[Enclosure]:
    """Enclose S(1), S(2), … as far as S is no longer seen in 64 bits; S(1) alone where each sum is found fast.

    All of it is computed at once and kept for a variance, which is public. Which sums a draw asks for is not.
    """
    if variance > SUMMED_UP_TO:
        return [_computed_sum(1, variance, _KEPT_PRECISION)]
    return _sums(math.isqrt(math.floor(89 * variance)) + 1, variance, _KEPT_PRECISION)  # 89/2 > 64·ln 2


def _sums(last: int, variance: mpq, precision: int) -> list[Enclosure]:
    """Enclose S(1), …, S(last) in one pass from the far end."""
    down, up = rounding(precision)
    sums = [_computed_sum(last, variance, precision)]
    for k in range(last - 1, 0, -1):
        exponent = -k * k / (2 * variance)
        with down:
            lower = sums[-1].lower + gmpy2.exp(mpfr(exponent))
        with up:
            sums.append(Enclosure(lower, sums[-1].upper + gmpy2.exp(mpfr(exponent))))
    return sums[::-1]


def _computed_sum(threshold: int, variance: mpq, precision: int) -> Enclosure:
    if variance <= SUMMED_UP_TO:
        return _added_tail_sum(threshold, variance, precision)
    return _euler_maclaurin_tail_sum(threshold, variance, precision)


def _share(tail: Enclosure, half: Enclosure, precision: int) -> Enclosure:
    """Enclose S(t)/(1 + 2·S(1)), the sum of all g(k) being 1 and S(1) on either side."""
    down, up = rounding(precision)
    with up:
        most = 1 + 2 * half.upper
    with down:
        lower = tail.lower / most
        least = 1 + 2 * half.lower
    with up:
        return Enclosure(lower, tail.upper / least)


def _complement(tail: Enclosure, precision: int) -> Enclosure:
    down, up = rounding(precision)
    with down:
        lower = 1 - tail.upper
    with up:
        return Enclosure(lower, 1 - tail.lower)


def _added_tail_sum(threshold: int, variance: mpq, precision: int) -> Enclosure:
    """Add terms until the rest, below a geometric series of ratio g(k+1)/g(k), no longer matters."""
    down, up = rounding(precision)
    with down:
        lower = mpfr(0)
    with up:
        upper = mpfr(0)
    last = threshold
    while (last * last - threshold * threshold) < 2 * precision * variance:
        with down:
            lower += gmpy2.exp(mpfr(-last * last / (2 * variance)))
        with up:
            upper += gmpy2.exp(mpfr(-last * last / (2 * variance)))
        last += 1
    with up:
        ratio = gmpy2.exp(mpfr(-(2 * last + 1) / (2 * variance)))
    with down:
        complement = 1 - ratio
    with up:
        return Enclosure(lower, upper + gmpy2.exp(mpfr(-last * last / (2 * variance))) / complement)


def _euler_maclaurin_tail_sum(threshold: int, variance: mpq, precision: int) -> Enclosure:
    """Enclose S(t) = ∫_t^∞ g + C·g(t) ± R·g(t), knowing that g decreases, so that the last two add up to 0 … g(t)."""
    down, up = rounding(precision)
    correction, remainder = _euler_maclaurin_correction(threshold, variance, precision)
    tail = normal_tail(mpq(threshold), variance, precision)
    exponent = -threshold * threshold / (2 * variance)
    with down:
        lower = gmpy2.sqrt(2 * gmpy2.const_pi() * mpfr(variance)) * tail.lower
        lower += gmpy2.exp(mpfr(exponent)) * max(mpfr(correction) - remainder, 0)
    with up:
        upper = gmpy2.sqrt(2 * gmpy2.const_pi() * mpfr(variance)) * tail.upper
        upper += gmpy2.exp(mpfr(exponent)) * min(mpfr(correction) + remainder, 1)
    return Enclosure(lower, upper)


def _euler_maclaurin_correction(threshold: int, variance: mpq, precision: int) -> tuple[mpq, mpfr]:
    """Return C = ½ + Σ_{i ≤ p} B_{2i}/(2i)!·a_{2i−1} and the remainder's bound R, both relative to g(t).

    a_n = σ^−n·He_n(t/σ), so that the n-th derivative of g at t is (−1)^n·a_n·g(t). So far out that R overflows, it is
    infinite.
    """
    _, up = rounding(64)
    with up:
        scale = gmpy2.exp(mpfr(threshold * threshold / (4 * variance))) * gmpy2.sqrt(gmpy2.const_pi() * mpfr(variance))
    correction, remainder = mpq(1, 2), mpfr("inf")
    before, current = mpq(1), threshold / variance  # a_0 and a_1
    for index in range(2, _LAST_DERIVATIVE, 2):
        coefficient = _EVEN_BERNOULLI_NUMBERS[index // 2 - 1] / factorial(index)
        with up:
            bound = scale * gmpy2.sqrt(mpfr(factorial(index) / variance**index)) * mpfr(abs(coefficient))
        if bound >= remainder:
            break
        remainder = bound
        correction += coefficient * current
        if remainder < mpq(1, 1 << precision):
            break
        for n in (index - 1, index):
            before, current = current, (threshold * current - n * before) / variance
    return correction, remainder

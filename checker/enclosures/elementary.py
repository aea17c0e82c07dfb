"""Enclosures of e^x, ln x and the normal tail by integers alone: two dyadic rationals with the truth between them.

Each number is summed as a series whose terms are kept as multiples of 2^−p, rounded down in the lower sum and up in the
upper one; what the series leaves out is bounded by a geometric series. Sources of the series: any table of functions.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import isqrt

Enclosure = tuple[Fraction, Fraction]
"""A lower and an upper bound."""


def down(value: Fraction, bits: int) -> Fraction:
    """Round down to a multiple of 2^−bits."""
    return Fraction((value.numerator << bits) // value.denominator, 1 << bits)


def up(value: Fraction, bits: int) -> Fraction:
    """Round up to a multiple of 2^−bits."""
    return -down(-value, bits)


def exp(x: Fraction, bits: int) -> Enclosure:
    """Enclose e^x, with a relative width of about 2^−bits."""
    if x < 0:
        low, high = exp(-x, bits)
        size = bits + high.__ceil__().bit_length()
        return down(1 / high, size), up(1 / low, size)
    halvings = max(0, x.__ceil__().bit_length() + 4)
    work = bits + 2 * halvings + 16
    y = x / (1 << halvings)
    low, high = _small_exp(y, work)
    for _ in range(halvings):
        low, high = down(low * low, work), up(high * high, work)
    return low, high


def _small_exp(y: Fraction, work: int) -> Enclosure:
    """Enclose e^y for 0 ≤ y ≤ 1/8 by its power series."""
    below, above = down(y, work), up(y, work)
    low = high = Fraction(1)
    low_term = high_term = Fraction(1)
    index = 1
    while high_term > Fraction(1, 1 << work):
        low_term, high_term = down(low_term * below / index, work), up(high_term * above / index, work)
        low, high = low + low_term, high + high_term
        index += 1
    return low, high + 2 * high_term  # the terms that follow are less than half of the one before


def ln(x: Fraction, bits: int) -> Enclosure:
    """Enclose ln x for x > 0, with an absolute width of about 2^−bits."""
    if x <= 0:
        raise ValueError(f"the logarithm needs a number above 0, not {x}")
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    mantissa = x / Fraction(2) ** exponent  # in (½, 2)
    work = bits + abs(exponent).bit_length() + 8
    low, high = _twice_artanh((mantissa - 1) / (mantissa + 1), work)
    if exponent:
        less, more = _ln_2(work)
        low, high = (
            (low + exponent * less, high + exponent * more)
            if exponent > 0
            else (
                low + exponent * more,
                high + exponent * less,
            )
        )
    return down(low, bits + 4), up(high, bits + 4)


@lru_cache(maxsize=16)
def _ln_2(work: int) -> Enclosure:
    return _twice_artanh(Fraction(1, 3), work)


def _twice_artanh(s: Fraction, work: int) -> Enclosure:
    """Enclose 2·artanh s = 2·Σ s^(2k+1)/(2k + 1) for |s| ≤ 1/3."""
    if s < 0:
        opposite = _twice_artanh(-s, work)
        return -opposite[1], -opposite[0]
    scaled, square = s * (1 << work), s * s * (1 << work)  # from here on all in multiples of 2^−work
    below, above = square.__floor__(), square.__ceil__()
    low_power, high_power = scaled.__floor__(), scaled.__ceil__()
    low, high, order = low_power, high_power, 1
    while high_power > 1:
        low_power, high_power = low_power * below >> work, -(-high_power * above >> work)
        order += 2
        low, high = low + low_power // order, high - (-high_power // order)
    # what follows is at most s²/(1 − s²) ≤ 1/8 of the last power
    return Fraction(2 * low, 1 << work), Fraction(2 * high + high_power, 1 << work)


@lru_cache(maxsize=16)
def pi(bits: int) -> Enclosure:
    """Enclose π by Machin's formula, 16·arctan(1/5) − 4·arctan(1/239)."""
    five, other = _arctan_inverse(5, bits + 8), _arctan_inverse(239, bits + 8)
    return 16 * five[0] - 4 * other[1], 16 * five[1] - 4 * other[0]


def _arctan_inverse(n: int, work: int) -> Enclosure:
    """Enclose arctan(1/n) between two neighbouring partial sums of its alternating series."""
    total, power, order, sign = Fraction(0), Fraction(1, n), 1, 1
    while True:
        following = total + sign * power / order
        if power < Fraction(1, 1 << work):
            return down(min(total, following), work), up(max(total, following), work)
        total, power, order, sign = following, power / (n * n), order + 2, -sign


def sqrt(x: Fraction, bits: int) -> Enclosure:
    """Enclose √x for x ≥ 0, with an absolute width of 2^−bits."""
    scaled = (x.numerator << 2 * bits) // x.denominator
    root = isqrt(scaled)
    return Fraction(root, 1 << bits), Fraction(root + 1, 1 << bits)


def normal_tail(half_square: Fraction, bits: int) -> Enclosure:
    """Enclose P[Z > √(2q)] = ½·erfc(√q) for a standard normal Z and a rational q ≥ 0.

    By erf(√q) = 2·√(q/π)·e^−q·Σ (2q)^n/(2n + 1)!!, whose terms are positive.

    Args:
        half_square: q.
        bits: the enclosure is about 2^−bits of the tail wide.
    """
    q = half_square
    work = bits + (3 * q.__ceil__()) // 2 + 2 * (q.__ceil__() + 2).bit_length() + 16  # e^−q > 2^(−1.5·q)
    below, above = down(2 * q, work), up(2 * q, work)
    low = high = low_term = high_term = Fraction(1)
    order = 1
    while high_term > Fraction(1, 1 << work) or above > order:
        order += 2
        low_term, high_term = down(low_term * below / order, work), up(high_term * above / order, work)
        low, high = low + low_term, high + high_term
    ratio = above / (order + 2)
    high += high_term * ratio / (1 - ratio)
    (exp_low, exp_high), (pi_low, pi_high) = exp(-q, work), pi(work)
    root_low, root_high = sqrt(q / pi_high, work)[0], sqrt(q / pi_low, work)[1]
    erf_low, erf_high = 2 * root_low * exp_low * low, 2 * root_high * exp_high * high
    return down((1 - erf_high) / 2, work + 4), up((1 - erf_low) / 2, work + 4)

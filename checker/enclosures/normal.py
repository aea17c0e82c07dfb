"""Enclosures of the standard normal density and tail, in integers: fast enough for a table of ten thousand cells.

All numbers here are multiples of 2^−work, rounded down in lower ends and up in upper ones. P[Z > z] is the density
times Mills' ratio R(z). For large z that is a continued fraction of positive terms, for small z it is 1/2φ(z) less a
series of positive terms. Sources of both: any table of functions.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from checker.enclosures.elementary import Enclosure, ln, pi, sqrt

_HALVINGS = 8
_SERIES_UP_TO = 3
"""Up to this z the series is shorter than the fraction."""


def decay(q: Fraction, bits: int) -> Enclosure:
    """Enclose e^−q for q ≥ 0, with a relative width of about 2^−bits.

    e^−q is 2^−n·e^x with x = n·ln 2 − q between 0 and 1.
    """
    work = bits + 2 * _HALVINGS + 12 + q.__ceil__().bit_length()
    ln_low, ln_high = _ln_2(work)
    q_low = (q.numerator << work) // q.denominator
    n = (q_low + 1) // ln_low + 1
    x_low, x_high = n * ln_low - q_low - 1, n * ln_high - q_low
    return Fraction(_growth_down(x_low, work), 1 << work + n), Fraction(_growth_up(x_high, work), 1 << work + n)


def _growth_down(x: int, work: int) -> int:
    """Bound e^x from below for 0 ≤ x < 2: squares of the power series."""
    x >>= _HALVINGS
    total = term = 1 << work
    index = 1
    while term:
        term = (term * x >> work) // index
        total, index = total + term, index + 1
    for _ in range(_HALVINGS):
        total = total * total >> work
    return total


def _growth_up(x: int, work: int) -> int:
    """Bound e^x from above for 0 ≤ x < 2."""
    x = (x >> _HALVINGS) + 1
    total = term = 1 << work
    index = 1
    while term > 1:
        term = (term * x >> work) // index + 1
        total, index = total + term, index + 1
    total += 1  # what follows is less than half of the last term, which is 1
    for _ in range(_HALVINGS):
        total = (total * total >> work) + 1
    return total


@lru_cache(maxsize=64)
def _ln_2(work: int) -> tuple[int, int]:
    low, high = ln(Fraction(2), work)
    return (low * (1 << work)).__floor__(), (high * (1 << work)).__ceil__()


@lru_cache(maxsize=64)
def _density_at_0(work: int) -> tuple[int, int]:
    """Enclose 1/√(2π)."""
    pi_low, pi_high = pi(work + 4)
    low, high = sqrt(1 / (2 * pi_high), work)[0], sqrt(1 / (2 * pi_low), work)[1]
    return (low * (1 << work)).__floor__(), (high * (1 << work)).__ceil__()


def density(z: Fraction, bits: int) -> Enclosure:
    """Enclose φ(z), with a relative width of about 2^−bits."""
    work = bits + 8
    (low, high), (root_low, root_high) = decay(z * z / 2, work), _density_at_0(work)
    return low * Fraction(root_low, 1 << work), high * Fraction(root_high, 1 << work)


def tail(z: Fraction, bits: int) -> Enclosure:
    """Enclose P[Z > z] for a rational z, with a relative width of about 2^−bits (absolute for z < 0)."""
    if z < 0:
        low, high = tail(-z, bits)
        return 1 - high, 1 - low
    return density_and_tail(z, bits)[1]


def density_and_tail(z: Fraction, bits: int) -> tuple[Enclosure, Enclosure]:
    """Enclose φ(z) and P[Z > z] for z ≥ 0, each with a relative width of about 2^−bits."""
    work = bits + 16 + max(0, z.__ceil__().bit_length())
    low, high = density(z, work)
    if z > _SERIES_UP_TO:
        ratio_low, ratio_high = _mills_ratio(z, work)
        return (low, high), (low * ratio_low, high * ratio_high)
    below, above = _series(z, work)
    return (low, high), (Fraction(1, 2) - high * above, Fraction(1, 2) - low * below)


def _mills_ratio(z: Fraction, work: int) -> Enclosure:
    """Enclose 1/(z + 1/(z + 2/(z + 3/(z + …)))), whose rest is at least z and at most z + k/z at each k."""
    z_low = (z.numerator << work) // z.denominator
    z_high = z_low + 1
    terms = 4 + int((work * 0.25 / float(z)) ** 2)
    while True:
        low, high = z_low, z_high + (terms + 1 << 2 * work) // z_low + 1
        for k in range(terms, 0, -1):
            low, high = z_low + (k << 2 * work) // high, z_high + (k << 2 * work) // low + 1
        ratio_low, ratio_high = (1 << 2 * work) // high, (1 << 2 * work) // low + 1
        if ratio_high - ratio_low <= 64:
            return Fraction(ratio_low, 1 << work), Fraction(ratio_high, 1 << work)
        terms *= 2


def _series(z: Fraction, work: int) -> Enclosure:
    """Enclose (½ − P[Z > z])/φ(z) = Σ z^(2n+1)/(2n + 1)!! for 0 ≤ z ≤ 3."""
    low = (z.numerator << work) // z.denominator
    high = low + 1
    square_low, square_high = low * low >> work, (high * high >> work) + 1
    low_term, high_term, order = low, high, 1
    while high_term > 2 or order < 20:  # from order 20 on a term is less than half of the one before
        order += 2
        low_term, high_term = (low_term * square_low >> work) // order, (high_term * square_high >> work) // order + 1
        low, high = low + low_term, high + high_term
    return Fraction(low, 1 << work), Fraction(high + high_term, 1 << work)

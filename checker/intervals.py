"""Interval arithmetic on integers: two multiples of 2^−512 with the truth between them.

Every operation rounds its lower end down and its upper end up. The series are any table's; what a series leaves out is
bounded where it ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import isqrt

from checker.forms import Refused

BITS = 512
ONE = 1 << BITS
"""1, in units of 2^−512."""

HALF = Fraction(1, 2)

_LARGEST = 1 << 14

_FAR = 25
"""Standard deviations, beyond which a normal tail is bounded and not computed; it is about 2^−457 there."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A lower and an upper bound, in units of 2^−512."""

    low: int
    high: int

    @property
    def lower(self) -> Fraction:
        """The lower bound."""
        return Fraction(self.low, ONE)

    @property
    def upper(self) -> Fraction:
        """The upper bound."""
        return Fraction(self.high, ONE)

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Interval) -> Interval:
        return Interval(self.low - other.high, self.high - other.low)

    def __mul__(self, other: Interval) -> Interval:
        if self.low >= 0 <= other.low:
            return Interval(self.low * other.low >> BITS, -(-self.high * other.high >> BITS))
        ends = [one * two for one in (self.low, self.high) for two in (other.low, other.high)]
        return Interval(min(ends) >> BITS, -(-max(ends) >> BITS))

    def __truediv__(self, other: Interval) -> Interval:
        """Divide by what is above 0."""
        if other.low <= 0:
            raise ZeroDivisionError("an interval to divide by must lie above 0")
        lower, upper = self.low << BITS, self.high << BITS
        return Interval(
            lower // (other.high if lower >= 0 else other.low), -(-upper // (other.low if upper >= 0 else other.high))
        )

    def times(self, factor: int) -> Interval:
        """Multiply by an integer of at least 0, exactly."""
        return Interval(self.low * factor, self.high * factor)


def of(number: Fraction | int) -> Interval:
    """Enclose a rational."""
    numerator, denominator = number.numerator << BITS, number.denominator
    return Interval(numerator // denominator, -(-numerator // denominator))


def exp(x: Interval) -> Interval:
    """Enclose e^x: for w ≤ ½, e^(x + w) is at most (1 + 2w)·e^x."""
    if x.high > _LARGEST * ONE:
        raise Refused(f"e^x is asked for with x above {_LARGEST}")
    low, high = _exp(x.low)
    width = x.high - x.low
    if 2 * width > ONE:
        return Interval(low, _exp(x.high)[1])
    return Interval(low, high + (2 * width * high >> BITS) + 1)


def _exp(x: int) -> tuple[int, int]:
    """Bound e^x for a whole number of units: 2^n·e^r for x = n·ln 2 + r, and e^r by tables of four bytes of r."""
    if x < -_LARGEST * ONE:
        return 0, 1
    ln_low, ln_high = _ln_2()
    n = x // ln_low if x >= 0 else -(-x // ln_high) - 1
    rest, above = sorted((x - n * ln_low, x - n * ln_high))
    if rest < 0:
        n, rest, above = n - 1, rest + ln_low, above + ln_high
    width = above - rest + 1
    low, high = ONE, ONE
    for bits in (8, 16, 24, 32):
        place = rest >> BITS - bits
        rest -= place << BITS - bits
        low_power, high_power = _power(place, bits)
        low, high = low * low_power >> BITS, (high * high_power >> BITS) + 1
    low_power, high_power = _series(rest)
    low, high = low * low_power >> BITS, (high * high_power >> BITS) + 1
    high += (2 * width * high >> BITS) + 1
    return (low << n, high << n) if n >= 0 else (low >> -n, (high >> -n) + 1)


@cache
def _ln_2() -> tuple[int, int]:
    return _twice_artanh(Interval(ONE // 3, ONE // 3 + 1))


@cache
def _power(place: int, bits: int) -> tuple[int, int]:
    """Bound e^(place/2^bits), of at most e."""
    return _series(place << BITS - bits)


def _series(x: int) -> tuple[int, int]:
    """Bound e^x for 0 ≤ x ≤ 1 by its power series; each term is cut by less than 3 units, and so is what follows."""
    total = term = ONE
    index = 1
    while term:
        term = (term * x >> BITS) // index
        total, index = total + term, index + 1
    return total, total + 3 * index


def ln(x: Interval) -> Interval:
    """Enclose ln x for x > 0."""
    if x.low <= 0:
        raise ZeroDivisionError("the logarithm needs a number above 0")
    return Interval(_ln(x.low)[0], _ln(x.high)[1])


def _ln(x: int) -> tuple[int, int]:
    """Bound ln x for a whole number of units: n·ln 2 + ln m for x = 2^n·m, m between ½ and 1."""
    n = x.bit_length() - BITS
    m = Interval(x >> n, (x >> n) + 1) if n >= 0 else Interval(x << -n, x << -n)
    low, high = _twice_artanh((m - of(1)) / (m + of(1)))
    ln_low, ln_high = _ln_2() if n >= 0 else _ln_2()[::-1]
    return low + n * ln_low, high + n * ln_high


def _twice_artanh(s: Interval) -> tuple[int, int]:
    """Bound 2·artanh s = 2·Σ s^(2k+1)/(2k+1) for |s| ≤ ½; what is left out is below the last power."""
    square = s * s
    power, total, order = s, s, 1
    while max(-power.low, power.high) > 1:
        power = power * square
        order += 2
        total += Interval(power.low // order, -(-power.high // order))
    return 2 * (total.low - 2), 2 * (total.high + 2)


@cache
def pi() -> Interval:
    """Enclose π by Machin's formula, 16·arctan(1/5) − 4·arctan(1/239)."""
    return _arctan_of_inverse(5).times(16) - _arctan_of_inverse(239).times(4)


def _arctan_of_inverse(n: int) -> Interval:
    """Enclose arctan(1/n): its series alternates, and each term is cut by less than 3 units."""
    total, power, order, sign = 0, ONE // n, 1, 1
    while power:
        total += sign * (power // order)
        power, order, sign = power // (n * n), order + 2, -sign
    return Interval(total - 2 * order, total + 2 * order)


def sqrt(x: Interval) -> Interval:
    """Enclose √x for x ≥ 0."""
    return Interval(isqrt(max(x.low, 0) << BITS), isqrt(max(x.high, 0) << BITS) + 1)


def normal_density(z: Interval) -> Interval:
    """Enclose φ(z) = e^(−z²/2)/√(2π)."""
    return exp(-z * z * of(HALF)) / sqrt(pi().times(2))


def normal_tail(z: Interval) -> Interval:
    """Enclose P[Z > z] of a standard normal Z, by Φ(z) − ½ = φ(z)·Σ z^(2n+1)/(2n + 1)!!, whose terms are positive.

    Beyond 21 it lies between 0 and φ(z)/z.
    """
    if z.low < 0:
        return of(1) - normal_tail(-z) if z.high <= 0 else Interval(0, ONE)
    if z.high > _FAR * ONE:
        return Interval(0, (normal_density(z) / z).high if z.low > 0 else ONE)
    square = z * z
    low, high = z.low, z.high
    total, order = z, 1
    while high > 1 or square.high > order * ONE // 2:
        order += 2
        low, high = (low * square.low >> BITS) // order, -((-high * square.high >> BITS) // order)
        total += Interval(low, high)
    total = Interval(total.low, total.high + 2)
    return of(HALF) - total / (exp(square * of(HALF)) * sqrt(pi().times(2)))

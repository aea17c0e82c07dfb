"""Interval arithmetic with MPFR's directed rounding: the true result surely lies between the two ends.

So a bound from an interval is certain, whatever was rounded on the way: a δ(ε) rounded up is never too small. Every
operation runs in a context of its own, so that a caller's MPFR context changes nothing.

Source: Moore 1966, 'Interval Analysis'; Fousse et al. 2007, 'MPFR: A Multiple-Precision Binary Floating-Point Library
with Correct Rounding'.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import operator
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import Any, TypeAlias

import gmpy2

Number: TypeAlias = "Interval | Rational | Fraction | float | int"

PRECISION = 192
"""The number of significant bits of either end, unless `precision` sets another."""

_precision: ContextVar[int] = ContextVar("precision", default=PRECISION)


@contextlib.contextmanager
def precision(bits: int) -> Iterator[None]:
    """In a `with` block, compute with ends of `bits` bits, for differences in which most bits cancel."""
    before = _precision.set(bits)
    try:
        yield
    finally:
        _precision.reset(before)


@dataclass(frozen=True, slots=True)
class Interval:
    """All numbers from `lower` to `upper`, which are MPFR numbers and may be infinite."""

    lower: Any
    upper: Any

    @classmethod
    def of(cls, number: Number) -> Interval:
        """Return the narrowest interval that holds a number. A float stands for its exact value.

        Raises:
            ValueError: the number is NaN.
        """
        if isinstance(number, Interval):
            return number
        if isinstance(number, float):
            if math.isnan(number):
                raise ValueError("an interval cannot hold NaN")
            exact: Any = gmpy2.mpq(number) if math.isfinite(number) else number
        else:
            exact = gmpy2.mpq(number)
        return _enclosed(gmpy2.mpfr, (exact,), (exact,))

    @classmethod
    def hull(cls, *numbers: Number) -> Interval:
        """Return the narrowest interval that holds all of the numbers and intervals."""
        enclosed = [cls.of(number) for number in numbers]
        return cls(min(interval.lower for interval in enclosed), max(interval.upper for interval in enclosed))

    def __neg__(self) -> Interval:
        return _enclosed(operator.neg, (self.upper,), (self.lower,))

    def __add__(self, other: Number) -> Interval:
        addend = Interval.of(other)
        return _enclosed(gmpy2.add, (self.lower, addend.lower), (self.upper, addend.upper))

    def __sub__(self, other: Number) -> Interval:
        return self + (-Interval.of(other))

    def __mul__(self, other: Number) -> Interval:
        factor = Interval.of(other)
        if self.lower >= 0 and factor.lower >= 0:  # as below, by two products instead of eight
            return _enclosed(_product, (self.lower, factor.lower), (self.upper, factor.upper))
        ends = list(itertools.product((self.lower, self.upper), (factor.lower, factor.upper)))
        return Interval.hull(*(_enclosed(_product, pair, pair) for pair in ends))

    def __truediv__(self, other: Number) -> Interval:
        divisor = Interval.of(other)
        if divisor.lower <= 0 <= divisor.upper:
            raise ZeroDivisionError(f"the divisor {divisor} may be 0")
        return self * _enclosed(gmpy2.div, (1, divisor.upper), (1, divisor.lower))

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: Number) -> Interval:
        return Interval.of(other) - self

    def __rtruediv__(self, other: Number) -> Interval:
        return Interval.of(other) / self

    def __str__(self) -> str:
        return f"[{self.below()!r}, {self.above()!r}]"

    def exp(self) -> Interval:
        """Return e^x."""
        return self._increasing(gmpy2.exp)

    def log1p(self) -> Interval:
        """Return ln(1 + x), for x above −1."""
        return self._increasing(gmpy2.log1p)

    def log(self) -> Interval:
        """Return ln(x), with ln(0) = −∞.

        Raises:
            ValueError: the interval holds negative numbers.
        """
        return self._increasing(gmpy2.log, "logarithm")

    def sqrt(self) -> Interval:
        """Return √x.

        Raises:
            ValueError: the interval holds negative numbers.
        """
        return self._increasing(gmpy2.sqrt, "square root")

    def power(self, exponent: Number) -> Interval:
        """Return x^y for x ≥ 0 and y = `exponent`; y must be above 0 if x may be 0.

        Raises:
            ValueError: the interval holds negative numbers.
        """
        if self.upper == 0:
            return self
        return (self.log() * exponent).exp()

    def normal_tail(self) -> Interval:
        """Return the probability that a standard normal variable exceeds x."""
        shrunk = self / Interval.of(2).sqrt()
        return _enclosed(gmpy2.erfc, (shrunk.upper,), (shrunk.lower,)) * 0.5

    def below(self) -> float:
        """Return the largest double that is at most every number in the interval."""
        nearest = float(self.lower)
        return math.nextafter(nearest, -math.inf) if nearest > self.lower else nearest

    def above(self) -> float:
        """Return the smallest double that is at least every number in the interval."""
        nearest = float(self.upper)
        return math.nextafter(nearest, math.inf) if nearest < self.upper else nearest

    def _increasing(self, function: Callable[..., Any], of_positive: str = "") -> Interval:
        if of_positive and self.lower < 0:
            raise ValueError(f"{self} holds negative numbers, which have no {of_positive}")
        return _enclosed(function, (self.lower,), (self.upper,))


def _enclosed(function: Callable[..., Any], low: tuple[Any, ...], high: tuple[Any, ...]) -> Interval:
    """Return the interval from `function(*low)`, rounded down, to `function(*high)`, rounded up."""
    with gmpy2.context(precision=_precision.get(), round=gmpy2.RoundDown):
        lower = function(*low)
    with gmpy2.context(precision=_precision.get(), round=gmpy2.RoundUp):
        return Interval(lower, function(*high))


def _product(left: Any, right: Any) -> Any:
    """Return left·right, with 0·∞ = 0 because an infinite end only bounds finite numbers."""
    return gmpy2.mpfr(0) if left == 0 or right == 0 else gmpy2.mul(left, right)

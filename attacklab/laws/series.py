"""Masses by counted work, as power series: the coefficient of z^n is the mass of the runs that did n units of work.

Work adds up where masses multiply, so a run's series is the product of the series of its calls. If the rejected rounds
of a rejection loop have the series R, all its rounds sum up to 1/(1 − R). Coefficients are integers in units of
2^−bits, rounded down: a series never claims mass that is not there, and what rounding loses is unresolved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

from gmpy2 import mpq, mpz


class Series:
    """A power series with finitely many terms, none of them negative.

    Args:
        start: the power of the first coefficient.
        coefficients: in units of 2^−bits, where `bits` is that of the arithmetic.
    """

    __slots__ = ("coefficients", "start")

    def __init__(self, start: int, coefficients: Iterable[int]) -> None:
        self.start = start
        self.coefficients = tuple(coefficients)

    @classmethod
    def of(cls, terms: Mapping[int, int]) -> Series:
        """The series with the given powers and coefficients."""
        powers = [power for power, coefficient in terms.items() if coefficient]
        if not powers:
            return cls(0, ())
        return cls(min(powers), (terms.get(power, 0) for power in range(min(powers), max(powers) + 1)))

    @property
    def terms(self) -> dict[int, int]:
        """Power → coefficient, for the coefficients that are not 0."""
        return {self.start + i: c for i, c in enumerate(self.coefficients) if c}


class SeriesArithmetic:
    """Products and geometric series with coefficients in units of 2^−bits.

    Args:
        bits: the resolution.
        terms: the most terms of a geometric series.
    """

    def __init__(self, bits: int, terms: int) -> None:
        self.bits = bits
        self._terms = terms
        self.one = Series(0, (1 << bits,))
        #: Runs that begin alike share products, so these are cached, by the identity of their factors.
        self.times: Callable[[Series, Series], Series] = lru_cache(maxsize=1 << 14)(self.product)

    def masses(self, series: Series) -> Iterator[tuple[int, mpq]]:
        """The powers, with their coefficients as rational numbers."""
        return ((power, mpq(coefficient, 1 << self.bits)) for power, coefficient in series.terms.items())

    def product(self, a: Series, b: Series) -> Series:
        """The product, by one multiplication of integers that hold the coefficients side by side."""
        count = len(a.coefficients) + len(b.coefficients) - 1
        if not (a.coefficients and b.coefficients):
            return Series(0, ())
        width = (2 * self.bits + count.bit_length()) // 8 + 1
        product = int(_packed(a, width) * _packed(b, width)).to_bytes(width * count, "little")
        return Series(
            a.start + b.start,
            (int.from_bytes(product[i : i + width], "little") >> self.bits for i in range(0, len(product), width)),
        )

    def geometric(self, ratio: Series) -> Series:
        """The sum 1 + R + R² + …, until its coefficients are 0 or the number of terms is reached."""
        terms = ratio.terms
        rest = (1 << self.bits) - terms.pop(0, 0)
        coefficients = [(1 << (2 * self.bits)) // rest]
        longest = max(terms, default=0)
        since_last = 0
        while since_last < longest and len(coefficients) < self._terms:
            n = len(coefficients)
            following = sum(c * coefficients[n - power] for power, c in terms.items() if power <= n) // rest
            coefficients.append(following)
            since_last = 0 if following else since_last + 1
        return Series(0, coefficients)


def _packed(series: Series, width: int) -> mpz:
    return mpz(int.from_bytes(b"".join(c.to_bytes(width, "little") for c in series.coefficients), "little"))

"""True samplers that look at their draws in the ways of numeric code: thresholds of many types, tables, order, bytes.

All answer by randomized response that lies with probability exactly 1/4 unless a docstring says otherwise; that needs
ε = ln 3 = 1.0986… of a claimed 1.1.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np

from attacklab.random_bits import RandomBits
from tests.attacklab.laws.zoo.case import RESPONSE, Case, HandLaw, Sampler
from tests.attacklab.laws.zoo.numbers import CONVERSIONS

_THRESHOLDS: dict[str, Any] = {
    "float": 64.0,
    "fraction": Fraction(129, 2) - Fraction(1, 2),
    "decimal": Decimal("6.40E+1"),
    "numpy_float": np.float64(64),
    "numpy_float32": np.float32(64),
    "numpy_integer": np.int16(64),
    "long_double": np.longdouble(64),
    "mpz": gmpy2.mpz(64),
    "mpq": gmpy2.mpq(127, 2),
    "mpfr": gmpy2.mpfr("63.5"),
}
"""Draws of 8 bits are below each of these if they are below 64."""


def _threshold(threshold: Any, told: str) -> Callable[[], Sampler]:
    def make() -> Sampler:
        return lambda secret, bits: secret ^ bool(bits.take(8) < threshold)

    make.__doc__ = f"A draw of 8 bits is compared with 64 as {told}; no rounding moves the bound."
    return make


def _conversion(convert: Callable[[Any], Any], told: str) -> Callable[[], Sampler]:
    def make() -> Sampler:
        return lambda secret, bits: secret ^ bool(convert(bits.take(8)) < 64)

    make.__doc__ = f"A draw of 8 bits is converted ({told}), which keeps its value, and compared with 64."
    return make


_CONVERTED = ("int", "f_string", "to_bytes", "numpy_scalar", "fraction", "list_index", "divmod", "json")


def uniform_of_53_bits() -> Sampler:
    """`take(53) * 2^-53 < 0.25`, as most libraries have it; the product is exact.

    Every multiple of 2^-53 below 1/4 lies, which is a quarter of them.
    """

    def sampler(secret: int, bits: RandomBits) -> int:
        return secret ^ (bits.take(53) < 0.25 * 2.0**53)

    return sampler


def infinite_and_undefined_bounds() -> Sampler:
    """Bounds of clamping default to infinities, and a missing one is NaN; no draw is outside."""

    def sampler(secret: int, bits: RandomBits) -> int:
        draw = bits.take(4)
        is_outside = draw < -math.inf or draw > math.inf or draw > math.nan or draw >= Decimal("Infinity")
        return secret ^ (is_outside or draw < 4)

    return sampler


def two_draws_compared() -> Sampler:
    """Two draws of two bits: lies if they are equal, with probability 4/16, told by `<`, `>` and `==`."""

    def sampler(secret: int, bits: RandomBits) -> int:
        first, second = bits.take(2), bits.take(2)
        is_apart = first < second or first > second
        return secret ^ (not is_apart and first == second)

    return sampler


def order_statistics() -> Sampler:
    """The largest of two draws of three bits is in the lower half with probability 1/4; sorted, min and max agree."""

    def sampler(secret: int, bits: RandomBits) -> int:
        draws = [bits.take(3), bits.take(3)]
        low, high = sorted(draws)
        return secret ^ (max(draws) < 4 and min(low, high) <= high)

    return sampler


def bisected_uniform() -> Sampler:
    """`bisect` looks a draw of 16 bits up in cumulative thresholds; the first of four equal bins lies."""
    bounds = [1 << 14, 1 << 15, 3 << 14]
    return lambda secret, bits: secret ^ (bisect.bisect_right(bounds, bits.take(16)) == 0)


def chained_comparison() -> Sampler:
    """`16 <= draw < 32` of a draw of 6 bits lies: 16 of 64."""
    return lambda secret, bits: secret ^ (16 <= bits.take(6) < 32)


def membership() -> Sampler:
    """`draw in range`, in a set and in a tuple: 1, 3 and 5, and 7 of 16 lie."""

    def sampler(secret: int, bits: RandomBits) -> int:
        draw = bits.take(4)
        return secret ^ (draw in range(1, 4, 2) or draw in {5} or draw in (7,))

    return sampler


def mask_and_shift() -> Sampler:
    """The upper two of five bits, by shift and mask, lie if both are 0."""
    return lambda secret, bits: secret ^ (bits.take(5) >> 3 & 3 == 0)


def truth_value() -> Sampler:
    """`not bits.take(2)` lies."""
    return lambda secret, bits: secret ^ (not bits.take(2))


def value_patterns() -> Sampler:
    """A match statement on values, with a guard: 0 of 4 lies."""

    def sampler(secret: int, bits: RandomBits) -> int:
        match bits.take(2):
            case 0:
                return 1 - secret
            case draw if draw > 2:
                return secret
            case 1 | 2:
                return secret
        raise AssertionError("two bits are below 4")

    return sampler


def top_byte_of_two() -> Sampler:
    """Eleven bits by `take(11)` and a lookup of the top byte in `bytes`: 64 of 256 lie."""
    table = bytes(int(number >= 192) for number in range(256))
    return lambda secret, bits: secret ^ table[bits.take(11) >> 3]


def numpy_outputs() -> Sampler:
    """Both inputs give np.int64, as `np.sign` and its like do; the laws have the same type."""
    return lambda secret, bits: np.int64(secret ^ (bits.take(2) == 0))


def float_outputs_with_negative_zero() -> Sampler:
    """Response times −1.0: both inputs give −0.0 and −1.0."""
    return lambda secret, bits: -1.0 * (secret ^ (bits.take(2) == 0))


def uniform_output() -> Sampler:
    """The answer plus a draw of 4 bits modulo 16, a one-time pad: both laws are uniform, ε = 0."""
    return lambda secret, bits: (secret + bits.take(4)) % 16


def high_precision_threshold() -> Sampler:
    """A draw of 200 bits against the Fraction 2^198 + 1/3, which no float holds.

    2^198 + 1 of the 2^200 draws lie below it: a lie has probability 1/4 + 2^-200, and ε is a little below ln 3.
    """
    bound = Fraction(3 * (1 << 198) + 1, 3)
    return lambda secret, bits: secret ^ (bits.take(200) < bound)


_UNIFORM: HandLaw = {number: Fraction(1, 16) for number in range(16)}
_ABOVE: tuple[HandLaw, HandLaw] = (
    {0: Fraction(3, 4) - Fraction(1, 1 << 200), 1: Fraction(1, 4) + Fraction(1, 1 << 200)},
    {0: Fraction(1, 4) + Fraction(1, 1 << 200), 1: Fraction(3, 4) - Fraction(1, 1 << 200)},
)


def _mapped(form: Callable[[int], Any]) -> tuple[HandLaw, HandLaw]:
    first, second = ({form(output): mass for output, mass in law.items()} for law in RESPONSE)
    return first, second


CASES = (
    *(
        Case(make=_threshold(threshold, name), name=f"threshold_of_{name}", laws=RESPONSE)
        for name, threshold in _THRESHOLDS.items()
    ),
    *(Case(make=_conversion(CONVERSIONS[name], name), name=f"value_by_{name}", laws=RESPONSE) for name in _CONVERTED),
    *(
        Case(make=make, laws=RESPONSE)
        for make in (
            uniform_of_53_bits,
            infinite_and_undefined_bounds,
            two_draws_compared,
            order_statistics,
            bisected_uniform,
            chained_comparison,
            membership,
            mask_and_shift,
            truth_value,
            value_patterns,
            top_byte_of_two,
        )
    ),
    Case(make=numpy_outputs, laws=_mapped(np.int64)),
    Case(make=float_outputs_with_negative_zero, laws=_mapped(lambda output: -1.0 * output)),
    Case(make=uniform_output, laws=(_UNIFORM, _UNIFORM), epsilon=0.1),
    Case(make=high_precision_threshold, laws=_ABOVE),
)

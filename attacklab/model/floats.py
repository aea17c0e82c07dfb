"""The properties of binary floating point that attacks rely on, and a check that this process has them.

Source: IEEE 754-2019; bfloat16 as in the ml_dtypes package. Some libraries compiled with -ffast-math switch a whole
process to flush-to-zero when they are loaded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attacklab.model.errors import ArithmeticModeError

Floats: TypeAlias = NDArray[np.floating[Any]]
Doubles: TypeAlias = NDArray[np.float64]

default_errors = np.errstate(divide="warn", over="warn", under="ignore", invalid="warn")
"""Decorator for the lab's own functions: numpy's default error handling, whatever a target set by `numpy.seterr`."""

LARGEST_TIE_POWER = 62
"""The largest exponent of a tie's leading bit, so that ties fit in a signed 64-bit integer."""


@dataclass(frozen=True, slots=True)
class Format:
    """A binary floating-point format.

    Attributes:
        name: the name in IEEE 754, or the usual name.
        significand_bits: p, the number of significant bits.
        least_exponent: the exponent of the least normal number.
    """

    name: str
    significand_bits: int
    least_exponent: int

    @property
    def underflow_nats(self) -> float:
        """The x above which e^−x rounds to zero, because it is less than half the least subnormal number."""
        return (self.significand_bits - self.least_exponent) * math.log(2)

    @property
    def carrier(self) -> np.dtype[np.floating[Any]]:
        """The numpy type for the format's numbers: the format itself, or the narrowest type with its exponents."""
        return np.dtype({-14: "f2", -126: "f4", -1022: "f8"}[self.least_exponent])

    @property
    def greatest_exponent(self) -> int:
        """The exponent of the largest power of two in the format."""
        return 1 - self.least_exponent

    @property
    def least(self) -> float:
        """The least number of the format greater than 0, which is subnormal."""
        return math.ldexp(1.0, self.least_exponent - self.significand_bits + 1)

    def rounded(self, values: NDArray[Any]) -> Floats:
        """Return values rounded to the format, ties to even, in the carrier's type.

        Values are rounded to the carrier first. Even so, a sum, difference, product, quotient or root of the format's
        numbers is rounded as if only once, because the carrier has more than twice as many bits (Figueroa 1995).
        """
        carried: Floats
        if self.significand_bits == 53:
            carried = np.asarray(values, dtype=np.float64)
            return carried
        with np.errstate(over="ignore"):
            carried = np.asarray(values).astype(self.carrier, copy=False)
        if not self._spare_bits:
            return carried
        word, shift = self._word, self._word.type(self._spare_bits)
        bits, one = carried.view(word), word.type(1)
        below_half = (one << (shift - one)) - one
        nearest = (bits + below_half + (bits >> shift & one)) >> shift << shift
        return np.where(np.isnan(carried), carried, nearest.view(self.carrier))

    def next_above(self, values: Floats) -> Floats:
        """Return the next larger numbers of the format. `values` must be numbers of it, in the carrier's type."""
        with np.errstate(over="ignore"):
            above: Floats = np.nextafter(values, values.dtype.type(np.inf))
        if not self._spare_bits:
            return above
        # Upwards is away from 0 for positive numbers; for negative ones, cutting off bits moves up.
        word, shift = self._word, self._word.type(self._spare_bits)
        all_spare = word.type((1 << self._spare_bits) - 1)
        upwards = (above.view(word) + np.where(np.signbit(above), word.type(0), all_spare)) >> shift << shift
        return np.where(np.isfinite(above), upwards.view(self.carrier), above)

    def next_below(self, values: Floats) -> Floats:
        """Return the next smaller numbers of the format. `values` must be numbers of it, in the carrier's type."""
        below: Floats = -self.next_above(-values)
        return below

    def at_most(self, value: float) -> float:
        """Return the largest number of the format that is at most `value`, a double."""
        nearest = self.rounded(np.array([value]))
        return float(nearest[0]) if float(nearest[0]) <= value else float(self.next_below(nearest)[0])

    @property
    def _spare_bits(self) -> int:
        """The number of last bits of the carrier that are 0 in every number of the format."""
        return int(np.finfo(self.carrier).nmant) + 1 - self.significand_bits

    @property
    def _word(self) -> np.dtype[np.unsignedinteger[Any]]:
        """The numpy type of unsigned integers as wide as the carrier."""
        return np.dtype(f"u{self.carrier.itemsize}")


BINARY64 = Format("binary64", 53, -1022)
BINARY32 = Format("binary32", 24, -126)
BINARY16 = Format("binary16", 11, -14)
BFLOAT16 = Format("bfloat16", 8, -126)
FORMATS = (BINARY64, BINARY32, BINARY16, BFLOAT16)
TF32 = Format("TF32", 11, -126)

MOST_ROUNDED_BITS = 25
"""The largest p for which a sum rounded to a double, and then to p bits, equals the sum rounded once to p bits."""


def format_of_bits(significand_bits: int, greatest: float) -> Format | None:
    """Return the format of numbers with p significant bits.

    Args:
        significand_bits: p.
        greatest: the largest magnitude among the numbers.

    Returns:
        The standard format with p bits that holds `greatest`, or else a format with the exponents of doubles. None if
        doubles cannot compute the arithmetic of that format.
    """
    for form in (BINARY16, BFLOAT16, TF32, BINARY32, BINARY64):
        if form.significand_bits == significand_bits and greatest < 2.0**form.greatest_exponent * 2:
            return form
    if significand_bits > MOST_ROUNDED_BITS:
        return None
    return Format(f"floats of {significand_bits} significant bits", significand_bits, BINARY64.least_exponent)


def format_of(outputs: NDArray[Any]) -> Format:
    """Return the format of outputs.

    Args:
        outputs: an array with enough outputs that not all end in 16 zero bits by chance.

    Returns:
        The format of their type; bfloat16 if the type is binary32 and all outputs are bfloat16 numbers, because numpy
        has no type for these; binary64 if they are not an array of floats.
    """
    by_type = {np.dtype(np.float32): BINARY32, np.dtype(np.float16): BINARY16}.get(outputs.dtype, BINARY64)
    if by_type is BINARY32 and np.array_equal(BFLOAT16.rounded(outputs), outputs):
        return BFLOAT16
    return by_type


def power_of_two_within(value: float) -> float:
    """Return the largest power of two that is at most `value`, which is above 0.

    It is computed from the exponent, because log2 of a number just below a power of two may round up.
    """
    return math.ldexp(1.0, math.frexp(value)[1] - 1)


def tie_between_floats(form: Format, wanted: float) -> int:
    """Return an integer below 2^63 halfway between two neighbouring numbers of a format, both integers.

    Args:
        form: the format.
        wanted: the least distance of the two neighbours. If no two below 2^63 are that far apart, the distance is as
            large as possible.
    """
    bits, largest = form.significand_bits, min(form.greatest_exponent, LARGEST_TIE_POWER)
    power = min(max(bits + 1, bits - 1 + math.ceil(math.log2(wanted))), largest)
    return (1 << power) + (1 << power - bits)


def half_ulp(values: Doubles, form: Format = BINARY64) -> Doubles:
    """Return half the distance from |value| to the next number of a format: the most that rounding moves a sum.

    It is 0 for subnormal doubles, whose sums are exact, and infinite for the largest double.
    """
    if form is BINARY64:
        with np.errstate(all="ignore"):
            return np.spacing(np.abs(np.asarray(values, dtype=np.float64))) / 2
    exponents = np.frexp(np.maximum(np.abs(values), 2.0**form.least_exponent))[1] - 1
    return np.where(np.isfinite(values), np.ldexp(0.5, exponents - form.significand_bits + 1), np.nan)


def require_ieee_arithmetic() -> None:
    """Check that this process rounds to nearest, ties to even, and does not flush to zero.

    Raises:
        ArithmeticModeError: it does one of these; the message says which.
    """
    least_normal, one, half_ulp_of_one = np.array([2.0**-1022, 1.0, 2.0**-53])
    if (least_normal / 2) * 2 != least_normal:
        raise ArithmeticModeError(
            "this process flushes subnormal numbers to zero; do not load the library that switched it on "
            "(often one built with -ffast-math)"
        )
    if one + half_ulp_of_one != 1 or one + 1.5 * half_ulp_of_one != 1 + 2.0**-52:
        raise ArithmeticModeError("this process does not round to nearest, ties to even; reset its rounding mode")

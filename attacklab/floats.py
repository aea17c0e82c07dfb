"""Facts about binary floating point that attacks rest on, and a check that this process still keeps them.

Source: IEEE 754-2019; bfloat16 as in the ml_dtypes package. Libraries compiled with -ffast-math have been found to
switch a whole process to flush-to-zero when they are loaded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Format:
    """A binary floating-point format: p significant bits and the least exponent of a normal number."""

    name: str
    significand_bits: int
    least_exponent: int

    @property
    def underflow_nats(self) -> float:
        """The x above which e^−x rounds to zero: half the least subnormal number."""
        return (self.significand_bits - self.least_exponent) * math.log(2)


BINARY64 = Format("binary64", 53, -1022)
BINARY32 = Format("binary32", 24, -126)
BINARY16 = Format("binary16", 11, -14)
BFLOAT16 = Format("bfloat16", 8, -126)
FORMATS = (BINARY64, BINARY32, BINARY16, BFLOAT16)


class ArithmeticModeError(Exception):
    """This process does not compute as IEEE 754 says, so no finding of it would mean anything."""


def half_ulp(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Half the distance from |value| to the next larger double: how far rounding moves a sum at the most.

    That is 0 for subnormal numbers, where sums are exact.
    """
    return np.spacing(np.abs(values)) / 2


def require_ieee_arithmetic() -> None:
    """Probe for flush-to-zero and for a rounding mode other than to nearest, ties to even.

    Raises:
        ArithmeticModeError: one of them is on; the message says which.
    """
    least_normal, one, half_ulp_of_one = np.array([2.0**-1022, 1.0, 2.0**-53])
    if (least_normal / 2) * 2 != least_normal:
        raise ArithmeticModeError("subnormal numbers are flushed to zero in this process")
    if one + half_ulp_of_one != 1 or one + 1.5 * half_ulp_of_one != 1 + 2.0**-52:
        raise ArithmeticModeError("this process does not round to nearest, ties to even")

"""A probe of the arithmetic that every proof about doubles here rests on: IEEE 754, to nearest, with subnormal numbers.

The mode belongs to the thread. A library may switch it when it is loaded (flush-to-zero, by -ffast-math) or leave it
switched (a rounding mode). Doubles then differ from the ones that the proofs speak of, and by how much depends on the
data. MPFR, integers and rationals do not depend on it.
"""

from __future__ import annotations

_ONE = 1.0
_HALF_ULP = 2.0**-53
_LEAST_NORMAL = 2.0**-1022


def require_ieee_arithmetic() -> None:
    """Check the mode of this thread; it takes less than a microsecond, and the data have no part in it.

    Raises:
        ArithmeticError: this thread flushes subnormal numbers to zero, or does not round to nearest, ties to even.
    """
    if _LEAST_NORMAL / 2 * 2 != _LEAST_NORMAL:
        raise ArithmeticError(
            "this thread flushes subnormal numbers to zero, and no mechanism here is proved for that; do not load the "
            "library that switched it on (often one built with -ffast-math), or release in another process"
        )
    if _ONE + _HALF_ULP != 1 or _ONE + 1.5 * _HALF_ULP != 1 + 2.0**-52:
        raise ArithmeticError(
            "this thread does not round to nearest, ties to even, and no mechanism here is proved for that; "
            "reset its rounding mode (in C, fesetround(FE_TONEAREST)) before a release"
        )

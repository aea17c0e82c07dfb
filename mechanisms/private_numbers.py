"""Private numbers, however they are written, as exact numbers: equal values are read as equal, and no value raises.

This is the one place where mechanisms read what comes from a database. A number may be an integer, float, Fraction or
Decimal, numpy's or gmpy2's, a bool (0 or 1), or any of these in an array without dimensions; a vector of them may be a
list, a tuple or an array of any numeric type and layout. Each is read on its own, as the value that it is. If numpy
chose a format for a whole list, an integer beside a float would be rounded, and one record would change how another
is read.

- What is missing (None, a masked element) counts as NaN. What a NaN counts as, each mechanism says.
- A number of 2^65536 or more in modulus counts as infinite, in whatever type: Decimal writes 10^(10^18) in a few bytes,
  and nothing could hold it. One whose denominator has more than 65,536 bits is rounded down to a multiple of 2^−65535.
  Rounding it down once more, to a coarser power of two, gives what rounding down the number itself would; otherwise
  two such numbers can be read 2^−65535 further apart than they are.
- A refusal depends on types and shapes, which the code that computes an answer decides and not the data.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational
from types import NoneType
from typing import Any, TypeAlias

import gmpy2
import numpy as np
from gmpy2 import mpq, mpz
from numpy.typing import ArrayLike, NDArray

from mechanisms.arithmetic import require_ieee_arithmetic

PrivateNumber: TypeAlias = float | Fraction | Decimal
"""The types of a private number that type checkers know; the module's docstring has the others."""

PrivateNumbers: TypeAlias = ArrayLike | Iterable[PrivateNumber]

Extended: TypeAlias = Any
"""An exact number (mpq), or a float that is infinite or NaN."""

REACH_BITS = 1 << 16
"""The bits of the largest number, and of the largest denominator, that count as what they are."""

_FINEST = mpq(1, mpz(1) << (REACH_BITS - 1))

_NUMBERS = (Rational, float, np.floating, np.bool_, Decimal, gmpy2.mpfr, NoneType)
_EXACT_INTEGERS = 1 << 53


def exact_number(name: str, value: PrivateNumber) -> Extended:
    """Read one number.

    Args:
        name: how an error message names it.
        value: the number.

    Returns:
        It exactly (mpq), or a float that is infinite or NaN.

    Raises:
        TypeError: `value` is not a number, by its type.
        ValueError: `value` is an array with dimensions.
        ArithmeticError: see `require_ieee_arithmetic`.
    """
    require_ieee_arithmetic()
    return _extended(_checked(name, value))


def exact_integer(name: str, value: int) -> int | None:
    """Read one number whose type has integers only; None if it is missing.

    Raises:
        TypeError: `value` is not an integer, by its type.
        ValueError: `value` is an array with dimensions.
    """
    bare = _checked(name, value)
    if bare is None:
        return None
    if not isinstance(bare, Integral | np.bool_):
        raise TypeError(f"{name} must be of a type of integers, not {type(bare).__name__}")
    return int(bare)


def exact_numbers(
    name: str, values: PrivateNumbers, *, signalling: bool = False
) -> NDArray[np.float64] | list[Extended]:
    """Read a vector of numbers.

    Args:
        name: how an error message names it.
        values: numbers, shape (n,).
        signalling: whether NaNs may stay as they are where `values` is an array of doubles; see `quiet`.

    Returns:
        Doubles, shape (n,), where they are exact; otherwise a list, each element as `exact_number` reads it. Do not
        write to the array, which may be the caller's.

    Raises:
        TypeError: an element is not a number, by its type.
        ValueError: `values` is not one-dimensional.
        ArithmeticError: see `require_ieee_arithmetic`.
    """
    require_ieee_arithmetic()
    if type(values) is np.ndarray and values.dtype == np.float64 and values.ndim == 1:
        return values if signalling else quiet(values)
    if hasattr(values, "__array__"):
        array = np.asanyarray(values)
        if array.ndim != 1:
            raise ValueError(f"{name} must be one-dimensional, not of shape {array.shape}")
        if array.dtype != object:
            return _of_array(name, array)
        return _of_elements(name, array.tolist())
    if isinstance(values, str | bytes):
        raise TypeError(f"{name} must be numbers, not {type(values).__name__}")
    if not isinstance(values, Iterable):
        raise ValueError(f"{name} must be one-dimensional, not a single {type(values).__name__}")
    return _of_elements(name, list(values))


def doubles(name: str, values: PrivateNumbers) -> NDArray[np.float64]:
    """Read a vector of numbers and round each to the nearest double, ties to even, as a function of itself alone.

    Args:
        name: how an error message names it.
        values: numbers, shape (n,).

    Returns:
        Doubles, shape (n,), not to be written to; numbers that round beyond the largest are infinite.

    Raises:
        TypeError, ValueError, ArithmeticError: as `exact_numbers`.
    """
    exact = exact_numbers(name, values)
    return exact if isinstance(exact, np.ndarray) else nearest_doubles(exact)


def nearest_doubles(numbers: Iterable[Extended]) -> NDArray[np.float64]:
    """Round each number to the nearest double, ties to even."""
    return np.fromiter(map(_nearest_double, numbers), dtype=np.float64)


def clamped(number: Extended, lower: mpq, upper: mpq, *, missing: mpq) -> mpq:
    """Return the number in [lower, upper] that is nearest to a given one, and `missing` for NaN.

    NaN has to count as some number, because an error would tell that it was there.
    """
    if isinstance(number, float):
        return missing if math.isnan(number) else upper if number > 0 else lower
    return min(max(number, lower), upper)


def _checked(name: str, value: Any) -> Any:
    """Take a number out of arrays without dimensions, and check its type; None if it is masked."""
    while isinstance(value, np.ndarray) and not value.ndim:
        value = None if np.ma.is_masked(value) else value[()]
    if isinstance(value, list | tuple | np.ndarray):
        raise ValueError(f"{name} must be one-dimensional at most: a {type(value).__name__} stands for a number")
    if not isinstance(value, _NUMBERS) or isinstance(value, np.timedelta64):
        raise TypeError(f"{name} must be a float or a rational number, not {type(value).__name__}")
    return value


def _extended(value: Any) -> Extended:
    """Read a number whose type has been checked."""
    if isinstance(value, float):
        return mpq(float(value)) if math.isfinite(value) else _special(value)
    if value is None:
        return math.nan
    if isinstance(value, Rational):
        return _within_reach(mpq(int(value.numerator), int(value.denominator)))
    if isinstance(value, np.bool_):
        return mpq(int(value))
    if isinstance(value, Decimal):
        return _of_decimal(value)
    if isinstance(value, np.floating):
        with np.errstate(all="ignore"):  # a signalling NaN would be an event
            return mpq(*value.as_integer_ratio()) if np.isfinite(value) else _special(float(value))
    if not gmpy2.is_finite(value):
        return math.nan if gmpy2.is_nan(value) else math.copysign(math.inf, gmpy2.sign(value))
    mantissa, exponent = value.as_mantissa_exp()
    return _scaled(mantissa, 2, int(exponent))


def _special(value: float) -> float:
    return math.nan if math.isnan(value) else value


def _of_decimal(value: Decimal) -> Extended:
    """Read a Decimal without an operation of its own, since these raise as the caller's context says."""
    sign, digits, exponent = value.as_tuple()
    if exponent == "F":
        return -math.inf if sign else math.inf
    if not isinstance(exponent, int):
        return math.nan
    whole = mpz("".join(map(str, digits)))
    return _scaled(-whole if sign else whole, 10, exponent)


def _scaled(whole: mpz, base: int, exponent: int) -> Extended:
    """Return whole·base^exponent, without computing a power that lies beyond reach."""
    if not whole:
        return mpq(0)
    whole, trailing = gmpy2.remove(whole, base)
    exponent += trailing
    if exponent > REACH_BITS:
        return math.inf if whole > 0 else -math.inf
    if whole.num_digits(base) + exponent < -REACH_BITS:
        return mpq(0) if whole > 0 else -_FINEST
    power = mpz(base) ** abs(exponent)
    return _within_reach(mpq(whole * power) if exponent >= 0 else mpq(whole, power))


def _within_reach(number: mpq) -> Extended:
    if number.denominator.bit_length() > REACH_BITS:
        number = number // _FINEST * _FINEST
    if abs(number.numerator) >= number.denominator << REACH_BITS:
        return math.inf if number > 0 else -math.inf
    return number


def _nearest_double(number: Extended) -> float:
    if isinstance(number, float):
        return number
    try:
        return int(number.numerator) / int(number.denominator)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _of_array(name: str, array: NDArray[Any]) -> NDArray[np.float64] | list[Extended]:
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be numbers, not an array of {array.dtype}")
    data, mask = np.ma.getdata(array), np.ma.getmask(array)
    with np.errstate(all="ignore"):  # a signalling NaN or an overflow would be an event
        found = np.asarray(data).astype(np.float64, copy=mask is not np.ma.nomask)
        if not _are_doubles(data, found):
            return [_extended(value) for value in array.tolist()]
    if mask is not np.ma.nomask:
        found[mask] = math.nan
    return quiet(found)


def quiet(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """Make every NaN the same one: of a number and a signalling NaN, fmax takes the NaN."""
    nans = np.isnan(array)
    return np.where(nans, math.nan, array) if nans.any() else array


def _are_doubles(given: NDArray[Any], found: NDArray[np.float64]) -> bool:
    kind, size = given.dtype.kind, given.dtype.itemsize
    if kind == "b" or size < 8 or (kind == "f" and size == 8) or not given.size:
        return True
    if kind in "iu":
        return int(given.min()) >= -_EXACT_INTEGERS and int(given.max()) <= _EXACT_INTEGERS
    return bool(((found == given) | np.isnan(given)).all())


def _of_elements(name: str, elements: list[Any]) -> NDArray[np.float64] | list[Extended]:
    types = set(map(type, elements))
    if types <= {float, np.float64}:
        return quiet(np.array(elements, dtype=np.float64))
    if types <= {float, np.float64, int}:
        try:
            found = np.array(elements, dtype=np.float64)
        except OverflowError:
            found = np.full(len(elements), math.nan)
        if all(map(operator.eq, elements, found.tolist())):
            return found
    bare = [_checked(name, element) for element in elements]
    return [_extended(value) for value in bare]

"""What a mechanism accepts as a number: Python's and numpy's integers, truth values and floats, and fractions.

Each stands for its exact rational value. Any other type raises an error that names the type alone, so that no error
tells what a private number was. NaN and infinities are accepted, and `clamped` brings them into a public range.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Number = int | float | Fraction
"""A number; numpy's integers, floats and truth values are read as Python's."""

Numbers = Iterable[Number] | NDArray[Any]

_FLOATS = (float, np.float64, np.float32)
_INTEGERS = (int, bool, np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
_OF_ARRAYS = frozenset((*_FLOATS, *_INTEGERS))
_LEAST_BEYOND = 1 << 63
_EXACT_INTEGERS = 1 << 53
_LONGEST = 10**4


def exact(name: str, number: Any) -> Fraction | float:
    """Return the exact rational value of a number, or the float itself if it is NaN or infinite."""
    kind = type(number)
    if kind in _FLOATS:
        return Fraction(float(number)) if math.isfinite(number) else float(number)
    if kind in _INTEGERS:
        return Fraction(int(number))
    if kind is Fraction:
        return Fraction(number)
    raise TypeError(f"{name} must be int, float or Fraction, or an integer or double of numpy, not {kind.__name__}")


def vector(name: str, numbers: Any) -> NDArray[Any] | list[Fraction | float]:
    """Read a list of numbers or an array of one dimension.

    Returns:
        For an array, a read-only array of float64, int64 or uint64, perhaps a view of the caller's. For a list of only
        floats or only 64-bit ints, an array of float64 or int64. Otherwise, a list of `exact` numbers.
    """
    if not isinstance(numbers, np.ndarray):
        if isinstance(numbers, str | bytes) or not isinstance(numbers, Iterable):
            raise TypeError(f"{name} must be a list or an array of numbers, not {type(numbers).__name__}")
        listed = list(numbers)
        kinds = set(map(type, listed))
        if kinds and kinds <= set(_FLOATS):
            return np.array(listed, dtype=np.float64)
        if kinds == {int} and -_LEAST_BEYOND <= min(listed) <= max(listed) < _LEAST_BEYOND:
            return np.array(listed, dtype=np.int64)
        return [exact(name, number) for number in listed]
    if numbers.ndim != 1:
        raise ValueError(f"{name} must have one dimension, not {numbers.ndim}")
    plain = np.asarray(numbers)
    if plain.dtype.type not in _OF_ARRAYS:
        raise TypeError(f"{name} must be an array of integers or of doubles, not of {plain.dtype}")
    wide = {"f": np.float64, "u": np.uint64}.get(plain.dtype.kind, np.int64)
    read = plain.astype(wide, copy=False).view()
    read.flags.writeable = False
    return read


def are_doubles(numbers: NDArray[Any]) -> bool:
    """Whether a float64, int64 or uint64 array holds only exact doubles; False if an integer is beyond ±2^53."""
    if numbers.dtype == np.float64 or not numbers.size:
        return True
    return int(numbers.min()) >= -_EXACT_INTEGERS and int(numbers.max()) <= _EXACT_INTEGERS


def within(numbers: NDArray[Any], lower: float, upper: float) -> NDArray[Any]:
    """Return the doubles of an array clamped to [lower, upper]; a NaN of any kind becomes `lower`."""
    with np.errstate(all="ignore"):  # comparing a signalling NaN, such as R's NA, would be an event
        if numbers.size and lower <= numbers.min() <= numbers.max() <= upper:
            return numbers
        return np.where(numbers >= lower, np.minimum(numbers, upper), lower)


def clamped(number: Fraction | float, lower: Fraction, upper: Fraction, *, missing: Fraction) -> Fraction:
    """Return an exact number clamped to [lower, upper]; a NaN becomes `missing`."""
    if number != number:
        return missing
    return Fraction(min(max(number, lower), upper))


def rational(name: str, value: Any) -> Fraction:
    """Return a public parameter as an exact rational; a Decimal is accepted if its exponent is within ±10^4."""
    if type(value) is Decimal and value.is_finite() and abs(value.adjusted()) < _LONGEST:
        value = Fraction(value)
    number = exact(name, value)
    if not isinstance(number, Fraction) or isinstance(value, bool):
        raise ValueError(f"{name} must be a finite number, not {value}")
    return number


def positive(name: str, value: Any) -> Fraction:
    """Return a public parameter as an exact rational; it must be above 0."""
    number = rational(name, value)
    if number <= 0:
        raise ValueError(f"{name} must be above 0, not {value}")
    return number


def count(name: str, value: Any, least: int = 1) -> int:
    """Return a public parameter as an int; it must be an integer, and at least `least`."""
    if type(value) not in _INTEGERS or type(value) in (bool, np.bool_):
        raise TypeError(f"{name} must be an integer, not {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, not {value}")
    return int(value)


def truth(name: str, value: Any) -> bool:
    """Return a public parameter that must be True or False; 0, 1 and numpy's truth values are refused."""
    if type(value) is not bool:
        raise TypeError(f"{name} must be True or False, not {value!r}")
    return value


def convert(term: object, read: Callable[[str, Any], Any], *names: str) -> None:
    """Replace each named field of a frozen dataclass by `read(name, value)`."""
    for name in names:
        object.__setattr__(term, name, read(name, getattr(term, name)))


def failure_probability(value: Any) -> Fraction:
    """Return a mechanism's failure probability δ as an exact rational; it must lie in (0, 1/2]."""
    delta = rational("delta", value)
    if not 0 < delta <= Fraction(1, 2):
        raise ValueError(f"delta must lie in (0, 1/2], not {value}")
    return delta

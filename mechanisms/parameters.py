"""Numbers as exact rationals, and the checks of public parameters."""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Integral, Rational


def exact_rational(name: str, value: float | Fraction) -> Fraction:
    """Take a finite number as the exact rational that it is; a float stands for its binary value.

    Args:
        name: how an error message names it.
        value: a float or a rational number (int, Fraction, and what registers as Rational).

    Raises:
        TypeError: `value` is neither a float nor a rational number.
        ValueError: `value` is NaN or infinite.
    """
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{name} must be finite, not {value}")
        return Fraction(float(value))
    if isinstance(value, Rational) and not isinstance(value, bool):
        return Fraction(int(value.numerator), int(value.denominator))
    raise TypeError(f"{name} must be a float or a rational number, not {type(value).__name__}")


def positive_rational(name: str, value: float | Fraction) -> Fraction:
    """Take a parameter above 0 as an exact rational; see `exact_rational`.

    Raises:
        TypeError: `value` is neither a float nor a rational number.
        ValueError: `value` is NaN, infinite, or not above 0.
    """
    exact = exact_rational(name, value)
    if exact <= 0:
        raise ValueError(f"{name} must be above 0, not {value}")
    return exact


def positive_integer(name: str, value: int) -> int:
    """Take a parameter that counts something.

    Raises:
        TypeError: `value` is not an integer.
        ValueError: `value` is less than 1.
    """
    if not isinstance(value, int):
        raise TypeError(f"{name} must be an integer, not {value!r}")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, not {value}")
    return value


def trial_count(trials: int) -> int:
    """Take a number of trials.

    Raises:
        TypeError: `trials` is not an integer.
        ValueError: `trials` is negative.
    """
    if not isinstance(trials, Integral):
        raise TypeError(f"trials must be an integer, not {trials!r}")
    if trials < 0:
        raise ValueError(f"trials must be at least 0, not {trials}")
    return trials

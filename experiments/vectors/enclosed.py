"""Enclosures of probabilities, short enough for a file: rationals of `BITS` significant bits, rounded outward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from gmpy2 import mpq

from attacklab.laws import Bounds, exp_bounds

BITS = 96


def outward(lower: Any, upper: Any) -> Bounds:
    """The enclosure with both ends rounded outward; exact numbers of few digits stay what they are."""
    exact = mpq(lower)
    if lower == upper and exact.denominator.bit_length() <= 2 * BITS:
        return Bounds(exact, exact)
    return Bounds(_rounded(exact, up=False), _rounded(mpq(upper), up=True))


def _rounded(number: Any, *, up: bool) -> Any:
    if not number:
        return number
    scale = mpq(2) ** (BITS + number.denominator.bit_length() - number.numerator.bit_length())
    scaled = number * scale
    return (-(-scaled // 1) if up else scaled // 1) / scale


def powers_of_e(exponents: Mapping[Any, Fraction]) -> dict[Any, Bounds]:
    """An enclosure of e^x for each outcome's x."""
    return {outcome: exp_bounds(exponent) for outcome, exponent in exponents.items()}


def shares(weights: Mapping[Any, Bounds], rest: Any = 0) -> dict[Any, Bounds]:
    """Enclosures of each weight over the sum of all.

    Args:
        weights: outcome → enclosure of its weight.
        rest: at least the sum of the weights that are not listed.
    """
    least = sum((mpq(lower) for lower, _ in weights.values()), mpq(0))
    most = sum((mpq(upper) for _, upper in weights.values()), mpq(rest))
    return {
        outcome: outward(lower / (most - upper + lower), upper / (least - lower + upper))
        for outcome, (lower, upper) in ((one, map(mpq, ends)) for one, ends in weights.items())
    }


def total(parts: Sequence[Bounds]) -> Bounds:
    """An enclosure of a sum."""
    return Bounds(sum((mpq(one.lower) for one in parts), mpq(0)), sum((mpq(one.upper) for one in parts), mpq(0)))

"""How far the laws of neighbouring inputs differ, in rationals."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from checker.core.certificate import Refused
from checker.enclosures.elementary import exp, ln

BITS = 128
"""To how many bits e^ε is enclosed."""

Masses = Mapping[Any, Fraction]


def greatest_ratio(first: Masses, second: Masses) -> Fraction:
    """Return the greatest ratio of the probabilities of an outcome, either way.

    Raises:
        Refused: an outcome has a probability above 0 under one law only.
    """
    alone = first.keys() ^ second.keys()
    if alone:
        raise Refused(f"only one of two neighbours can lead to {min(alone, key=repr)}")
    return max(max(first[outcome] / second[outcome], second[outcome] / first[outcome]) for outcome in first)


def within(ratio: Fraction, epsilon: Fraction) -> bool:
    """Whether a ratio is at most e^ε, as far as an enclosure can tell; for ε = 0, whether it is 1."""
    return epsilon >= 0 and ratio <= (exp(epsilon, BITS)[0] if epsilon else 1)


def shown(ratio: Fraction) -> str:
    """Write the ε of a ratio, rounded up to six digits."""
    return f"{float(-(-ln(ratio, BITS)[1] * 10**6 // 1)) / 10**6:.6f}"

"""Certified bounds on their way into JSON."""

from __future__ import annotations

from typing import Any

from attacklab.laws import Bounds, Divergence
from attacklab.laws.enclosures import float_above, float_below


def as_floats(bounds: Bounds | Divergence) -> list[float]:
    """The lower and the upper bound as floats, rounded outwards."""
    return [float_below(bounds.lower), float_above(bounds.upper)]


def middle(bounds: list[float]) -> float:
    """One number to draw for bounds that a figure cannot tell apart."""
    return sum(bounds) / 2


def shown(exact: Any) -> str:
    """A rational number as "numerator/denominator" (or "numerator")."""
    return str(exact)

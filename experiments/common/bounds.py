"""Certified bounds on their way into JSON."""

from __future__ import annotations

from attacklab.laws import Bounds, Divergence
from attacklab.laws.enclosures import float_above, float_below


def as_floats(bounds: Bounds | Divergence) -> list[float]:
    """The lower and the upper bound as floats, rounded outwards; 0 has no sign."""
    return [float_below(bounds.lower) + 0.0, float_above(bounds.upper) + 0.0]


def middle(bounds: list[float]) -> float:
    """One number to draw for bounds that a figure cannot tell apart."""
    return sum(bounds) / 2

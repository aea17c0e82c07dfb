"""Certified bounds as floats, for JSON and for figures."""

from __future__ import annotations

from attacklab.laws import Bounds, Divergence
from attacklab.laws.enclosures import float_above, float_below


def as_floats(bounds: Bounds | Divergence) -> list[float]:
    """Return the lower and the upper bound as floats, rounded outwards; −0 becomes 0."""
    return [float_below(bounds.lower) + 0.0, float_above(bounds.upper) + 0.0]


def middle(bounds: list[float]) -> float:
    """Return the middle of two bounds that are too close to tell apart in a figure."""
    return sum(bounds) / 2

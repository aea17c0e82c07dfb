"""Public maps of what was released, on numbers and elementwise on arrays of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mechanisms.core.compose import Both, Mapped
from mechanisms.core.grid import Grid
from mechanisms.core.numbers import Number
from mechanisms.core.term import Mechanism


@dataclass(frozen=True)
class Quotient:
    """A released total divided by a released count (at least 1), plus `origin`, clamped to bounds."""

    lower: float
    upper: float
    origin: float = 0.0

    def __call__(self, released: tuple[Any, Any]) -> Any:
        """Return the quotient, or the quotients."""
        total, count = released
        return np.clip(total / np.maximum(count, 1.0) + self.origin, self.lower, self.upper)


def ratio(total: Mechanism, count: Mechanism, lower: Number, upper: Number, origin: Number = 0) -> Mapped:
    """Return the quotient of a released total and a released count; see `Quotient` for its range."""
    return Mapped(Both((total, count)), Quotient(float(lower), float(upper), float(origin)))


@dataclass(frozen=True)
class WithOrigins:
    """A released total of what records have above `lower`, and their public number: the total of the records."""

    lower: float

    def __call__(self, released: tuple[Any, int]) -> Any:
        """Return the total, or the totals."""
        above, size = released
        return size * self.lower + above


@dataclass(frozen=True)
class Share:
    """Divides a released total by a public number of parts and adds `origin`: a mean, from a sum of offsets."""

    parts: int
    origin: float

    def __call__(self, released: Any) -> Any:
        """Return the share, or the shares."""
        return released / self.parts + self.origin


@dataclass(frozen=True)
class PointAt:
    """The point of a grid that a released number of steps lies above a public one, all within the grid."""

    first: int
    grid: Grid

    def __call__(self, released: Any) -> Any:
        """Return the point, or the points."""
        return (self.first + released) * math.ldexp(1.0, self.grid.exponent)

"""Public maps of released values, on numbers and elementwise on arrays of numbers."""

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
        """Return the quotient of `released` = (total, count), elementwise on arrays."""
        total, count = released
        return np.clip(total / np.maximum(count, 1.0) + self.origin, self.lower, self.upper)


def ratio(total: Mechanism, count: Mechanism, lower: Number, upper: Number, origin: Number = 0) -> Mapped:
    """Return a mechanism that releases total/count + origin, clamped to the bounds; see `Quotient`."""
    return Mapped(Both((total, count)), Quotient(float(lower), float(upper), float(origin)))


@dataclass(frozen=True)
class WithOrigins:
    """Computes the total of the records from a released total of record − `lower` and the public number of records."""

    lower: float

    def __call__(self, released: tuple[Any, int]) -> Any:
        """Return above + size·lower for `released` = (above, size), elementwise on arrays."""
        above, size = released
        return size * self.lower + above


@dataclass(frozen=True)
class Share:
    """Divides a released total by a public number of parts and adds `origin`: a mean, from a sum of offsets."""

    parts: int
    origin: float

    def __call__(self, released: Any) -> Any:
        """Return released/parts + origin, elementwise on arrays."""
        return released / self.parts + self.origin


@dataclass(frozen=True)
class PointAt:
    """Computes the grid point `first` + released, both in steps; `first` is public, and the sum must be on the grid."""

    first: int
    grid: Grid

    def __call__(self, released: Any) -> Any:
        """Return the point as a double, elementwise on arrays."""
        return (self.first + released) * math.ldexp(1.0, self.grid.exponent)

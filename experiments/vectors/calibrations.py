"""The vectors of type `calibration`: scales, budgets, tails and thresholds, between two doubles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gmpy2 import mpq

from attacklab.calibration import QUANTITIES, Quantity, Unsafe
from attacklab.laws.enclosures import float_above, float_below
from attacklab.vectors import Case, Group, VectorFile
from experiments.vectors.notes import DESCRIPTIONS, NOTES

MOST = 16
"""The most cases of a quantity, spread over its arguments."""

LEAST_USUAL, GREATEST_USUAL = 1e-50, 100.0
"""Arguments outside are extreme."""


def calibrations() -> VectorFile:
    """The file."""
    groups = [Group(of.name, of.source, list(_cases(of)), {"meaning": of.meaning}) for of in QUANTITIES]
    return VectorFile("calibration", DESCRIPTIONS["calibration"], NOTES, groups)


def _cases(quantity: Quantity) -> Iterator[Case]:
    rows = quantity.grid
    for place in sorted({number * (len(rows) - 1) // (MOST - 1) for number in range(MOST)}):
        bound = quantity.bound(rows[place])
        ends = {"lower": float_below(mpq(bound.lower)), "upper": float_above(mpq(bound.upper))}
        comment = ", ".join(f"{name} {value}" for name, value in rows[place].items() if not isinstance(value, tuple))
        flag = "ExtremeBudget" if _is_extreme(rows[place]) else "UnsafeRounding"
        limit = float_above(mpq(bound.lower)) if quantity.unsafe is Unsafe.TOO_SMALL else float_below(mpq(bound.upper))
        fields = {"parameters": rows[place], "quantity": ends, "limit": limit, "unsafe": str(quantity.unsafe)}
        yield Case(comment, [flag], fields)


def _is_extreme(row: Mapping[str, Any]) -> bool:
    numbers = [value for value in row.values() if isinstance(value, float) and value]
    return any(not LEAST_USUAL <= value <= GREATEST_USUAL for value in numbers)

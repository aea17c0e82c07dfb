"""The vectors of type `calibration`: scales, budgets, tails and thresholds between two doubles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gmpy2 import mpq

from attacklab.calibration import QUANTITIES, Quantity
from attacklab.laws.enclosures import float_above, float_below
from attacklab.vectors import Case, Group, VectorFile
from experiments.vectors.notes import NOTES

DESCRIPTION = (
    "A quantity that follows from a claim or from a scale of noise, between two doubles. A formula is unsafe if it "
    "returns less than `lower` where `unsafe` is `too small`, or more than `upper` where it is `too large`."
)

MOST = 16
"""The most cases of a quantity, spread over its arguments."""

LEAST_USUAL, GREATEST_USUAL = 1e-50, 100.0
"""Arguments outside are extreme."""


def calibrations() -> VectorFile:
    """The file."""
    groups = [Group(one.name, one.source, list(_cases(one)), {"meaning": one.meaning}) for one in QUANTITIES]
    return VectorFile("calibration", DESCRIPTION, NOTES, groups)


def _cases(quantity: Quantity) -> Iterator[Case]:
    rows = quantity.grid
    for place in sorted({number * (len(rows) - 1) // (MOST - 1) for number in range(MOST)}):
        bound = quantity.bound(rows[place])
        ends = {"lower": float_below(mpq(bound.lower)), "upper": float_above(mpq(bound.upper))}
        comment = ", ".join(f"{name} {value}" for name, value in rows[place].items() if not isinstance(value, tuple))
        flag = "ExtremeBudget" if _is_extreme(rows[place]) else "UnsafeRounding"
        fields = {"parameters": rows[place], "quantity": ends, "unsafe": str(quantity.unsafe)}
        yield Case(comment, [flag], fields)


def _is_extreme(row: Mapping[str, Any]) -> bool:
    numbers = [value for value in row.values() if isinstance(value, float) and value]
    return any(not LEAST_USUAL <= value <= GREATEST_USUAL for value in numbers)

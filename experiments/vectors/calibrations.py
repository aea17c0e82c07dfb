"""The vectors of type `calibration`: scales, budgets, tails and thresholds, between two doubles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gmpy2 import mpq

from attacklab.calibration import QUANTITIES, Quantity, Unsafe
from attacklab.laws.enclosures import float_above, float_below
from experiments.vectors.notes import case, file_of

MOST = 16
"""The largest number of cases of a quantity, spread evenly over its grid of arguments."""

LEAST_USUAL, GREATEST_USUAL = 1e-50, 100.0
"""Cases with an argument outside this range are flagged as extreme."""


def calibrations(every: int = 1) -> dict[str, Any]:
    """Return the contents of the file, with one in `every` cases of each quantity."""
    about = {of.name: {"source": of.source, "meaning": of.meaning} for of in QUANTITIES}
    return file_of("calibration", {of.name: _cases(of, every) for of in QUANTITIES}, about)


def _cases(quantity: Quantity, every: int) -> Iterator[dict[str, Any]]:
    rows = quantity.grid
    for place in sorted({number * (len(rows) - 1) // (MOST - 1) for number in range(MOST)})[::every]:
        yield _case(quantity, rows[place])


def _case(quantity: Quantity, row: Mapping[str, Any]) -> dict[str, Any]:
    bound = quantity.bound(row)
    ends = {"lower": float_below(mpq(bound.lower)), "upper": float_above(mpq(bound.upper))}
    comment = ", ".join(f"{name} {value}" for name, value in row.items() if not isinstance(value, tuple))
    numbers = [value for value in row.values() if isinstance(value, float) and value]
    is_extreme = any(not LEAST_USUAL <= value <= GREATEST_USUAL for value in numbers)
    limit = float_above(mpq(bound.lower)) if quantity.unsafe is Unsafe.TOO_SMALL else float_below(mpq(bound.upper))
    fields = {"parameters": row, "quantity": ends, "limit": limit, "unsafe": str(quantity.unsafe)}
    return case(comment, ["ExtremeBudget" if is_extreme else "UnsafeRounding"], fields)

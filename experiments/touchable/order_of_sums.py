"""Lists of doubles whose sum depends on the order in which they are added, with all sums that orders can give."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import accumulate, permutations
from typing import Any

LISTS: dict[str, tuple[float, ...]] = {
    "tenths": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
    "lost_ones": (2.0**53, 1.0, 1.0, 1.0, 1.0),
    "cancelled": (1e16, 1.0, -1e16, 1.0, 0.5),
}


def collect() -> dict[str, Any]:
    """Return the lists, their exact sums rounded once, and each computed sum with the number of its orders."""
    return {"lists": [_described(name, numbers) for name, numbers in LISTS.items()]}


def added(numbers: tuple[float, ...]) -> float:
    """Return the sum from left to right, rounded after every addition."""
    *_, total = accumulate(numbers)
    return total


def _described(name: str, numbers: tuple[float, ...]) -> dict[str, Any]:
    exact = sum(map(Fraction, numbers))
    sums = Counter(map(added, permutations(numbers)))
    return {
        "name": name,
        "numbers": [number.hex() for number in numbers],
        "nearest": float(exact).hex(),
        "orders": sums.total(),
        "sums": [[total.hex(), sums[total]] for total in sorted(sums)],
    }

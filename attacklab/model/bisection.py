"""Bisection over integers: finds where a condition begins to hold, or where a function changes steeply."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction


def least(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Find where a condition begins to hold.

    Args:
        holds: the condition: taken to be false at `low` and true at `high`, where it is not evaluated.
        low: an integer.
        high: a larger integer.

    Returns:
        An n such that the condition holds at n and not at n − 1. If the condition changes only once, n is the least
        number at which it holds.
    """
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def first(holds: Callable[[int], bool], *, start: int = 1, most: float = math.inf) -> int | None:
    """Double a number until a condition holds, then find where it began to hold.

    Args:
        holds: the condition; taken to be false at `start // 2`.
        start: the first number tried, at least 1.
        most: the largest number that may be tried.

    Returns:
        A number as in `least`; None if the condition holds at none of the numbers tried.
    """
    low, high = start // 2, start
    while high <= most:
        if holds(high):
            return least(holds, low, high)
        low, high = high, 2 * high
    return None


def steepest_step(change: Callable[[int, int], float | Fraction], low: int, high: int) -> int:
    """Find a steep step: halve an interval until one step is left, keeping the half with the larger change.

    Args:
        change: `change(low, high)` returns how much changes between two numbers.
        low: an integer.
        high: a larger integer.

    Returns:
        The k such that the step leads from k to k + 1.
    """
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if change(low, middle) >= change(middle, high) else (middle, high)
    return low

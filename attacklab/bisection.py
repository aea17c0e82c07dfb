"""Bisection over integers: where does a condition begin to hold, and which step of a line changes most?"""

from __future__ import annotations

import math
from collections.abc import Callable


def least(holds: Callable[[int], bool], low: int, high: int, *, precision: float = 0.0) -> int:
    """Find where a condition begins to hold.

    Args:
        holds: false at `low`, true at `high`; neither is asked again.
        low: an integer.
        high: a larger one.
        precision: how far off the answer may be, as a part of it.

    Returns:
        A number at which it holds, and at which it does not hold one below (or, with a precision, at most that far
        below); the least one if the condition changes once.
    """
    while high - low > max(1, math.floor(high * precision)):
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def first(
    holds: Callable[[int], bool], *, start: int = 1, most: float = math.inf, precision: float = 0.0
) -> int | None:
    """Double a number until a condition holds, then find where it began to.

    Args:
        holds: the condition, taken to be false at `start // 2`.
        start: the first number that is tried, at least 1.
        most: the largest that may be tried.
        precision: as in `least`.

    Returns:
        A number as in `least`; None where the condition holds at none of those tried up to `most`.
    """
    low, high = start // 2, start
    while high <= most:
        if holds(high):
            return least(holds, low, high, precision=precision)
        low, high = high, 2 * high
    return None


def steepest_step(change: Callable[[int, int], float], low: int, high: int) -> int:
    """Halve an interval until one step is left, each time keeping the half with the larger change.

    Args:
        change: `change(low, high)`, how much changes from one number to a larger one.
        low: an integer.
        high: a larger one.

    Returns:
        A number k; the step is the one from k to k + 1.
    """
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if change(low, middle) >= change(middle, high) else (middle, high)
    return low

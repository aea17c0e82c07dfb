"""What rounding to a public grid does to the distance of neighbouring answers."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

from checker.core.certificate import Refused
from checker.kinds.trace import Traced, apply, require_same, require_unwritten

LIMIT = 1 << 53
"""The steps from 0 to an end of a grid."""

HALF, TINY = Fraction(1, 2), Fraction(1, 10**30)


def require_rounding(grid: Any, step: Fraction) -> int:
    """Check that a grid rounds answers to nearest, half a step upward, and clamps them, at its own edges and between.

    Rounded so, answers at most Δ apart are at most ⌈Δ/step⌉ steps apart (lemma `rounding-half-up`).

    Returns:
        How many answers were tried.

    Raises:
        Refused: an answer is not rounded so.
    """
    wholes = (0, 1, -1, 2, -2, 3, 1000, -1001, LIMIT - 1, -LIMIT + 1, LIMIT, -LIMIT, LIMIT + 5, -LIMIT - 5)
    halves = [half + near for half, near in product((HALF, -HALF), (Fraction(0), TINY, -TINY))]
    shares = [Fraction(0), *halves, Fraction(1, 3), Fraction(-2, 7)]
    places = [(whole + share) * step for whole, share in product(wholes, shares)]
    answers: list[tuple[Any, Fraction]] = [(place, place / step) for place in places]
    answers += [(float(place), Fraction(float(place)) / step) for place in places]
    answers += [(float("inf"), Fraction(LIMIT)), (-float("inf"), Fraction(-LIMIT)), (float("nan"), Fraction(0))]
    for answer, steps in answers:
        expected = (min(max(steps, Fraction(-LIMIT)), Fraction(LIMIT)) + HALF).__floor__()
        if type(grid.nearest(answer)) is not int or grid.nearest(answer) != expected:
            raise Refused(f"{answer!r} is rounded to {grid.nearest(answer)} steps, not {expected}")
    return len(answers)


def require_steps(grid: Any, step: Fraction) -> int:
    """Check that a grid says exactly how many steps an answer lies above 0, clamped to its ends; NaN counts as 0.

    Answers at most Δ apart are so many steps apart at most Δ/step (lemma `clamping`).

    Returns:
        How many answers were tried.

    Raises:
        Refused: an answer is brought elsewhere.
    """
    wholes = (0, 1, -1, 5, 1000, LIMIT - 1, -LIMIT + 1, LIMIT, -LIMIT, LIMIT + 5, -LIMIT - 5)
    shares = (Fraction(0), HALF, HALF - TINY, Fraction(1, 3), -TINY)
    places = [(whole + share) * step for whole, share in product(wholes, shares)]
    answers: list[tuple[Any, Fraction]] = [(place, place / step) for place in places]
    answers += [(float(place), Fraction(float(place)) / step) for place in places]
    answers += [(int(place), int(place) / step) for place in places]
    answers += [(float("inf"), Fraction(LIMIT)), (-float("inf"), Fraction(-LIMIT)), (float("nan"), Fraction(0))]
    for answer, steps in answers:
        expected = min(max(steps, Fraction(-LIMIT)), Fraction(LIMIT))
        if type(grid.steps_to(answer)) is not Fraction or grid.steps_to(answer) != expected:
            raise Refused(f"{answer!r} is brought to {grid.steps_to(answer)} steps, not {expected}")
    return len(answers)


def steps_apart(sensitivity: Fraction, step: Fraction) -> int:
    """Return how many steps apart the roundings of neighbouring answers can be: d = ⌈Δ/step⌉."""
    return -int(-sensitivity / step // 1)


_WHOLE = 1234567.0


def require_values(grid: Any, step: Fraction) -> int:
    """Check what a grid returns: the double at a number of steps, or that of its nearest end, from one or from many.

    `write_values` is traced. For whole numbers its sum is exact up to 2^53 steps and is rounded to no less than 2^53
    beyond, which is then clamped to the same end, and the product with a power of two is exact. A sum is −0 only if
    both are, and no whole number is (`released_chunks`). So it writes `value(whole + noise)`, to the sign of 0.

    Returns:
        How many numbers of steps `value` was tried at.

    Raises:
        Refused: something else is returned.
    """
    noise, outputs = Traced.unknown("noise", "float64"), Traced.unknown("outputs", "float64")
    wholes = Traced.unknown("wholes", "float64")
    for whole in (_WHOLE, wholes):
        grid.write_values(whole, noise, outputs)
        own = Traced.unknown("noise", "float64")
        clamped = apply("clip", own + whole, -float(LIMIT), float(LIMIT))
        require_unwritten(noise, "the noise")
        require_unwritten(wholes, "the whole numbers")
        require_same(outputs, clamped * float(step), "an output")
    edges = (0, LIMIT, -LIMIT)
    tried = sorted({edge + near for edge in edges for near in (-(2**60), -1001, -2, -1, 0, 1, 2, 1001, 2**60)})
    for steps in tried:
        expected = min(max(steps, -LIMIT), LIMIT) * step
        found = grid.value(steps)
        if type(found) is not float or Fraction(found) != expected or math.copysign(1.0, found) < 0 <= steps:
            raise Refused(f"the value at {steps} steps is {found!r}, not {expected}")
    return len(tried)

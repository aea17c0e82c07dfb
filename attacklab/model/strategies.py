"""Hypothesis strategies for neighbouring pairs of answers, utilities and records, and for the numbers in them.

Numbers favour what floating point handles worst: zeros of both signs, subnormal numbers, powers of two and the doubles
next to them, and the largest and smallest doubles. Everything shrinks towards few and simple numbers.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from functools import cache, lru_cache

import hypothesis
import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from attacklab.model.errors import UsageError
from attacklab.model.neighbours import NeighbouringPair, Relation

LARGEST = sys.float_info.max
SIMPLEST = 16
"""Floats shrink first to whole numbers up to this size."""


def floats(lower: float = -LARGEST, upper: float = LARGEST) -> st.SearchStrategy[float]:
    """Doubles in [lower, upper], with many awkward ones.

    Args:
        lower: the least, finite.
        upper: the largest, finite.

    Raises:
        UsageError: they are not finite, or lower > upper.
    """
    if not (math.isfinite(lower) and math.isfinite(upper) and lower <= upper):
        raise UsageError(f"lower and upper must be finite and lower <= upper, not {lower} and {upper}")
    return _floats(lower, upper)


def utilities(
    *, most_outcomes: int = 16, lower: float = -LARGEST, upper: float = LARGEST
) -> st.SearchStrategy[NDArray[np.float64]]:
    """Vectors of 2 to `most_outcomes` utilities in [lower, upper]."""
    return _vectors(floats(lower, upper), 2, most_outcomes)


def records(bounds: tuple[float, float], *, least: int = 0, most: int = 32) -> st.SearchStrategy[NDArray[np.float64]]:
    """Vectors of `least` to `most` records within the bounds, many of them at a bound."""
    return _vectors(_record(bounds), least, most)


@st.composite
def pairs_of_answers(draw: st.DrawFn, *, sensitivity: float = 1.0) -> NeighbouringPair:
    """Two true answers no further apart than the sensitivity, often exactly as far."""
    first = draw(floats())
    second = _moved(first, draw(_move(sensitivity)), sensitivity)
    return NeighbouringPair.answers(first, second, sensitivity=sensitivity)


@st.composite
def pairs_of_utilities(draw: st.DrawFn, *, sensitivity: float = 1.0, most_outcomes: int = 16) -> NeighbouringPair:
    """Two vectors of utilities, no coordinate further apart than the sensitivity, often exactly as far."""
    first = draw(utilities(most_outcomes=most_outcomes))
    # The same move for all is the commonest worst case, which chance would hardly ever find.
    together = draw(st.booleans())
    moves = [draw(_move(sensitivity))] * len(first) if together else [draw(_move(sensitivity)) for _ in first]
    second = [_moved(float(utility), move, sensitivity) for utility, move in zip(first, moves, strict=True)]
    return NeighbouringPair.utilities(first, second, sensitivity=sensitivity)


@st.composite
def pairs_of_records(
    draw: st.DrawFn, bounds: tuple[float, float], relation: Relation, *, least: int = 0, most: int = 32
) -> NeighbouringPair:
    """Two datasets one record apart: one of `least` to `most` records, and one with a record added or replaced.

    Raises:
        UsageError: the relation is neither add-remove nor substitute.
    """
    if relation not in (Relation.ADD_REMOVE, Relation.SUBSTITUTE):
        raise UsageError(f"records are neighbours by add-remove or substitute, not by {relation}")
    replaces = relation is Relation.SUBSTITUTE
    first = draw(records(bounds, least=max(least, int(replaces)), most=most))
    place = draw(st.integers(0, len(first) - int(replaces)))
    record = draw(_record(bounds))
    if replaces:
        hypothesis.assume(first[place] != record)
        second = first.copy()
        second[place] = record
    else:
        second = np.insert(first, place, record)
    pair = NeighbouringPair.records(first, second, relation)
    return draw(st.sampled_from([pair, pair.swapped()]))


def _vectors(numbers: st.SearchStrategy[float], least: int, most: int) -> st.SearchStrategy[NDArray[np.float64]]:
    return st.lists(numbers, min_size=least, max_size=most).map(lambda values: np.array(values, dtype=np.float64))


def _record(bounds: tuple[float, float]) -> st.SearchStrategy[float]:
    return st.one_of(st.sampled_from(bounds), floats(*bounds))


def _move(sensitivity: float) -> st.SearchStrategy[float]:
    return st.one_of(st.sampled_from([sensitivity, -sensitivity, 0.0]), floats(-sensitivity, sensitivity))


def _moved(number: float, move: float, sensitivity: float) -> float:
    """The sum, or the double next to it if rounding would take the sum too far."""
    total = max(-LARGEST, min(LARGEST, number + move))
    if abs(Fraction(total) - Fraction(number)) > Fraction(sensitivity):
        return math.nextafter(total, number)
    return total


@lru_cache(maxsize=64)
def _floats(lower: float, upper: float) -> st.SearchStrategy[float]:
    whole = range(math.ceil(max(lower, -SIMPLEST)), math.floor(min(upper, SIMPLEST)) + 1)
    simplest = sorted(map(float, whole), key=abs)
    awkward = [value for value in _landmarks() if lower <= value <= upper]
    kinds = [st.sampled_from(values) for values in (simplest, awkward) if values]
    return st.one_of(*kinds, st.floats(lower, upper))


@cache
def _landmarks() -> tuple[float, ...]:
    """Zeros, powers of two and the doubles next to them, of both signs, the simplest first."""
    powers = [math.ldexp(1.0, power) for power in sorted(range(-1074, 1024), key=abs)]
    near = [y for power in powers for y in (power, math.nextafter(power, 0.0), math.nextafter(power, math.inf))]
    return (0.0, -0.0, *(sign * y for y in near for sign in (1.0, -1.0)))

"""Hypothesis strategies for what the instrument takes: neighbouring pairs by kind and relation, and their numbers.

Numbers favour what floating point handles worst: zeros of both signs, subnormal numbers, powers of two and the doubles
next to them, and the largest and smallest doubles. Everything shrinks towards few and simple numbers.

This module needs Hypothesis, which the extra `attacklab[strategies]` installs; without it, importing it is an
`ImportError`, as for any module that cannot be imported.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from functools import cache, lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from attacklab.model.errors import UsageError
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Kind, Target

try:
    import hypothesis
    from hypothesis import strategies as st
except ImportError as error:
    raise ImportError("attacklab.model.strategies needs Hypothesis: pip install 'attacklab[strategies]'") from error

T = TypeVar("T")

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


def scales() -> st.SearchStrategy[float]:
    """Scales of noise, sensitivities and values of ε: positive doubles from 2^−40 to 2^40."""
    return floats(2.0**-40, 2.0**40)


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


@st.composite
def pairs_of_graphs(draw: st.DrawFn, relation: Relation, *, most_nodes: int = 8) -> NeighbouringPair:
    """Two undirected graphs without loops, one edge or one node (with its edges) apart.

    Raises:
        UsageError: the relation is neither node nor edge.
    """
    if relation not in (Relation.NODE, Relation.EDGE):
        raise UsageError(f"graphs are neighbours by node or edge, not by {relation}")
    nodes = draw(st.integers(2, most_nodes))
    upper = np.zeros((nodes, nodes), dtype=bool)
    places = np.triu_indices(nodes, 1)
    upper[places] = draw(st.lists(st.booleans(), min_size=len(places[0]), max_size=len(places[0])))
    first = upper | upper.T
    if relation is Relation.EDGE:
        start, end = draw(st.sampled_from(list(zip(*places, strict=True))))
        second = first.copy()
        second[start, end] = second[end, start] = not first[start, end]
    else:
        gone = draw(st.integers(0, nodes - 1))
        second = np.delete(np.delete(first, gone, 0), gone, 1)
    pair = NeighbouringPair.graphs(first, second, relation)
    return draw(st.sampled_from([pair, pair.swapped()]))


def neighbouring_pairs(target: Target, relation: Relation | None = None) -> st.SearchStrategy[NeighbouringPair]:
    """Pairs that fit the kind of a target, its sensitivity and its bounds.

    Args:
        target: any target except a DATASET target, whose input may be anything.
        relation: makes datasets of sums and means neighbours; by default that of the claim, or add-remove if the claim
            names none.

    Raises:
        UsageError: the target is of kind DATASET.
    """
    match target.kind:
        case Kind.NOISE:
            return pairs_of_answers(sensitivity=target.sensitivity)
        case Kind.SELECTION:
            return pairs_of_utilities(sensitivity=target.sensitivity)
        case Kind.SUM | Kind.MEAN:
            assert target.bounds is not None  # noqa: S101 - sums and means have bounds
            least = int(target.kind is Kind.MEAN)
            return pairs_of_records(target.bounds, relation or target.relation or Relation.ADD_REMOVE, least=least)
        case _:
            raise UsageError(f"the pairs of a {target.kind} target can be anything; build a strategy from others here")


def drawn(strategy: st.SearchStrategy[T], count: int, *, seed: int) -> list[T]:
    """Draw up to `count` values of a strategy, fewer if it has no more; the same seed draws the same values."""
    values: list[T] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count,
        database=None,
        deadline=None,
        derandomize=False,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(strategy)
    def collect(value: T) -> None:
        values.append(value)

    collect()
    return values


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

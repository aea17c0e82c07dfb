"""Variations of a neighbouring pair: pairs that may show a flaw better, and simpler pairs.

The two inputs are laid side by side in columns, one for each outcome or person. Columns are removed; their numbers are
moved, scaled, or cut to fewer bits. A variation that is not a neighbouring pair of finite numbers is dropped. Graphs,
and inputs that are not vectors of finite numbers, have no variations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import numpy as np

from attacklab.neighbours import NeighbouringPair, Relation
from attacklab.targets import Target

Column: TypeAlias = tuple[float | None, float | None]
"""One outcome's utilities, or one person's record, in the first and the second input; None where it is absent."""

KEPT_BITS = (0, 1, 2, 4, 8, 16, 32)
"""The numbers of leading bits that numbers are cut to."""

ONE_BY_ONE = 16
"""With more columns than this, no column is moved apart by itself."""


def changed(pair: NeighbouringPair, target: Target) -> Iterator[NeighbouringPair]:
    """Pairs whose numbers are larger, smaller or further apart, or that have more records, or records at the bounds.

    Args:
        pair: the pair to vary.
        target: its sensitivity and bounds decide which pairs are neighbours.
    """
    columns = _columns(pair)
    return _rebuilt(pair, _changes(pair, columns, target), target)


def simplified(pair: NeighbouringPair, target: Target) -> Iterator[NeighbouringPair]:
    """Strictly simpler pairs: first with fewer columns, then with fewer differences and with numbers of fewer bits.

    Args:
        pair: the pair to simplify.
        target: its sensitivity decides which pairs are neighbours.
    """
    columns = _columns(pair)
    for one in _rebuilt(pair, _simplifications(columns), target):
        if _size(_columns(one)) < _size(columns):
            yield one


def _columns(pair: NeighbouringPair) -> list[Column]:
    """The two inputs side by side; empty if such inputs have no variations."""
    if pair.relation in (Relation.NODE, Relation.EDGE):
        return []
    first, second = (np.atleast_1d(np.asarray(side)) for side in (pair.first, pair.second))
    if first.dtype.kind not in "iuf" or second.dtype.kind not in "iuf" or max(first.ndim, second.ndim) > 1:
        return []
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        return []
    one, other = first.tolist(), second.tolist()
    if pair.relation is Relation.ADD_REMOVE:
        shorter, longer = sorted((one, other), key=len)
        place = next((i for i, value in enumerate(shorter) if value != longer[i]), len(shorter))
        (one if shorter is one else other).insert(place, None)
    return list(zip(one, other, strict=True))


def _rebuilt(pair: NeighbouringPair, versions: Iterable[list[Column]], target: Target) -> Iterator[NeighbouringPair]:
    """The versions of the columns that are still neighbours, as pairs like the given one."""
    for columns in versions:
        if not columns:
            continue
        first, second = ([value for value in side if value is not None] for side in zip(*columns, strict=True))
        if not all(map(math.isfinite, first + second)):
            continue
        try:
            if pair.relation is not None:
                yield NeighbouringPair.records(first, second, pair.relation)
            elif np.ndim(pair.first):
                yield NeighbouringPair.utilities(first, second, sensitivity=target.sensitivity)
            else:
                yield NeighbouringPair.answers(first[0], second[0], sensitivity=target.sensitivity)
        except ValueError:
            continue


def _changes(pair: NeighbouringPair, columns: list[Column], target: Target) -> Iterator[list[Column]]:
    if pair.relation is None:
        for factor in (0.5, 2.0, -1.0):
            yield [_each(column, lambda y: factor * y) for column in columns]  # noqa: B023 - called at once
            yield [_moved(column, lambda y: factor * y) for column in columns]  # noqa: B023 - called at once
        for apart in (target.sensitivity, -target.sensitivity):
            widened = [_apart(column, apart) for column in columns]
            yield widened
            for place in range(len(columns) if len(columns) <= ONE_BY_ONE else 0):
                yield [*columns[:place], widened[place], *columns[place + 1 :]]
        return
    for bound in target.bounds or ():
        at_bound = [_each(column, lambda _: bound) for column in columns]  # noqa: B023 - called at once
        for moves_shared in (True, False):
            yield [
                moved if _is_shared(column) is moves_shared else column
                for column, moved in zip(columns, at_bound, strict=True)
            ]
    yield columns + [column for column in columns if _is_shared(column)]


def _simplifications(columns: list[Column]) -> Iterator[list[Column]]:
    """Fewer columns first, then simpler numbers: in all columns together, then in one at a time."""
    length = len(columns)
    step = length // 2
    while step:
        for start in range(0, length, step):
            yield columns[:start] + columns[start + step :]
        step //= 2
    yield from _simpler(columns)
    for place in range(length):
        for (column,) in _simpler(columns[place : place + 1]):
            yield [*columns[:place], column, *columns[place + 1 :]]


def _simpler(columns: list[Column]) -> Iterator[list[Column]]:
    """The same columns shifted so that one number is 0, with fewer bits in each number, and without a difference."""
    numbers = {value for column in columns for value in column if value is not None}
    for origin in sorted(numbers, key=abs, reverse=True):
        yield [_each(column, lambda y: y - origin) for column in columns]  # noqa: B023 - called at once
    for bits in KEPT_BITS:
        yield [_each(column, lambda y: _with_bits(y, bits)) for column in columns]  # noqa: B023 - called at once
        yield [_moved(column, lambda y: _with_bits(y, bits)) for column in columns]  # noqa: B023 - called at once
    yield [_apart(column, 0.0) for column in columns]


def _is_shared(column: Column) -> bool:
    return column[0] == column[1]


def _each(column: Column, change: Callable[[float], float]) -> Column:
    one, other = column
    return None if one is None else change(one), None if other is None else change(other)


def _moved(column: Column, change: Callable[[float], float]) -> Column:
    """Change the first number and keep its distance from the second."""
    one, other = column
    return column if one is None or other is None else (change(one), change(one) + (other - one))


def _apart(column: Column, distance: float) -> Column:
    one, other = column
    return column if one is None or other is None else (one, one + distance)


def _with_bits(value: float, bits: int) -> float:
    """The number cut to its leading `bits` bits; 0 if `bits` is 0."""
    if bits == 0 or not math.isfinite(value):
        return 0.0
    significand, power = math.frexp(value)
    return math.ldexp(math.trunc(math.ldexp(significand, bits)), power - bits)


def _size(columns: list[Column]) -> tuple[int, int, int]:
    """What simplification reduces: columns, then differences between the inputs, then bits of the numbers."""
    numbers = [value for column in columns for value in column if value is not None]
    return len(columns), sum(one != other for one, other in columns), sum(map(_bits, numbers))


def _bits(value: float) -> int:
    """Significant bits, plus the exponent's distance from 0, plus 1 for a negative number; 0 for 0."""
    if value == 0:
        return 0
    numerator, denominator = float(value).as_integer_ratio()
    trailing = (numerator & -numerator).bit_length() - 1
    return abs(numerator).bit_length() - trailing + (trailing + denominator.bit_length() - 1) + (value < 0)

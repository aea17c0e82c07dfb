"""The vectors of type `sum`: neighbouring datasets whose floating-point sums lie further apart than the sensitivity."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from experiments.vectors.notes import case, file_of
from experiments.vectors.tapes import RecordedBits

ORDERS = ("forward", "backward", "pairwise", "compensated")
FORMATS: Mapping[str, tuple[type[np.floating[Any]], int]] = {"binary64": (np.float64, 53), "binary32": (np.float32, 24)}
SIZES = (3, 4, 5, 6, 7, 8, 12, 16, 24, 32)
PATTERNS = 256
"""The largest number of bit patterns, each giving a few datasets, that are tried at each size."""


def summed(order: str, values: Sequence[Any]) -> Any:
    """Return the rounded sum in an order: forward, backward, pairwise (the first half is not longer), or Kahan's."""
    if order == "pairwise" and len(values) > 1:
        middle = len(values) // 2
        return summed(order, values[:middle]) + summed(order, values[middle:])
    total = lost = values[0] * 0
    for value in values[::-1] if order == "backward" else values:
        corrected = value - lost
        larger = total + corrected
        lost = (larger - total) - corrected if order == "compensated" else lost
        total = larger
    return total


class Neighbours(NamedTuple):
    """Two neighbouring datasets, their bounds, their relation, and the sensitivity of the exact sum."""

    low: float
    high: float
    relation: str
    first: Sequence[float]
    second: Sequence[float]
    sensitivity: int = 1


def sums() -> dict[str, Any]:
    """Return the contents of the file."""
    return file_of("sum", {f"{order}_sum": _cases(order) for order in ORDERS})


def _cases(order: str) -> Iterator[dict[str, Any]]:
    for name, size, relation in itertools.product(FORMATS, SIZES, RELATIONS):
        data, rounded = _widest(order, name, size, relation)
        if (moved := _moved(rounded)) > data.sensitivity:
            fields = {"bounds": [data.low, data.high], "relation": data.relation, "order": order, "format": name}
            fields |= {"first": data.first, "second": data.second, "sums": rounded, "moved": moved}
            exact = [sum(map(Fraction, side), Fraction(0)) for side in (data.first, data.second)]
            fields |= {"sensitivity": data.sensitivity, "exact": exact}
            comment = f"{len(data.first)} records; {float(moved):.6g} times the sensitivity"
            yield case(comment, ["SumMovesFar" if moved >= 2 * data.sensitivity else "SumMovesABit"], fields)


def widest(order: str) -> Iterator[tuple[Neighbours, list[float]]]:
    """Yield for each size the substituted datasets whose binary64 sums lie furthest apart, and these sums."""
    return (_widest(order, "binary64", size, "substitute") for size in SIZES)


@cache
def _widest(order: str, name: str, size: int, relation: str) -> tuple[Neighbours, list[float]]:
    number, bits = FORMATS[name]

    def rounded(data: Neighbours) -> list[float]:
        return [float(summed(order, [number(value) for value in side])) for side in (data.first, data.second)]

    pairs = [(data, rounded(data)) for data in RELATIONS[relation](size, bits)]
    return max(pairs, key=lambda pair: _moved(pair[1]))


def _moved(rounded: Sequence[float]) -> Fraction:
    return abs(Fraction(rounded[0]) - Fraction(rounded[1]))


def _substituted(size: int, bits: int) -> Iterator[Neighbours]:
    """Yield datasets of 2^(bits − 1) and 2^(bits − 1) + 1, neighbouring floats, in which one record is replaced."""
    low = 2.0 ** (bits - 1)
    for pattern in _patterns(size):
        first = [low + bit for bit in pattern]
        for place in {0, size // 2, size - 1}:
            second = [*first[:place], low + 1 - pattern[place], *first[place + 1 :]]
            yield Neighbours(low, low + 1, "substitute", first, second)


def _removed(size: int, bits: int) -> Iterator[Neighbours]:
    """Yield datasets of 1 and the number next below it, from which a record of 1 is removed."""
    small = 1 - 2.0 ** (1 - bits)
    for pattern in _patterns(size):
        first = [1.0 if bit else small for bit in pattern]
        for place in {0, size // 2, size - 1}:
            if first[place] == 1.0:
                yield Neighbours(0.0, 1.0, "add-remove", first, [*first[:place], *first[place + 1 :]])


RELATIONS = {"substitute": _substituted, "add-remove": _removed}


def _patterns(size: int) -> Iterator[tuple[int, ...]]:
    """Return all patterns of `size` bits or, if these are too many, `PATTERNS` patterns from a stream of bits."""
    if 1 << size <= PATTERNS:
        return itertools.product((0, 1), repeat=size)
    bits = RecordedBits(f"patterns of {size}")
    return (tuple(bits.take(1) for _ in range(size)) for _ in range(PATTERNS))

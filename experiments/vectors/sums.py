"""The vectors of type `sum`: neighbouring datasets whose floating-point sums lie further apart than the sensitivity."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from attacklab.vectors import Case, Group, VectorFile
from experiments.vectors.notes import DESCRIPTIONS, NOTES
from experiments.vectors.recorded_bits import RecordedBits

SOURCE = "Casacuberta, Shoemate, Vadhan and Wagaman 2022, 'Widespread Underestimation of Sensitivity', section 3"

Sum = Callable[[Sequence[np.floating[Any]]], np.floating[Any]]


def forward(values: Sequence[np.floating[Any]]) -> np.floating[Any]:
    """From the first to the last, rounding each partial sum."""
    total = values[0] * 0
    for value in values:
        total = total + value
    return total


def backward(values: Sequence[np.floating[Any]]) -> np.floating[Any]:
    """From the last to the first."""
    return forward(values[::-1])


def pairwise(values: Sequence[np.floating[Any]]) -> np.floating[Any]:
    """The sum of the first half, rounded down in number, and that of the second, each summed so."""
    if len(values) == 1:
        return values[0]
    middle = len(values) // 2
    return pairwise(values[:middle]) + pairwise(values[middle:])


def compensated(values: Sequence[np.floating[Any]]) -> np.floating[Any]:
    """Kahan's sum."""
    total = lost = values[0] * 0
    for value in values:
        corrected = value - lost
        larger = total + corrected
        lost = (larger - total) - corrected
        total = larger
    return total


ORDERS: Mapping[str, Sum] = {"forward": forward, "backward": backward, "pairwise": pairwise, "compensated": compensated}
FORMATS: Mapping[str, tuple[type[np.floating[Any]], int]] = {"binary64": (np.float64, 53), "binary32": (np.float32, 24)}


SIZES = (3, 4, 5, 6, 7, 8, 12, 16, 24, 32)
PATTERNS = 256
"""How many datasets of each size are tried."""


class Neighbours(NamedTuple):
    """Two datasets, their bounds, and whether one record is put for another or removed."""

    low: float
    high: float
    relation: str
    first: Sequence[float]
    second: Sequence[float]

    @property
    def sensitivity(self) -> Fraction:
        """What the bounds promise of exact sums."""
        low, high = Fraction(self.low), Fraction(self.high)
        return high - low if self.relation == "substitute" else max(abs(low), abs(high))


def sums() -> VectorFile:
    """The file."""
    groups = [Group(f"{order}_sum", SOURCE, list(_cases(order))) for order in ORDERS]
    return VectorFile("sum", DESCRIPTIONS["sum"], NOTES, groups)


def _cases(order: str) -> Iterator[Case]:
    for name in FORMATS:
        for size in SIZES:
            for relation in RELATIONS:
                data, sums_ = _widest(order, name, size, relation)
                if _moved(sums_) > data.sensitivity:
                    yield _case(order, name, data, sums_)


def widest(order: str) -> Iterator[tuple[Neighbours, list[float]]]:
    """The datasets of each size whose binary64 sums lie furthest apart under substitution, with these sums."""
    return (_widest(order, "binary64", size, "substitute") for size in SIZES)


@cache
def _widest(order: str, name: str, size: int, relation: str) -> tuple[Neighbours, list[float]]:
    number, bits = FORMATS[name]
    pairs = [(data, _sums_of(order, number, data)) for data in RELATIONS[relation](size, bits)]
    return max(pairs, key=lambda pair: _moved(pair[1]) / pair[0].sensitivity)


def _sums_of(order: str, number: type[np.floating[Any]], data: Neighbours) -> list[float]:
    return [float(ORDERS[order]([number(value) for value in side])) for side in (data.first, data.second)]


def _moved(sums_: Sequence[float]) -> Fraction:
    return abs(Fraction(sums_[0]) - Fraction(sums_[1]))


def _case(order: str, name: str, data: Neighbours, sums_: Sequence[float]) -> Case:
    moved, sensitivity = _moved(sums_), data.sensitivity
    exact = [sum(map(Fraction, side), Fraction(0)) for side in (data.first, data.second)]
    return Case(
        f"{len(data.first)} records; {float(moved / sensitivity):.6g} times the sensitivity",
        ["SumMovesFar" if moved >= 2 * sensitivity else "SumMovesABit"],
        {
            "bounds": [data.low, data.high],
            "relation": data.relation,
            "order": order,
            "format": name,
            "first": data.first,
            "second": data.second,
            "sums": sums_,
            "moved": moved,
            "sensitivity": sensitivity,
            "exact": exact,
        },
    )


def _substituted(size: int, bits: int) -> Iterator[Neighbours]:
    """Records next to 2^bits/2, where neighbouring integers are one apart, one of them put in the place of another."""
    low = 2.0 ** (bits - 1)
    for pattern in _patterns(size):
        first = [low + bit for bit in pattern]
        for place in {0, size // 2, size - 1}:
            second = [*first[:place], low + 1 - pattern[place], *first[place + 1 :]]
            yield Neighbours(low, low + 1, "substitute", first, second)


def _removed(size: int, bits: int) -> Iterator[Neighbours]:
    """Records of 1 and a little less, the largest of them removed."""
    small = 1 - 2.0 ** (1 - bits)
    for pattern in _patterns(size):
        first = [1.0 if bit else small for bit in pattern]
        for place in {0, size // 2, size - 1}:
            if first[place] == 1.0:
                yield Neighbours(0.0, 1.0, "add-remove", first, [*first[:place], *first[place + 1 :]])


RELATIONS = {"substitute": _substituted, "add-remove": _removed}


def _patterns(size: int) -> Iterator[tuple[int, ...]]:
    """All patterns of so many bits, or the first that a stream of bits gives."""
    if 1 << size <= PATTERNS:
        yield from itertools.product((0, 1), repeat=size)
        return
    bits = RecordedBits(f"patterns of {size}")
    for _ in range(PATTERNS):
        yield tuple(bits.take(1) for _ in range(size))

"""Which of very many features to keep: those that differ most between two inputs, or that vary most."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

LOOKED_AT = 1024  # how many outputs are looked at
MOST_LOOKED_AT = 1 << 22  # how many numbers are looked at in all: of very many features, fewer outputs


def most_telling(
    reads: Sequence[Callable[[Any], NDArray[Any]]], values: Any, of_first: NDArray[np.bool_] | None, most: int
) -> list[int]:
    """Return the indices in `reads` of the features to keep, in ascending order.

    Args:
        reads: each reads one feature off values.
        values: an array or a list, one value a trial.
        of_first: which values come from the first input of a pair; None if that is not known.
        most: how many features to keep.
    """
    rows = _rows(len(values), of_first, max(16, min(LOOKED_AT, MOST_LOOKED_AT // max(1, len(reads)))))
    sample = values[rows] if isinstance(values, np.ndarray) else [values[row] for row in rows]
    sides = None if of_first is None else of_first[rows]
    scores = np.array([_variation(np.asarray(read(sample)).astype(np.float64), sides) for read in reads])
    return sorted(np.argsort(-scores, kind="stable")[:most].tolist())


def _rows(count: int, of_first: NDArray[np.bool_] | None, most: int) -> NDArray[np.intp]:
    if of_first is None:
        return np.arange(min(count, most))
    return np.concatenate([np.flatnonzero(side)[: most // 2] for side in (of_first, ~of_first)])


def _variation(numbers: NDArray[np.float64], of_first: NDArray[np.bool_] | None) -> float:
    """Return the number of distinct values; with `of_first`, the standard errors between the inputs' ranks or bits."""
    if of_first is None:
        return float(len(np.unique(numbers)))
    if not np.isfinite(numbers).any() or numbers.min() == numbers.max():
        return 0.0
    ranks = np.searchsorted(np.sort(numbers), numbers) / len(numbers) - 0.5
    apart = [_apart(ranks, of_first), _apart(np.abs(ranks), of_first)]
    return max(*apart, _apart(_odd_bits(numbers), of_first))


def _odd_bits(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return one more than the number of trailing zeros of each significand; 0 for 0, infinities and NaN."""
    significands = (np.frexp(np.where(np.isfinite(numbers), numbers, 0.0))[0] * 2.0**53).astype(np.int64)
    return np.frexp((significands & -significands).astype(np.float64))[1].astype(np.float64)


def _apart(numbers: NDArray[np.float64], of_first: NDArray[np.bool_]) -> float:
    first, second = numbers[of_first], numbers[~of_first]
    if not len(first) or not len(second):
        return 0.0
    error = math.sqrt((first.var() + 1e-12) / len(first) + (second.var() + 1e-12) / len(second))
    return abs(float(first.mean() - second.mean())) / error

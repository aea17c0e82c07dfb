"""Bounded sums and means in floating point, with Laplace noise scaled to the sensitivity of real arithmetic.

The flaw (Casacuberta, Shoemate, Vadhan and Wagaman 2022, 'Widespread Underestimation of Sensitivity in Differentially
Private Libraries and How to Fix It'): a sum of doubles is rounded, once or at every step, and one
record can decide which way. The rounded sum then moves by more than a record can move the sum: with bounds
(1, 1 + 2^−48) and 1024 records by 64 times as much, in *each* of the four orders of summation here, the correctly
rounded one included (README.md has the pairs). Sums of machine integers wrap around.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mechanisms.core.numbers import count, positive
from mechanisms.core.term import Relation

Summation = Callable[[NDArray[np.float64]], float]
"""A function that adds up a vector of records."""


def sequential_sum(records: NDArray[np.float64]) -> float:
    """Add from the first record to the last, rounding at every step; Python's own `sum` compensates since 3.12."""
    return float(np.add.accumulate(records)[-1]) if len(records) else 0.0


def pairwise_sum(records: NDArray[np.float64]) -> float:
    """Add the sums of the two halves, down to single records."""
    if len(records) <= 1:
        return float(records.sum())
    half = len(records) // 2
    return pairwise_sum(records[:half]) + pairwise_sum(records[half:])


def numpy_sum(records: NDArray[np.float64]) -> float:
    """Add as numpy does: pairwise over blocks of 128, eight interleaved running sums in a block."""
    return float(np.sum(records))


def correctly_rounded_sum(records: NDArray[np.float64]) -> float:
    """Add exactly and round once (`math.fsum`)."""
    return math.fsum(records)


def wrapping_sum(records: NDArray[np.float64], dtype: DTypeLike = np.int32) -> float:
    """Add whole numbers in a machine integer, which wraps around at its ends."""
    return float(np.sum(records.astype(dtype), dtype=dtype))


def squares_about_own_mean(records: NDArray[np.float64]) -> float:
    """Add up squared deviations from the records' own mean, which is rounded."""
    return float(((records - records.mean()) ** 2).sum()) if len(records) else 0.0


def products_about_own_means(records: NDArray[np.float64]) -> float:
    """Add up products of the deviations of two columns, shape (n, 2), from their own means."""
    return float((records - records.mean(axis=0)).prod(axis=1).sum()) if len(records) else 0.0


def agreeing_pairs(records: NDArray[np.float64]) -> int:
    """Count the pairs of records that agree; a record that agrees with all others adds one for each of them, not 1."""
    counts = np.unique(records, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())


def pairs_by_halves(records: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Pair the first half with the second, without an odd last record: one record more may change every pair."""
    half = len(records) // 2
    return list(zip(records[:half], records[half : 2 * half], strict=True))


def naive_bounded_sum(
    records: NDArray[np.float64],
    trials: int,
    rng: np.random.Generator,
    *,
    epsilon: float,
    lower: float,
    upper: float,
    relation: Relation = "add-remove",
    summation: Summation = numpy_sum,
) -> NDArray[np.float64]:
    """Clip the records, add them up in floating point, and add Laplace noise."""
    scale = sum_sensitivity(lower, upper, relation) / float(positive("epsilon", epsilon))
    return summation(np.clip(records, lower, upper)) + rng.laplace(0.0, scale, count("trials", trials, least=0))


def naive_bounded_mean(
    records: NDArray[np.float64],
    trials: int,
    rng: np.random.Generator,
    *,
    epsilon: float,
    lower: float,
    upper: float,
    summation: Summation = numpy_sum,
) -> NDArray[np.float64]:
    """Divide the floating-point sum by n, which is public, and add Laplace noise of (upper − lower)/(n·ε).

    Neighbours substitute one record; arguments, result and errors are those of `naive_bounded_sum`, and an empty vector
    of records is a ValueError too.
    """
    if len(records) == 0:
        raise ValueError("records must not be empty: a mean divides by their number")
    scale = sum_sensitivity(lower, upper, "substitute") / (len(records) * float(positive("epsilon", epsilon)))
    mean = summation(np.clip(records, lower, upper)) / len(records)
    return mean + rng.laplace(0.0, scale, count("trials", trials, least=0))


def sum_sensitivity(lower: float, upper: float, relation: Relation) -> float:
    """Return the sensitivity of the sum, in real arithmetic, of records in [lower, upper]."""
    if not -math.inf < lower < upper < math.inf:
        raise ValueError(f"lower must be less than upper, both finite, not {lower} against {upper}")
    if relation == "add-remove":
        return max(abs(lower), abs(upper))
    if relation == "substitute":
        return upper - lower
    raise ValueError(f"relation must be 'add-remove' or 'substitute', not {relation!r}")

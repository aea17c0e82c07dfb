"""The different ones among many numbers: sorting some ten thousand of them takes less time than hashing them does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def different_values(numbers: NDArray[Any]) -> NDArray[Any]:
    """As `np.unique` has it: each value once, in ascending order, with one NaN at the end if there is any.

    Args:
        numbers: of any type that can be sorted, shape (n,).
    """
    ordered = np.sort(numbers)
    if ordered.dtype.kind == "f":
        ordered = ordered[: int(np.searchsorted(ordered, np.nan)) + 1]
    first = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]

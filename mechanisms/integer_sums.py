"""Exact sums of any number of integers, each a function of one record."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mechanisms.certified import CHUNK


def sum_of_integers(
    values: NDArray[np.float64], integers: Callable[[NDArray[np.float64]], NDArray[np.int64]], greatest: int
) -> int:
    """Map each value to an integer and add these up, exactly.

    A chunk adds up to less than 2^63 in modulus, so that an int64 never wraps around; chunks are added in unbounded
    integers.

    Args:
        values: one a record, shape (n,).
        integers: the map, elementwise; it is called under `np.errstate(all="ignore")`, where no record is an event.
        greatest: the largest modulus of an integer, from 1 to 2^63 − 1.

    Returns:
        The sum.
    """
    chunk_size = min(CHUNK, (2**63 - 1) // greatest)
    with np.errstate(all="ignore"):
        starts = range(0, len(values), chunk_size)
        return sum(map(partial(_sum_from, values, integers, chunk_size), starts))


def _sum_from(
    values: NDArray[np.float64], integers: Callable[[NDArray[np.float64]], NDArray[np.int64]], size: int, start: int
) -> int:
    """Add up the integers of `size` values from one on, or of as many as there are."""
    total: int = integers(values[start : start + size]).sum().item()
    return total

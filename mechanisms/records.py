"""The private records of a database as doubles, whatever they are: a number that cannot be a double raises no error."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray


def doubles(name: str, values: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Take a vector of private numbers as doubles, each rounded as a function of itself alone.

    An integer beyond the largest double counts as infinite, as a wider float does. An OverflowError, or an overflow
    where the caller's numpy raises, would tell that there was one.

    Args:
        name: how an error message names them.
        values: numbers, shape (n,).

    Raises:
        ValueError: `values` is not one-dimensional.
    """
    with np.errstate(all="ignore"):
        try:
            array = np.asarray(values, dtype=np.float64)
        except OverflowError:
            array = np.fromiter(_nearest_doubles(values), dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, not of shape {array.shape}")
    return array


def _nearest_doubles(values: Iterable[float]) -> Iterable[float]:
    for value in values:
        try:
            yield float(value)
        except OverflowError:
            yield math.inf if value > 0 else -math.inf

"""Finite domains, listed whole: utility vectors of a few outcomes, and databases of a few records.

Databases are listed with their records in every order, since a mechanism may depend on the order; so one record deleted
or replaced at any place leads to another database of the list.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.errors import UsageError

MOST_INPUTS = 100_000
"""A longer list of inputs raises an error, because finding their laws would take too long."""


def all_utilities(outcomes: int, values: Sequence[float]) -> list[NDArray[Any]]:
    """Return every vector of utilities for 1 to `outcomes` outcomes, with each utility among `values`.

    Args:
        outcomes: the largest number of outcomes.
        values: the utilities, such as range(9).

    Raises:
        UsageError: `outcomes` is below 1, a value repeats, or there are more than 100,000 vectors.
    """
    return _vectors(1, outcomes, values)


def all_databases(records: int, values: Sequence[Any]) -> list[NDArray[Any]]:
    """Return every database of 0 to `records` records, with each record among `values`.

    Args:
        records: the largest number of records.
        values: numbers, or strings.

    Raises:
        UsageError: `records` is below 1, a value repeats, or there are more than 100,000 databases.
    """
    return _vectors(0, records, values)


def _vectors(least: int, most: int, values: Sequence[Any]) -> list[NDArray[Any]]:
    if most < 1 or not len(values) or len(set(values)) != len(values):
        told = f"not a length of {most} and the values {values!r}"
        raise UsageError(f"a finite domain needs a length of at least 1, and values that are all different, {told}")
    lengths = range(least, most + 1)
    count = sum(len(values) ** length for length in lengths)
    if count > MOST_INPUTS:
        raise UsageError(f"there are {count:,} vectors of up to {most} of {len(values)} values; take fewer or shorter")
    dtype = np.array(list(values)).dtype
    return [np.array(vector, dtype=dtype) for length in lengths for vector in itertools.product(values, repeat=length)]

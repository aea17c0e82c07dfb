"""What a release returned, as one array of outputs: the same in this process and in a child.

The child of an isolated target loads this as a plain file in an interpreter that may have nothing but numpy, and may be
as old as Python 3.8: so it imports nothing of the package and uses no newer syntax.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

PLAIN = {float: np.float64, int: np.int64, bool: np.bool_}
"""Python's numbers, and numpy's type of the same values."""


def gathered(released: Any, trials: int) -> Any:
    """An array of outputs, one a trial along the first axis, no bit of them altered.

    Args:
        released: a list or tuple, whatever gives one output after another, or whatever has `__array__`.
        trials: how many outputs there should be; of an iterator one more is taken at the most.

    Returns:
        The array, of dtype object unless all outputs are numbers of one type; None if this is neither.
    """
    if isinstance(released, Iterator):
        released = list(itertools.islice(released, trials + 1))
    if isinstance(released, (list, tuple)):
        return one_by_one(released)
    if not hasattr(released, "__array__") or isinstance(released, (np.generic, np.ma.MaskedArray)):
        return None
    outputs = np.asarray(released)  # a subclass may compare in a way of its own
    return outputs if outputs.ndim else None


def one_by_one(values: Any) -> Any:
    """An array of the values of a list, whatever they are; of numpy's type if all are numbers of one type."""
    types = set(map(type, values))
    kind = types.pop() if len(types) == 1 else object
    if kind in PLAIN or issubclass(kind, (np.number, np.bool_)):
        try:
            return np.array(values, dtype=PLAIN.get(kind, kind))
        except OverflowError:  # an integer of more than 64 bits
            pass
    return np.fromiter(values, dtype=object, count=len(values))

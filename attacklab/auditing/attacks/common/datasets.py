"""Datasets whose records lie at the bounds, and the path of neighbours from one bound to the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attacklab.auditing.attacks.base import bounds_of
from attacklab.model.targets import Target


def ends(target: Target) -> tuple[float, float]:
    """Two values of a record that are no further apart than the sensitivity under either relation.

    Returns:
        The value near 0 and the value far from it: the bound of smaller magnitude (0 if the bounds' signs differ), and
        the bound of larger magnitude.
    """
    near, far = sorted(bounds_of(target), key=abs)
    return (near, far) if near * far > 0 else (0.0, far)


def on_path(near: float, far: float, size: int, uppers: int) -> NDArray[np.float64]:
    """The dataset of `size` records, the first `uppers` of them at the far value and the others at the near one."""
    records = np.full(size, near)
    records[:uppers] = far
    return records

"""Datasets at the ends of the bounds of a record, and the path of neighbours from one end to the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import bounds_of
from attacklab.targets import Target


def ends(target: Target) -> tuple[float, float]:
    """The ends of the path: the bound of larger magnitude, and the other or, where the signs differ, 0.

    Returns:
        The end near 0 and the one far from it; they are no further apart than either relation's sensitivity.
    """
    near, far = sorted(bounds_of(target), key=abs)
    return (near, far) if near * far > 0 else (0.0, far)


def on_path(near: float, far: float, size: int, uppers: int) -> NDArray[np.float64]:
    """The dataset of `size` records of which the first `uppers` lie at the far end."""
    records = np.full(size, near)
    records[:uppers] = far
    return records

"""Noise scaled to a local sensitivity that jumps: the median.

On some databases no neighbour moves the median at all, so that no noise is added, and on a neighbour of theirs one
record moves it by as much as any record could. One answer tells the two apart, wherever the first one's answer is
what noise would have to hit by chance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mechanisms.core.numbers import count, positive


def naive_median(
    records: NDArray[np.float64], trials: int, rng: np.random.Generator, *, lower: float, upper: float, epsilon: float
) -> NDArray[np.float64]:
    """Release the lower median of the records with noise scaled to how far one record can move it from here."""
    positive("epsilon", epsilon)
    if not lower < upper:
        raise ValueError(f"lower must be less than upper, not {lower!r} against {upper!r}")
    ordered = np.sort(np.clip(records, lower, upper))
    below, median, above = np.concatenate([[lower, lower], ordered, [upper]])[(len(ordered) + 1) // 2 :][:3]
    sensitivity = max(above - median, median - below)
    return float(median) + rng.laplace(0.0, sensitivity / epsilon, count("trials", trials, least=0))

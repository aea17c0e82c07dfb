"""The median, privately; its local sensitivity jumps.

The noise is scaled to a smooth bound over all distances, in integers, or to a proposed bound behind a noisy test. The
query bounds its local sensitivity at each distance: see `mechanisms.core.local.Median`.
"""

from __future__ import annotations

from mechanisms.core.grid import Grid
from mechanisms.core.local import Median
from mechanisms.core.numbers import Number, rational
from mechanisms.core.smooth import Smooth, smooth
from mechanisms.core.tested import Tested, propose_test_release


def exact_median_smooth(*, epsilon: Number, delta: Number, lower: Number, upper: Number, grid: Grid) -> Smooth:
    """Return the lower median with noise of scale 2S/ε: (ε, δ)-DP if a record is added, removed or replaced."""
    return smooth(Median(rational("lower", lower), rational("upper", upper), grid), epsilon, delta)


def exact_median_ptr(
    *, epsilon: Number, delta: Number, bound: Number, lower: Number, upper: Number, grid: Grid
) -> Tested:
    """Return propose-test-release of the lower median: (ε, δ)-DP if a record is added, removed or replaced.

    Arguments and errors as in `exact_median_smooth`; besides, `bound` is the proposed bound on the local sensitivity,
    at least a step of the grid and less than upper − lower, which is rounded down to the grid.
    """
    return propose_test_release(Median(rational("lower", lower), rational("upper", upper), grid), bound, epsilon, delta)

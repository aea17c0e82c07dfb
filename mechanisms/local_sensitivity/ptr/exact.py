"""Propose-test-release of the mean, with a test that errs with probability at most δ.

We differ from the textbook in three places: the threshold comes from the tail of the noise that is drawn, the test and
the release spend half of ε each, and removing a person counts as well as adding one.
Source: Dwork and Lei 2009 (the framework); Near and Abuah, section 8.3 (for the mean).
"""

from __future__ import annotations

from mechanisms.core.grid import Grid
from mechanisms.core.local import Mean
from mechanisms.core.numbers import Number, rational
from mechanisms.core.tested import Tested, propose_test_release


def exact_ptr_mean(
    *, epsilon: Number, delta: Number, bound: Number, lower: Number, upper: Number, grid: Grid
) -> Tested:
    """Return the mean with noise for a proposed bound, or None if a test refuses: (ε, δ)-DP by adding or removing.

    Args:
        epsilon: ε, above 0; a float stands for the rational that it is.
        delta: δ, above 0 and below 1/2.
        bound: the proposed bound on the local sensitivity, less than upper − lower; it is rounded down to the grid.
        lower: the least value of a record, a point of the grid.
        upper: the largest one, a point of the grid.
        grid: the public grid that records and the mean are rounded to.

    Raises:
        TypeError: a parameter is not a number.
        ValueError: a parameter is out of its range, or the noise is too large for the grid.
    """
    return propose_test_release(Mean(rational("lower", lower), rational("upper", upper), grid), bound, epsilon, delta)

"""The mean with noise scaled to its smooth sensitivity over every distance, in integers.

Source: Nissim, Raskhodnikova and Smith 2007, sections 2 and 3; Near and Abuah, section 8.4.
"""

from __future__ import annotations

from mechanisms.core.grid import Grid
from mechanisms.core.local import Mean
from mechanisms.core.numbers import Number, rational
from mechanisms.core.smooth import Smooth, smooth


def exact_smooth_mean(*, epsilon: Number, delta: Number, lower: Number, upper: Number, grid: Grid) -> Smooth:
    """Return the mean with noise of scale 2S/ε: (ε, δ)-DP if a record is added or removed.

    Args:
        epsilon: ε, above 0; a float stands for the rational that it is.
        delta: δ, above 0 and at most 1/2.
        lower: the least value of a record, a point of the grid.
        upper: the largest one, a point of the grid.
        grid: the public grid that records and the mean are rounded to.

    Raises:
        TypeError: a parameter is not a number.
        ValueError: a parameter is out of its range, or the noise may be too large for the grid.
    """
    return smooth(Mean(rational("lower", lower), rational("upper", upper), grid), epsilon, delta)

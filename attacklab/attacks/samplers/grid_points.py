"""Search windows of grid points: shared by the models that invert a sampler of uniforms on a grid.

Every row (an output, or a pair of outputs) has a window of its own. The points of all windows are listed one after
another, so that windows of any widths are searched in one go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from attacklab.model.floats import Doubles

Integers: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]

MOST_POINTS = 1 << 10  # rows with more candidates than this are not searched


@dataclass(frozen=True, slots=True)
class GridPoints:
    """The grid points of many windows, one after another.

    Attributes:
        rows: the row that each point belongs to.
        values: the points, as multiples of the grid's spacing.
        counts: how many points each row has. If there are more than allowed, the count is one more than allowed, and
            none of them is listed.
    """

    rows: Integers
    values: Doubles
    counts: Integers

    @classmethod
    def within(cls, centre: Doubles, width: Doubles, spacing: float, least: float, greatest: float) -> GridPoints:
        """The multiples of the spacing from centre − width to centre + width.

        Args:
            centre: one for each row; NaN gives no points.
            width: one for each row.
            spacing: the grid's spacing.
            least: the least multiple on the grid.
            greatest: the greatest multiple on the grid.
        """
        low = np.maximum(np.ceil((centre - width) / spacing), least)
        high = np.minimum(np.floor((centre + width) / spacing), greatest)
        counts = np.where(low <= high, np.minimum(high - low + 1, MOST_POINTS + 1), 0).astype(np.int64)
        rows, place = _enumerated(np.where(too_many(counts), 0, counts))
        return cls(rows, low[rows] + place, counts)

    def with_each_of(self, points: GridPoints, wanted: Bools) -> tuple[Integers, Integers]:
        """Every combination of a point with one of the other's in the same row, for the wanted rows.

        Returns:
            The index of the point, and the index of the other's point, of each combination.
        """
        first_of_row = np.searchsorted(points.rows, np.arange(len(points.counts)))
        mine, place = _enumerated(np.where(wanted, points.counts, 0)[self.rows])
        return mine, first_of_row[self.rows][mine] + place


def too_many(candidates: Integers) -> Bools:
    """Which counts are not worth a search: with so many candidates, one is taken to give the output."""
    return np.greater(candidates, MOST_POINTS)


def marked(certain: Bools, rows: Integers) -> Bools:
    """A bool for each row: true if the row is certain or listed."""
    marks = certain.copy()
    marks[rows] = True
    return marks


def _enumerated(counts: Integers) -> tuple[Integers, Integers]:
    """0 … count − 1 for each count: which count each number belongs to, and the number."""
    owners = np.repeat(np.arange(len(counts)), counts)
    return owners, np.arange(len(owners)) - (np.cumsum(counts) - counts)[owners]

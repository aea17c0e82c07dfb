"""The public range of a record, and the exact sum of records that are clipped to it and rounded to a grid."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mechanisms.grid import Grid
from mechanisms.integer_sums import sum_of_integers
from mechanisms.private_numbers import PrivateNumbers, doubles
from mechanisms.summation.relations import Relation, sum_sensitivity


@dataclass(frozen=True)
class Bounds:
    """The public range of a record, both of whose ends are points of the grid.

    Args:
        lower: the least value of a record.
        upper: the largest value of a record.
        grid: the public grid that records are rounded to.

    Raises:
        ValueError: lower ≥ upper, or a bound is not finite or not on the grid.
        TypeError: a bound is not a number.
    """

    lower: float | Fraction
    upper: float | Fraction
    grid: Grid

    def __post_init__(self) -> None:
        for name, end in (("lower", self.lower), ("upper", self.upper)):
            self.grid.steps_of(name, end)
        self.sensitivity("substitute")

    def sensitivity(self, relation: Relation) -> Fraction:
        """Return how far one person moves the total, which some pair of neighbours attains.

        Raises:
            ValueError: the relation is neither add-remove nor substitute.
        """
        return sum_sensitivity(Fraction(self.lower), Fraction(self.upper), relation)

    def steps(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Clip each value and round it to the grid; NaN counts as the lower bound.

        Rounding may go either way, as each value goes its own. A step is a power of two, so dividing by it is exact but
        for underflows, which round to 0 anyway.

        Args:
            values: shape (n,).

        Returns:
            Whole numbers of steps from 0, shape (n,).
        """
        steps = np.fmin(np.fmax(values, float(self.lower)), float(self.upper))
        steps *= 2.0**-self.grid.exponent
        return np.rint(steps, out=steps).astype(np.int64)

    def total(self, records: PrivateNumbers) -> Fraction:
        """Add up the clipped and rounded records, exactly.

        Args:
            records: shape (n,).

        Returns:
            The sum, a multiple of the grid's step.

        Raises:
            ValueError: `records` is not one-dimensional.
        """
        return self.total_and_count(records)[0]

    def total_and_count(self, records: PrivateNumbers) -> tuple[Fraction, int]:
        """Return the `total` and the number of records."""
        values = doubles("records", records)
        greatest = int(self.sensitivity("add-remove") / self.grid.step)
        return sum_of_integers(values, self.steps, greatest) * self.grid.step, len(values)


@dataclass(frozen=True)
class NarrowBounds:
    """The public range of a record that is narrow beside the record itself: records count from its lower end.

    Counted from 0 they would be more steps of the grid than a double holds. What is left out, the lower end times the
    number of records, is public where neighbours substitute a record, and there alone.

    Args:
        lower: the least value of a record.
        upper: the largest value of a record.
        grid: the public grid that differences to `lower` are rounded to.

    Raises:
        ValueError: lower ≥ upper, or their difference is not on the grid.
    """

    lower: float
    upper: float
    grid: Grid

    def __post_init__(self) -> None:
        self.above  # noqa: B018 # checks the range

    @property
    def above(self) -> Bounds:
        """The range of what a record has above `lower`."""
        return Bounds(0, Fraction(self.upper) - Fraction(self.lower), self.grid)

    def steps(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Clip each value and round what it has above `lower` to the grid; NaN counts as the lower bound.

        A difference need not be exact, as each value goes its own way.

        Args:
            values: shape (n,).

        Returns:
            Whole numbers of steps from `lower`, shape (n,).
        """
        return self.above.steps(np.clip(values, self.lower, self.upper) - self.lower)

    def total_and_count(self, records: PrivateNumbers) -> tuple[Fraction, int]:
        """Add up what the clipped and rounded records have above `lower`, exactly.

        Args:
            records: shape (n,).

        Returns:
            The sum, a multiple of the grid's step, and the number of records.

        Raises:
            ValueError: `records` is not one-dimensional.
        """
        values = doubles("records", records)
        greatest = int(self.sensitivity / self.grid.step)
        return sum_of_integers(values, self.steps, greatest) * self.grid.step, len(values)

    @property
    def sensitivity(self) -> Fraction:
        """How far substituting one record moves the total."""
        return self.above.sensitivity("substitute")

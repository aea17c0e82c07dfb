"""The public range of a record, and the exact sum of records that are clipped to it and rounded to a grid."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from mechanisms.certified import CHUNK
from mechanisms.grid import Grid
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

    def total(self, records: PrivateNumbers) -> Fraction:
        """Add up the clipped and rounded records, exactly.

        A record takes part as a function of itself alone, so rounding it may go either way; NaN counts as the lower
        bound. A chunk adds up to less than 2^63 in magnitude, so an int64 never wraps around; a step is a power of two,
        so dividing by it is exact but for underflows, which round to 0 anyway.

        Args:
            records: shape (n,).

        Returns:
            The sum, a multiple of the grid's step.

        Raises:
            ValueError: `records` is not one-dimensional.
        """
        values = doubles("records", records)
        lower, upper = float(self.lower), float(self.upper)
        most_steps = int(self.sensitivity("add-remove") / self.grid.step)
        chunk_size = min(CHUNK, (2**63 - 1) // most_steps)
        total = 0
        with np.errstate(all="ignore"):  # under a caller's np.seterr(all="raise") an underflow would be an event
            for start in range(0, len(values), chunk_size):
                clipped = np.fmin(np.fmax(values[start : start + chunk_size], lower), upper)
                clipped *= 2.0**-self.grid.exponent
                total += int(np.rint(clipped, out=clipped).astype(np.int64).sum())
        return total * self.grid.step

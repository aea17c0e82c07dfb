"""The public domain of a record: a range of a public grid, counted in steps.

Every value that depends on the data becomes an integer, a number of grid steps, before anything is added up. From then
on the arithmetic is exact, and README.md proves how many steps one person can change.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from mechanisms.grid import Grid
from mechanisms.integer_sums import sum_of_integers
from mechanisms.parameters import positive_rational
from mechanisms.private_numbers import PrivateNumbers, doubles

GREATEST_WIDTH = 1 << 31
"""Positions are at most this, far within the 53 bits of a double."""

Integers = TypeVar("Integers", int, NDArray[np.int64])


def nearest_integer(numerator: Integers, denominator: Integers | int) -> Integers:
    """Round a quotient, halves upwards, so that adding an integer to it adds that integer to the result.

    Args:
        numerator: an integer, or int64s; nothing is doubled, so that none overflows.
        denominator: above 0, of the same kind or a single integer.
    """
    quotient = numerator // denominator
    rest = numerator - quotient * denominator
    return quotient + (rest >= denominator - rest)


@dataclass(frozen=True)
class Domain:
    """The grid points from lower to upper; a *position* is a number of steps above lower.

    Args:
        lower: the least value of a record, a point of the grid.
        upper: the largest value of a record, a point of the grid.
        grid: the grid that records and answers are rounded to.

    Raises:
        TypeError: a bound is not a number.
        ValueError: a bound is not a point of the grid, lower ≥ upper, or they are more than 2^31 steps apart.
    """

    lower: float | Fraction
    upper: float | Fraction
    grid: Grid

    def __post_init__(self) -> None:
        for name, bound in (("lower", self.lower), ("upper", self.upper)):
            self.grid.steps_of(name, bound)
        if not 0 < self.width <= GREATEST_WIDTH:
            raise ValueError(
                f"upper must lie 1 to 2^31 steps of {self.grid.step} above lower, not {self.upper} above {self.lower}"
            )

    @cached_property
    def _lower_steps(self) -> int:
        return self.grid.steps_of("lower", self.lower)

    @cached_property
    def width(self) -> int:
        """The number of steps from lower to upper."""
        return self.grid.steps_of("upper", self.upper) - self._lower_steps

    @property
    def middle(self) -> int:
        """The position that stands for an answer that does not exist, such as the mean of nobody."""
        return self.width // 2

    def privacy_loss(self, epsilon: float | Fraction) -> Fraction:
        """Check the ε of a mechanism whose noise has a scale of at most 2·`width`/ε steps, and return it as a rational.

        Raises:
            TypeError: `epsilon` is not a number.
            ValueError: `epsilon` is not finite and above 0, or the grid is too fine for the noise; see
                `Grid.noise_steps`. All of that is public.
        """
        exact_epsilon = positive_rational("epsilon", epsilon)
        self.grid.noise_steps(2 * self.width / exact_epsilon)
        return exact_epsilon

    def positions(self, values: PrivateNumbers) -> NDArray[np.int64]:
        """Round values to the grid; NaN goes to the middle, what lies outside to the nearer end.

        Each position is a function of its own value alone, since the binary64 operations below are correctly
        rounded wherever in the array they happen; that is all that privacy needs of them.

        Args:
            values: numbers, shape (n,).

        Returns:
            Integers in [0, width], shape (n,).

        Raises:
            ValueError: `values` is not one-dimensional.
        """
        array = doubles("values", values)
        with np.errstate(all="ignore"):  # a warning would tell that a record overflows
            return self.positions_of_doubles(array)

    def positions_of_doubles(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the `positions` of doubles; what numpy makes of overflows and of NaN is the caller's to ignore."""
        steps = np.rint(values / float(self.grid.step)) - float(self._lower_steps)
        return np.where(np.isnan(steps), self.middle, np.clip(steps, 0, self.width)).astype(np.int64)

    def total_and_count(self, values: PrivateNumbers) -> tuple[int, int]:
        """Add up the `positions` of values, exactly.

        Args:
            values: numbers, shape (n,).

        Returns:
            The sum of the positions, and n.

        Raises:
            ValueError: `values` is not one-dimensional.
        """
        array = doubles("values", values)
        return sum_of_integers(array, self.positions_of_doubles, self.width), len(array)

    def value(self, position: int) -> float:
        """Return the grid point at a position, which may lie outside the range."""
        return self.grid.value(self._lower_steps + position)

    def values(self, positions: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the grid points at positions of at most 2^61 in modulus, shape (n,); see `value`."""
        return self.grid.values(self._lower_steps + positions)

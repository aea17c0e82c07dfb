"""Sets of numbers that a target takes, such as integers, doubles, non-negative numbers, or numbers within bounds."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from attacklab.model.errors import UsageError, UsageTypeError
from attacklab.model.neighbours import as_array


def as_bounds(bounds: Any, label: str = "bounds") -> tuple[float, float]:
    """Return two bounds as floats, because integer bounds would make arrays of integers, which cut off fractions.

    Raises:
        UsageError: they are not finite, or not in order. If they are not two numbers, this is a `UsageTypeError`.
    """
    try:
        lower, upper = map(float, bounds)
    except (TypeError, ValueError):
        raise UsageTypeError(f"{label} must be two numbers, lower and upper, not {bounds!r}") from None
    if not (math.isfinite(lower) and math.isfinite(upper) and lower < upper):
        raise UsageError(f"{label} must be finite and lower < upper, not {bounds}")
    return lower, upper


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """A set of numbers.

    Attributes:
        integers: whether it holds integers only; they come as `int` or in arrays of integers, unless `floats_only`.
        non_negative: whether it holds no number below 0.
        bounds: the least and the largest number in it; None for no such limits.
        floats_only: whether its numbers come as doubles only, never as Python's or numpy's integers.
        special: whether NaN and the infinities belong to it. None means: for records of sums and means, if integers,
            non_negative and bounds are at their defaults; otherwise not.
    """

    integers: bool = False
    non_negative: bool = False
    bounds: tuple[float, float] | None = None
    floats_only: bool = False
    special: bool | None = None

    def __post_init__(self) -> None:
        for name in ("integers", "non_negative", "floats_only", "special"):
            value = getattr(self, name)
            if not (isinstance(value, bool) or (name == "special" and value is None)):
                raise UsageTypeError(f"{name} of a domain must be True or False, not {value!r}")
        if self.bounds is not None:
            object.__setattr__(self, "bounds", as_bounds(self.bounds, "bounds of a domain"))
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise UsageError(f"a domain must hold two numbers, but fewer lie within {self.bounds}; widen the bounds")

    @property
    def low(self) -> Fraction | None:
        """The least number in the set; None if there is none."""
        lows = [] if self.bounds is None else [Fraction(self.bounds[0])]
        lows += [Fraction(0)] if self.non_negative else []
        return None if not lows else Fraction(math.ceil(max(lows))) if self.integers else max(lows)

    @property
    def high(self) -> Fraction | None:
        """The largest number in the set; None if there is none."""
        if self.bounds is None:
            return None
        return Fraction(math.floor(self.bounds[1])) if self.integers else Fraction(self.bounds[1])

    def holds(self, numbers: Any) -> bool:
        """Whether a number, or every number of an array, is in the set, by value and by type."""
        values = as_array(numbers)
        whole = values.dtype.kind in "iu" or (values.dtype == object and all(type(item) is int for item in values.flat))
        if values.dtype != np.float64 if self.floats_only else not whole and values.dtype.kind != "f":
            return False
        if not whole:
            finite = np.isfinite(values)
            if not (self.special or finite.all()):
                return False
            values = values[finite]
            if self.integers and not (self.floats_only and bool((values == np.floor(values)).all())):
                return not values.size
        return not values.size or self._lie_between_ends(values)

    def _lie_between_ends(self, values: np.ndarray[Any, Any]) -> bool:
        # Python compares integers and floats exactly; numpy would round large integers first.
        least, largest = (np.asarray(end).item() for end in (values.min(), values.max()))
        return bool((self.low is None or least >= self.low) and (self.high is None or largest <= self.high))

    def ends(self) -> tuple[float, float] | tuple[int, int]:
        """Return the least and the largest number; without a bound on one side (or both), two numbers 1 apart."""
        low, high = self.low, self.high
        if low is None:
            low = Fraction(0) if high is None else high - 1
        if high is None:
            high = low + 1
        return self.typed(low), self.typed(high)

    def typed(self, value: Fraction) -> Any:
        """Return a number in the type of this set: an `int` if it holds only integers, else a double."""
        return int(value) if self.integers and not self.floats_only else float(value)

    def vector(self, values: Sequence[float]) -> np.ndarray[Any, np.dtype[Any]]:
        """Return numbers of the set as an array of 64-bit integers or of doubles, as the set has them."""
        return np.array(values, dtype=np.int64 if self.integers and not self.floats_only else np.float64)

    @property
    def origin(self) -> Any:
        """The number in the set that is nearest to 0, in the type of the set."""
        value = Fraction(0) if self.low is None else max(Fraction(0), self.low)
        return self.typed(value if self.high is None else min(value, self.high))

    def cast(self, numbers: Any) -> Any:
        """Return the same numbers in the type of this set, or unchanged if the conversion would change a value."""
        values = as_array(numbers)
        if self.floats_only:
            wanted: np.dtype[Any] = np.dtype(np.float64)
        elif self.integers and values.dtype.kind == "f":
            wanted = np.dtype(np.int64)
        else:
            return numbers
        try:
            with np.errstate(invalid="ignore"):
                same = values.astype(wanted)
        except (TypeError, ValueError, OverflowError):
            return numbers
        # Python compares integers and floats exactly.
        if same.dtype == values.dtype or same.tolist() != values.tolist():
            return numbers
        return same if values.ndim else same.item()

    def nearest(self, first: Any, second: Any, sensitivity: float | None) -> tuple[Any, Any] | None:
        """Move the numbers of two inputs into this set.

        With a sensitivity, all numbers first move by one shift, towards the set. Numbers that are still outside then
        move to the nearest end, so no two numbers get further apart.

        Args:
            first: a number or a vector of numbers.
            second: another number or vector.
            sensitivity: the largest allowed difference of two numbers at one index; None for datasets, whose records
                move independently.

        Returns:
            The two inputs in the types of this set; None if they hold values that are not finite, or if an integer
            would not fit in 64 bits.
        """
        sides = [as_array(side) for side in (first, second)]
        whole = not self.floats_only and (self.integers or all(side.dtype.kind in "iuO" for side in sides))
        moved = self._moved_together([side.ravel().tolist() for side in sides], sensitivity, whole=whole)
        if moved is None:
            return None
        if sides[0].ndim == 0:
            return moved[0][0], moved[1][0]
        try:
            return tuple(np.array(side, dtype=np.int64 if whole else np.float64) for side in moved)  # type: ignore[return-value] # two
        except OverflowError:
            return None

    def _moved_together(
        self, listed: list[list[Any]], sensitivity: float | None, *, whole: bool
    ) -> list[list[Any]] | None:
        try:
            exact = {value: Fraction(value) for side in listed for value in side}  # datasets repeat few values often
        except (ValueError, OverflowError, TypeError):
            return None
        shift = self._shift(list(exact.values())) if sensitivity is not None else Fraction(0)
        places = {value: self._moved(number + shift, whole=whole) for value, number in exact.items()}
        moved = [[places[value] for value in side] for side in listed]
        if sensitivity is not None:
            moved[1] = [_brought_near(a, b, Fraction(sensitivity)) for a, b in zip(*moved, strict=True)]
        return moved

    def _shift(self, values: list[Fraction]) -> Fraction:
        least, largest = min(values, default=Fraction(0)), max(values, default=Fraction(0))
        if self.low is not None and least < self.low:
            return self.low - least
        if self.high is not None and largest > self.high:
            return self.high - largest
        return Fraction(0)

    def _moved(self, value: Fraction, *, whole: bool) -> Any:
        value = Fraction(math.floor(value)) if self.integers else value
        value = value if self.low is None else max(value, self.low)
        value = value if self.high is None else min(value, self.high)
        if whole:
            return int(value)
        return math.copysign(sys.float_info.max, value) if abs(value) > sys.float_info.max else float(value)


def _brought_near(number: Any, second: Any, sensitivity: Fraction) -> Any:
    """Return the second number or, if it is further than the sensitivity from the first, one that is not."""
    if isinstance(number, int):
        reach = math.floor(sensitivity)
        return min(max(second, number - reach), number + reach)
    if abs(Fraction(number) - Fraction(second)) <= sensitivity:
        return second
    farthest = float(Fraction(number) + (sensitivity if second > number else -sensitivity))
    is_near = abs(Fraction(number) - Fraction(farthest)) <= sensitivity
    return farthest if is_near else math.nextafter(farthest, number)

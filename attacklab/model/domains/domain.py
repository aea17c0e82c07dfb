"""Domains: the inputs on which a target's claim holds. Attacks use no others, since failures on others are no flaw."""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from attacklab.model.domains.shapes import SHAPES, Queries, Shape
from attacklab.model.errors import UsageError, UsageTypeError
from attacklab.model.neighbours import NeighbouringPair, Relation, as_array, fingerprint, require_near


def as_bounds(bounds: Any, label: str = "bounds") -> tuple[float, float]:
    """Return two bounds as floats, because integer bounds would make arrays of integers, which cut off fractions.

    Raises:
        UsageError: they are not finite, or not in order. If they are not two numbers, this is a `UsageTypeError`.
    """
    try:
        lower, upper = map(float, bounds)
    except OverflowError:
        lower = upper = math.inf
    except (TypeError, ValueError):
        raise UsageTypeError(f"{label} must be two numbers, lower and upper, not {bounds!r}") from None
    if not (math.isfinite(lower) and math.isfinite(upper) and lower < upper):
        raise UsageError(f"{label} must be finite and lower < upper, not {bounds}")
    return lower, upper


@dataclass(frozen=True, kw_only=True)
class Domain:
    """The inputs of a target.

    As a set of numbers it holds the answers, utilities or records that the target takes. For a DATASET target these are
    the numbers in its queries, records or streams.

    Attributes:
        integers: whether it holds integers only; they come as `int` or in arrays of integers, unless `floats_only`.
        non_negative: whether it holds no number below 0.
        bounds: the least and the largest number in it; None for no such limits.
        floats_only: whether its numbers come as doubles only, never as Python's or numpy's integers.
        special: whether NaN and the infinities belong to it. None means True for sums and means if integers,
            non_negative and bounds are at their defaults, and otherwise False.
        shape: what the input of a DATASET target looks like; None for the other kinds.

    Raises:
        UsageError: a field is out of range, or the set holds fewer than two numbers.
    """

    integers: bool = False
    non_negative: bool = False
    bounds: tuple[float, float] | None = None
    floats_only: bool = False
    special: bool | None = None
    shape: Shape | None = None

    def __post_init__(self) -> None:
        for name in ("integers", "non_negative", "floats_only", "special"):
            value = getattr(self, name)
            if not (isinstance(value, bool) or (name == "special" and value is None)):
                raise UsageTypeError(f"{name} of a domain must be True or False, not {value!r}")
        if self.bounds is not None:
            object.__setattr__(self, "bounds", as_bounds(self.bounds, "bounds of a domain"))
        if self.low >= self.high:
            raise UsageError(f"a domain must hold two numbers, but fewer lie within {self.bounds}; widen the bounds")
        if self.shape is not None and not isinstance(self.shape, SHAPES):
            named = ", ".join(shape.__name__ for shape in SHAPES)
            raise UsageTypeError(f"shape of a domain must be one of {named}, not {self.shape!r}")

    def _declared(self) -> dict[str, Any]:
        stated = {field: getattr(self, field.name) for field in fields(self)}
        return {field.name: value for field, value in stated.items() if value != field.default}

    def __str__(self) -> str:
        return f"Domain({', '.join(f'{name}={value!r}' for name, value in self._declared().items())})"

    @property
    def low(self) -> Fraction | float:
        """The least number in the set; −∞ if there is none."""
        low = max(-math.inf if self.bounds is None else self.bounds[0], 0.0 if self.non_negative else -math.inf)
        return low if math.isinf(low) else Fraction(math.ceil(low) if self.integers else low)

    @property
    def high(self) -> Fraction | float:
        """The largest number in the set; ∞ if there is none."""
        if self.bounds is None:
            return math.inf
        return Fraction(math.floor(self.bounds[1]) if self.integers else self.bounds[1])

    @property
    def _has_ints(self) -> bool:
        return self.integers and not self.floats_only

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
        # Python compares integers and floats exactly; numpy would round large integers first.
        ends = [np.asarray(end).item() for end in (values.min(), values.max())] if values.size else []
        return all(self.low <= end <= self.high for end in ends)

    def ends(self) -> tuple[float, float] | tuple[int, int]:
        """Return the least and the largest number; without a bound on one side (or both), two numbers 1 apart."""
        low, high = self.low, self.high
        if math.isinf(low):
            low = Fraction(0) if math.isinf(high) else high - 1
        return self.typed(low), self.typed(low + 1 if math.isinf(high) else high)

    def typed(self, value: Fraction | float) -> Any:
        """Return a number in the type of this set: an `int` if it holds only integers, else a double."""
        return int(value) if self._has_ints else float(value)

    def vector(self, values: Sequence[float]) -> np.ndarray[Any, np.dtype[Any]]:
        """Return numbers as an array: of 64-bit integers if this set holds only `int`, else of doubles."""
        return np.array(values, dtype=np.int64 if self._has_ints else np.float64)

    @property
    def origin(self) -> Any:
        """The number in the set that is nearest to 0, in the type of the set."""
        return self.typed(min(max(Fraction(0), self.low), self.high))

    def cast(self, numbers: Any) -> Any:
        """Return the same numbers in the type of this set, or unchanged if the conversion would change a value."""
        values = as_array(numbers)
        if not (self.floats_only or (self.integers and values.dtype.kind == "f")):
            return numbers
        try:
            with np.errstate(invalid="ignore"):
                same = values.astype(np.float64 if self.floats_only else np.int64)
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
        whole = not self.floats_only and (self.integers or {side.dtype.kind for side in sides} <= set("iuO"))
        listed = [side.ravel().tolist() for side in sides]
        try:
            exact = {value: Fraction(value) for side in listed for value in side}  # datasets repeat few values often
        except (ValueError, OverflowError, TypeError):
            return None
        shift = Fraction(0) if sensitivity is None else self._shift(exact.values())
        places = {value: self._moved(number + shift, whole=whole) for value, number in exact.items()}
        left, right = (list(map(places.__getitem__, side)) for side in listed)
        if sensitivity is not None:
            right = list(map(partial(_brought_near, sensitivity=Fraction(sensitivity)), left, right))
        return (left[0], right[0]) if sides[0].ndim == 0 else _vectors(left, right, np.int64 if whole else np.float64)

    def _shift(self, numbers: Collection[Fraction]) -> Fraction:
        """Return the shift that moves numbers towards this set: inside at one end if not at both, 0 if they are."""
        least, most = min(numbers, default=Fraction(0)), max(numbers, default=Fraction(0))
        return Fraction(max(least, self.low) - least or min(most, self.high) - most)

    def _moved(self, value: Fraction, *, whole: bool) -> Any:
        largest = math.inf if whole else sys.float_info.max
        low, high = max(self.low, -largest), min(self.high, largest)
        placed = min(max(Fraction(math.floor(value)) if self.integers else value, low), high)
        return int(placed) if whole else float(placed)

    def contains(self, input_: Any) -> bool:
        """Whether a target with this domain takes an input."""
        if self.shape is None:
            return as_array(input_).ndim <= 1 and self.holds(input_)
        return self.shape.contains(input_, self)

    def covers(self, pair: NeighbouringPair) -> bool:
        """Whether both inputs lie in the domain, and are neighbours in a way that its shape allows."""
        if not (self.contains(pair.first) and self.contains(pair.second)):
            return False
        if isinstance(self.shape, Queries):
            return self.shape.neighbours(pair)
        return self.shape is None or pair.relation in self.shape.relations

    def pairs(self, relation: Relation | None) -> Iterator[NeighbouringPair]:
        """Yield neighbouring pairs of this shape, each once. Without a shape, yield none.

        Args:
            relation: the relation of the claim; None for all relations that the shape has.
        """
        seen = set()
        for pair in () if self.shape is None else self.shape.pairs(relation, self):
            key = tuple(map(fingerprint, (pair.first, pair.second)))
            if key not in seen:
                seen.add(key)
                yield pair

    def adapted(self, pair: NeighbouringPair, sensitivity: float) -> NeighbouringPair | None:
        """Return the pair if the domain covers it, else the nearest covered pair, or None if there is none.

        Args:
            pair: a pair of answers, utilities or datasets.
            sensitivity: the most that an answer or a utility moves between neighbours.
        """
        cast = NeighbouringPair(self.cast(pair.first), self.cast(pair.second), pair.relation)
        if self.covers(cast):
            return cast
        if self.shape is not None:
            return None
        placed = self.nearest(pair.first, pair.second, None if pair.relation else sensitivity)
        if placed is None or np.array_equal(*placed):
            return None
        try:
            if pair.relation is None:
                require_near(*placed, sensitivity)
            else:
                NeighbouringPair.records(*placed, pair.relation)
        except UsageError:
            return None
        moved = NeighbouringPair(*placed, pair.relation)
        return moved if self.covers(moved) else None

    def to_json(self) -> dict[str, Any]:
        """Return the domain as plain JSON values: the fields not at their defaults, with floats as hex strings."""
        return {name: _plain(value) for name, value in self._declared().items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Domain:
        """Read a domain from the JSON values of `to_json`.

        Raises:
            UsageError: a field is unknown, malformed or out of range.
        """
        if not isinstance(data, Mapping):
            raise UsageError(f"a domain must be a JSON object, not {data!r}")
        forms = {known.form: known for known in SHAPES}
        try:
            values = {name: _read(name, value) for name, value in data.items()}
            if (shape := data.get("shape")) is not None:
                if not isinstance(shape, Mapping) or shape.get("form") not in forms:
                    raise UsageError(f"shape of a domain must have a form out of {', '.join(forms)}, not {shape!r}")
                options = {name: _read(name, value) for name, value in shape.items() if name != "form"}
                values["shape"] = forms[shape["form"]](**options)
            return cls(**values)
        except UsageError:
            raise
        except (OverflowError, TypeError, ValueError) as error:
            raise UsageError(f"not a domain: {str(error).rpartition('.__init__() ')[2]}") from error


def _vectors(first: Sequence[Any], second: Sequence[Any], dtype: Any) -> tuple[Any, Any] | None:
    """Return two lists of numbers as arrays of a type; None if an integer would not fit in it."""
    try:
        return np.array(first, dtype=dtype), np.array(second, dtype=dtype)
    except OverflowError:
        return None


def _brought_near(number: Any, second: Any, sensitivity: Fraction) -> Any:
    """Return `second`, moved towards `number` if the two are further apart than the sensitivity."""
    if isinstance(number, int):
        reach = math.floor(sensitivity)
        return min(max(second, number - reach), number + reach)
    if abs(Fraction(number) - Fraction(second)) <= sensitivity:
        return second
    farthest = float(Fraction(number) + (sensitivity if second > number else -sensitivity))
    is_near = abs(Fraction(number) - Fraction(farthest)) <= sensitivity
    return farthest if is_near else math.nextafter(farthest, number)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, SHAPES):
        return {"form": value.form, **{field.name: _plain(getattr(value, field.name)) for field in fields(value)}}
    return str(value) if isinstance(value, str) else value


def _read(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_read(name, item) for item in value)
    return float.fromhex(value) if name in ("bounds", "sensitivity") and isinstance(value, str) else value

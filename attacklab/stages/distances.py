"""How far two outputs of a deterministic stage lie apart, as an exact fraction.

A float is the rational number that it is, so no distance is rounded. NaN is an output of its own, as are the two
infinities, an exception, and an output of another form or size: each is infinitely far from any other output.

Sources: McSherry 2009, 'Privacy Integrated Queries', on the stability of a transformation; Casacuberta, Shoemate,
Vadhan and Wagaman 2022, 'Widespread Underestimation of Sensitivity in Differentially Private Libraries and How to Fix
It', on what floats add to it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import Any, TypeAlias

import numpy as np

from attacklab.model.claims import Metric
from attacklab.model.errors import UsageError

Distance: TypeAlias = Fraction | float
"""An exact fraction, or `math.inf`."""


class Unmeasurable(UsageError):
    """An output that the metric cannot measure."""


class Raised(str):
    """The output of a call that raised. Its distance is 0 from any other such output, and infinite from all others."""

    __slots__ = ()
    __repr__ = str.__str__


def powered_distance(first: Any, second: Any, metric: Metric) -> Distance:
    """Return the distance between two outputs; for l2 its square, which is rational.

    Args:
        first: a number; a vector, matrix or list of numbers; a dict or series of numbers, in which a missing key
            stands for 0; for the symmetric distance a list of records or a data frame. None is an output too.
        second: the other output, of the same form.
        metric: the metric of the distance.

    Raises:
        Unmeasurable: an output has a form that the metric does not measure.
    """
    raised = [isinstance(output, Raised) for output in (first, second)]
    if any(raised):
        return Fraction(0) if all(raised) else math.inf
    read = _records if metric is Metric.SYMMETRIC else _numbers
    (form, left), (other, right) = read(first, metric), read(second, metric)
    if form != other:
        return math.inf
    pairs = ((left.get(key, 0), right.get(key, 0)) for key in {**left, **right})
    parts = [math.inf if isinstance(a, str) or isinstance(b, str) else abs(a - b) for a, b in pairs if a != b]
    if metric is Metric.LINF:
        return max(parts, default=Fraction(0))
    return sum((part**metric.power for part in parts), Fraction(0))


def exact(number: Any) -> Fraction | str:
    """Return a number as an exact fraction; return NaN and the infinities by their names.

    Raises:
        TypeError: it is not a real number.
    """
    value = number.item() if isinstance(number, np.generic) else number
    if isinstance(value, np.longdouble):  # Python has no type for it
        value = Fraction(*value.as_integer_ratio()) if np.isfinite(value) else float(value)
    if isinstance(value, Rational):
        return Fraction(value)
    if not isinstance(value, float | Decimal):
        raise TypeError(f"{type(value).__name__} is not a real number")
    return Fraction(value) if math.isfinite(value) else str(abs(value) if math.isnan(value) else value)


def _numbers(output: Any, metric: Metric) -> tuple[Any, Mapping[Any, Any]]:
    """Return the form of an output, and its exact numbers by key or by place."""
    if output is None:
        return None, {}
    try:
        if isinstance(output, Mapping) or hasattr(output, "iloc"):
            return Mapping, _of_keys(output if isinstance(output, Mapping) else output.to_dict())
        shape, numbers = _flat(output)
    except (TypeError, ValueError, AttributeError) as error:
        raise Unmeasurable(f"the {metric} distance needs numbers, not {type(output).__name__}: {error}") from error
    if metric is Metric.ABSOLUTE and len(numbers) != 1:
        raise Unmeasurable(f"the absolute distance needs one number as the output, not {len(numbers)}")
    return (() if metric is Metric.ABSOLUTE else shape), dict(enumerate(numbers))


def _of_keys(found: Mapping[Any, Any]) -> dict[Any, Fraction | str]:
    """Return exact numbers by key. All NaN keys are one key, and its numbers are added."""
    numbers: dict[Any, Fraction | str] = {}
    for key, value in found.items():
        number, name = exact(value), "NaN" if key != key else key
        before = numbers.get(name, Fraction(0))
        both = isinstance(number, Fraction) and isinstance(before, Fraction)
        numbers[name] = number + before if both else number  # type: ignore[operator]
    return numbers


def _flat(output: Any) -> tuple[tuple[int, ...], list[Fraction | str]]:
    """Return the shape of an array or of nested lists, and its exact numbers."""
    if isinstance(output, np.ndarray):
        return output.shape, [exact(value) for value in output.ravel()]
    if not isinstance(output, list | tuple):
        return (), [exact(output)]
    parts = list(map(_flat, output))
    shapes = {shape for shape, _ in parts} or {()}
    if len(shapes) > 1:
        raise TypeError("its nested lists have different lengths")
    return (len(parts), *shapes.pop()), [number for _, numbers in parts for number in numbers]


def _records(output: Any, metric: Metric) -> tuple[Any, Mapping[Any, Any]]:
    """Return None, as there is one form only, and how often each record occurs. Records of equal `_key` are equal."""
    try:
        if isinstance(output, Mapping | str):
            raise TypeError("it is not a list of records")
        rows = output.itertuples(index=False, name=None) if hasattr(output, "itertuples") else output
        return None, Counter(map(_key, () if rows is None else rows))
    except TypeError as error:
        message = f"the {metric} distance needs a list or a data frame, not {type(output).__name__}: {error}"
        raise Unmeasurable(message) from error


def _key(record: Any) -> Any:
    """Return a hashable key that differs for different records. Floats differ by their bits, so 0.0 is not −0.0."""
    if type(record) in (str, int):
        return record
    if isinstance(record, float | np.floating):
        return type(record).__name__, "nan" if math.isnan(record) else np.float64(record).tobytes()
    if isinstance(record, Mapping):
        return frozenset((key, _key(value)) for key, value in record.items())
    if isinstance(record, list | tuple | np.ndarray):
        return type(record).__name__, tuple(map(_key, record))
    return type(record).__name__, record

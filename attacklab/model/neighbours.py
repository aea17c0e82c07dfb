"""Neighbouring pairs: two inputs on whose output laws a privacy claim puts its bound."""

from __future__ import annotations

import contextlib
import io
import math
import pickle
import sys
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Number, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attacklab.model.errors import UsageError, Word

NO_DIMENSIONS = "an array without dimensions"


class Relation(Word):
    """The relation by which two datasets are neighbours."""

    ADD_REMOVE = "add-remove"
    SUBSTITUTE = "substitute"
    NODE = "node"
    EDGE = "edge"


@dataclass(frozen=True, slots=True, eq=False)
class NeighbouringPair:
    """Two inputs of a mechanism and the relation that makes them neighbours.

    The constructors below check that the inputs are neighbours.

    Attributes:
        first: the input whose output law is P.
        second: the input whose output law is Q.
        relation: the relation between the datasets; None if the inputs are true answers or utilities of datasets, no
            further apart than the sensitivity.
    """

    first: Any
    second: Any
    relation: Relation | None

    @classmethod
    def answers(cls, first: float, second: float, *, sensitivity: float) -> NeighbouringPair:
        """Make a pair of true answers of a query, no further apart than its sensitivity.

        Raises:
            ValueError: an answer is not finite, or the two are further apart than the sensitivity, however slightly.
        """
        answer, neighbour = _near("answers", first, second, sensitivity)
        return cls(float(answer[0]), float(neighbour[0]), None)

    @classmethod
    def utilities(cls, first: ArrayLike, second: ArrayLike, *, sensitivity: float) -> NeighbouringPair:
        """Make a pair of vectors of utilities (larger is better), at most the sensitivity apart in each coordinate.

        Raises:
            ValueError: a vector is empty or not finite, the lengths differ, or a coordinate is further apart.
        """
        vector, neighbour = _near("utilities", first, second, sensitivity)
        return cls(vector, neighbour, None)

    @classmethod
    def integers(cls, first: ArrayLike, second: ArrayLike, *, sensitivity: float) -> NeighbouringPair:
        """Make a pair of integer answers, or of vectors of integer utilities, kept as integers and compared exactly.

        Raises:
            ValueError: a number is not an integer, or they are further apart than the sensitivity.
        """
        sides = [as_array(side) for side in (first, second)]
        for side in sides:
            wrong = [value for value in side.flat if not isinstance(value, Integral) or isinstance(value, bool)]
            if wrong or side.ndim > 1 or not side.size:
                what = f"{wrong[0]!r}" if wrong else f"an array of shape {side.shape}"
                raise UsageError(f"integers of a pair must have the type int, alone or in a vector, not {what}")
        require_near(first, second, sensitivity, "integers")
        left, right = (side if side.ndim else side.item() for side in sides)
        return cls(left, right, None)

    @classmethod
    def records(cls, first: Any, second: Any, relation: Relation) -> NeighbouringPair:
        """Make a pair of datasets that differ in one person.

        Args:
            first: a dataset: a vector, a matrix (a record is a row), an array with fields, a list of anything (tuples,
                dicts, dataclasses, lists of any length), a data frame (a record is a row), or a dict, which holds under
                each key what one person has. Lists of numbers or strings become vectors; all else stays as it is.
            second: another dataset of the same form.
            relation: add-remove or substitute.

        Raises:
            ValueError: they are not datasets of one form, or not one record apart under `relation`.
        """
        dataset, neighbour = _datasets(first, second)
        records, others = _records_of(dataset), _records_of(neighbour)
        if relation is Relation.ADD_REMOVE:
            longer, shorter = (records, others) if len(records) > len(others) else (others, records)
            apart = len(longer) == len(shorter) + 1 and _is_one_deleted(longer, shorter)
        elif relation is Relation.SUBSTITUTE:
            apart = len(records) == len(others) and int(np.count_nonzero(_differ(records, others))) == 1
        else:
            raise UsageError(f"records are neighbours by add-remove or substitute, not by {relation}")
        if not apart:
            raise UsageError(
                f"not neighbouring by {relation}: datasets of {len(records)} and {len(others)} records, "
                "which must differ by exactly one record"
            )
        return cls(dataset, neighbour, relation)

    @classmethod
    def graphs(cls, first: ArrayLike, second: ArrayLike, relation: Relation) -> NeighbouringPair:
        """Make a pair of undirected graphs that differ by one edge, or by one node and its edges.

        Args:
            first: a symmetric adjacency matrix.
            second: another adjacency matrix.
            relation: edge or node.

        Raises:
            ValueError: a matrix is not square and symmetric, or they are not neighbours under `relation`.
        """
        graph, neighbour = _adjacency(first), _adjacency(second)
        if relation is Relation.EDGE:
            apart = graph.shape == neighbour.shape and int(np.count_nonzero(np.triu(graph != neighbour))) == 1
        elif relation is Relation.NODE:
            larger, smaller = (graph, neighbour) if len(graph) > len(neighbour) else (neighbour, graph)
            apart = len(larger) == len(smaller) + 1 and any(
                np.array_equal(np.delete(np.delete(larger, node, 0), node, 1), smaller) for node in range(len(larger))
            )
        else:
            raise UsageError(f"graphs are neighbours by node or edge, not by {relation}")
        if not apart:
            raise UsageError(
                f"not neighbouring by {relation}: graphs of {len(graph)} and {len(neighbour)} nodes, "
                f"which must differ by exactly one {relation}"
            )
        return cls(graph, neighbour, relation)

    def swapped(self) -> NeighbouringPair:
        """Return the same pair with P and Q exchanged."""
        return NeighbouringPair(self.second, self.first, self.relation)


def as_array(input_: Any) -> NDArray[Any]:
    """Return an input as an array, of dtype object if its parts have different lengths."""
    try:
        return np.asarray(input_)
    except ValueError:
        return np.fromiter(input_, dtype=object, count=len(input_))


def fingerprint(input_: object) -> tuple[object, ...]:
    """Return a key that is equal for two inputs only if they are the same, bit for bit."""
    array = as_array(input_) if hasattr(input_, "__array__") else np.empty((), dtype=object)
    if array.dtype != object:
        return (type(input_).__name__, array.dtype.str, array.shape, array.tobytes())
    for fast in (True, False):  # if fast, equal parts are written alike, whether or not they are one object
        with contextlib.suppress(Exception):  # it refers to itself, or cannot be pickled at all
            pickled = io.BytesIO()
            pickler = _Pickler(pickled)
            pickler.fast = fast
            pickler.dump(input_)
            return (pickled.getvalue(),)
    with np.printoptions(threshold=sys.maxsize):  # no number of an array within is left out
        return (type(input_).__name__, repr(input_))


class _Pickler(pickle.Pickler):
    """Writes sets in one order, however they were built, and classes by identity, so that any class will do."""

    def persistent_id(self, part: object) -> object:
        if isinstance(part, set | frozenset):
            return type(part).__name__, sorted(map(repr, map(fingerprint, part)))
        return id(part) if isinstance(part, type) else None


def _near(label: str, first: ArrayLike, second: ArrayLike, sensitivity: float) -> list[NDArray[np.float64]]:
    """Return both inputs as vectors. Raise UsageError unless they are finite, equally long and near enough."""
    vectors = [np.atleast_1d(np.asarray(values, dtype=np.float64)) for values in (first, second)]
    for vector in vectors:
        if vector.ndim != 1 or vector.size == 0:
            raise UsageError(f"{label} must be a non-empty vector, not of shape {vector.shape}")
        if not np.isfinite(vector).all():
            raise UsageError(f"{label} must be finite; number {int(np.argmin(np.isfinite(vector)))} is not")
    require_near(vectors[0], vectors[1], sensitivity, label)
    return vectors


def require_near(first: Any, second: Any, sensitivity: float, label: str = "numbers", *, special: bool = False) -> None:
    """Check that two answers, or two vectors of utilities, are no further apart than the sensitivity.

    Differences are compared exactly, because a rounded one may hide an excess. NaN and infinities must be equal on
    both sides, unless `special` is set.

    Raises:
        UsageError: two numbers are further apart, the lengths differ, or the sensitivity is out of range.
    """
    if not (math.isfinite(sensitivity) and sensitivity > 0):
        raise UsageError(f"sensitivity must be finite and greater than 0, not {sensitivity}")
    sides = [as_array(side) for side in (first, second)]
    if sides[0].shape != sides[1].shape or sides[0].ndim > 1:
        shapes = f"not of shapes {sides[0].shape} and {sides[1].shape}"
        raise UsageError(f"{label} of a pair must be single numbers, or vectors of the same length, {shapes}")
    if not all(isinstance(value, Number) for side in sides if side.dtype.kind not in "biuf" for value in side.flat):
        raise UsageError(f"{label} of a pair must have a numeric type, not {first!r} and {second!r}")
    left, right = map(np.atleast_1d, sides)
    numbers = np.arange(left.size)[::-1]
    if left.dtype == right.dtype == np.float64:
        with np.errstate(over="ignore", invalid="ignore"):
            numbers = numbers[~(abs(left - right) < sensitivity)[::-1]]
    values = zip(left[numbers].tolist(), right[numbers].tolist(), strict=True)
    for (value, near), number in dict(zip(values, numbers.tolist(), strict=True)).items():  # most are alike
        if not _is_near(value, near, sensitivity, special=special):
            raise UsageError(
                f"not neighbouring: {label} {value!r} and {near!r} (number {number}) "
                f"are further apart than the sensitivity {sensitivity}"
            )


def _is_near(first: Any, second: Any, sensitivity: float, *, special: bool) -> bool:
    try:
        return abs(Fraction(first) - Fraction(second)) <= Fraction(sensitivity)
    except (TypeError, ValueError, OverflowError):  # NaN, infinities, and what is not a number
        return special or bool(first == second or (first != first and second != second))


def _datasets(first: Any, second: Any) -> tuple[Any, Any]:
    """Return both datasets, with lists of numbers or strings as vectors, and other types unchanged."""
    sides = [as_array(side) for side in (first, second)]
    if all(side.ndim == 1 and (side.dtype != object or all(map(_is_single, side))) for side in sides):
        return sides[0], sides[1]
    forms = {_form_of(side) for side in (first, second)}
    is_known = isinstance(first, np.ndarray | list | tuple | dict) or hasattr(first, "itertuples")
    if len(forms) > 1 or not is_known or NO_DIMENSIONS in forms:
        raise UsageError(
            "records must be vectors, matrices, lists, data frames or dicts, both of one form, "
            f"not {' and '.join(sorted(forms))}"
        )
    return first, second


def _form_of(dataset: Any) -> str:
    return NO_DIMENSIONS if isinstance(dataset, np.ndarray) and not dataset.ndim else type(dataset).__name__


def _is_single(record: Any) -> bool:
    return record is None or isinstance(record, Number | str)


def _records_of(dataset: Any) -> Any:
    """Return the records of a dataset in order. For a dict, return pairs (person, record) in the dict's own order."""
    if hasattr(dataset, "itertuples"):
        return [tuple(map(_as_float, record)) for record in dataset.itertuples(index=False, name=None)]
    if not isinstance(dataset, np.ndarray) or dataset.dtype.names is not None:
        return list(dataset.items() if isinstance(dataset, dict) else dataset)
    return dataset if dataset.ndim == 1 else [(row.shape, *map(_as_float, row.ravel().tolist())) for row in dataset]


def _is_one_deleted(longer: Any, shorter: Any) -> bool:
    differs = _differ(longer[:-1], shorter)
    position = int(np.argmax(differs)) if differs.any() else len(shorter)
    return not _differ(longer[position + 1 :], shorter[position:]).any()


def _differ(first: Any, second: Any) -> NDArray[np.bool_]:
    """Return for each index whether the records differ, bit for bit; equal numbers of two types do not."""
    kinds = {side.dtype.kind if isinstance(side, np.ndarray) else "O" for side in (first, second)}
    if "O" in kinds or len(kinds) > 1:
        listed = (side.tolist() if isinstance(side, np.ndarray) else side for side in (first, second))
        pairs = zip(*(map(fingerprint, map(_as_float, side)) for side in listed), strict=True)
        return np.array([one != other for one, other in pairs], dtype=bool)
    common = np.result_type(first, second)
    sides = [side.astype(common).view(f"V{common.itemsize}") for side in (first, second)]
    return np.asarray(sides[0] != sides[1])


def _as_float(record: Any) -> Any:
    """Return a number as a float if no bit is lost, as numpy and pandas do for a column; anything else as it is."""
    is_in_range = isinstance(record, Real) and abs(record) <= sys.float_info.max  # type: ignore[operator]
    return float(record) if is_in_range and float(record) == record else record


def _adjacency(matrix: ArrayLike) -> NDArray[np.bool_]:
    array = np.asarray(matrix, dtype=bool)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise UsageError(f"a graph must be a square adjacency matrix, not of shape {array.shape}")
    if not np.array_equal(array, array.T):
        raise UsageError("a graph must be undirected: its adjacency matrix is not symmetric")
    return array

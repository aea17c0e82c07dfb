"""Neighbouring pairs: two inputs whose output laws a mechanism promises to keep within its claim of each other."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attacklab.model.errors import UsageError


class Relation(enum.StrEnum):
    """What makes two datasets neighbours."""

    ADD_REMOVE = "add-remove"
    SUBSTITUTE = "substitute"
    NODE = "node"
    EDGE = "edge"

    @classmethod
    def _missing_(cls, value: object) -> Relation:
        raise UsageError(f"relation must be one of {', '.join(cls)}, not {value!r}")


@dataclass(frozen=True, slots=True, eq=False)
class NeighbouringPair:
    """Two inputs of a mechanism and the relation that makes them neighbours.

    Make one by a constructor below, which checks that they are neighbours.

    Attributes:
        first: the input whose output law is P.
        second: the input whose output law is Q.
        relation: the relation between the datasets; None if the inputs are what a mechanism sees of them: true answers
            or utilities, no further apart than the sensitivity.
    """

    first: Any
    second: Any
    relation: Relation | None

    @classmethod
    def answers(cls, first: float, second: float, *, sensitivity: float) -> NeighbouringPair:
        """Two true answers of a query, no further apart than its sensitivity.

        Raises:
            ValueError: an answer is not finite, or the two are further apart than the sensitivity, even if only
                slightly.
        """
        answer, neighbour = _finite("answers", first), _finite("answers", second)
        _require_within(answer, neighbour, sensitivity, "answers")
        return cls(float(answer[0]), float(neighbour[0]), None)

    @classmethod
    def utilities(cls, first: ArrayLike, second: ArrayLike, *, sensitivity: float) -> NeighbouringPair:
        """Two vectors of utilities (larger is better) whose coordinates are no further apart than the sensitivity.

        Raises:
            ValueError: a vector is empty or not finite, the lengths differ, or a coordinate is further apart.
        """
        vector, neighbour = _finite("utilities", first), _finite("utilities", second)
        if vector.shape != neighbour.shape:
            raise UsageError(f"utilities of a pair must have the same length, not {vector.size} and {neighbour.size}")
        _require_within(vector, neighbour, sensitivity, "utilities")
        return cls(vector, neighbour, None)

    @classmethod
    def integers(cls, first: ArrayLike, second: ArrayLike, *, sensitivity: float) -> NeighbouringPair:
        """Two integer answers, or two vectors of integer utilities, kept as integers and compared exactly.

        Raises:
            ValueError: a number is not an integer, or they are further apart than the sensitivity.
        """
        sides = [as_array(side) for side in (first, second)]
        if sides[0].shape != sides[1].shape or sides[0].ndim > 1 or not sides[0].size:
            raise UsageError(
                f"integers of a pair must be two numbers or two vectors of one length, not of shapes "
                f"{sides[0].shape} and {sides[1].shape}"
            )
        left, right = (
            [value.item() if isinstance(value, np.generic) else value for value in side.flat] for side in sides
        )
        for number, values in enumerate(zip(left, right, strict=True)):
            if any(not isinstance(value, int) or isinstance(value, bool) for value in values):
                raise UsageError(
                    f"integers of a pair must be integers, not {values[0]!r} and {values[1]!r} (number {number})"
                )
        _require_within(np.array(left, dtype=object), np.array(right, dtype=object), sensitivity, "integers")
        return cls(left[0], right[0], None) if sides[0].ndim == 0 else cls(sides[0], sides[1], None)

    @classmethod
    def records(cls, first: ArrayLike, second: ArrayLike, relation: Relation) -> NeighbouringPair:
        """Two datasets, given as vectors of records, that differ by one person.

        Raises:
            ValueError: they are not vectors, or not one record apart under `relation` (add-remove or substitute).
        """
        dataset, neighbour = as_array(first), as_array(second)
        if dataset.ndim != 1 or neighbour.ndim != 1:
            raise UsageError(f"records must be vectors, not of shapes {dataset.shape} and {neighbour.shape}")
        if relation is Relation.ADD_REMOVE:
            longer, shorter = (dataset, neighbour) if len(dataset) > len(neighbour) else (neighbour, dataset)
            apart = len(longer) == len(shorter) + 1 and _is_one_deleted(longer, shorter)
        elif relation is Relation.SUBSTITUTE:
            apart = len(dataset) == len(neighbour) and int(np.count_nonzero(_differ(dataset, neighbour))) == 1
        else:
            raise UsageError(f"records are neighbours by add-remove or substitute, not by {relation}")
        if not apart:
            raise UsageError(
                f"not neighbouring by {relation}: datasets of {len(dataset)} and {len(neighbour)} records, "
                "which must differ by exactly one record"
            )
        return cls(dataset, neighbour, relation)

    @classmethod
    def graphs(cls, first: ArrayLike, second: ArrayLike, relation: Relation) -> NeighbouringPair:
        """Two undirected graphs that differ by one edge, or by one node and its edges.

        Args:
            first: a symmetric adjacency matrix.
            second: another.
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
        """The same pair with the roles of P and Q exchanged."""
        return NeighbouringPair(self.second, self.first, self.relation)


def as_array(input_: Any) -> NDArray[Any]:
    """An input as an array: one of objects if its parts are of different lengths."""
    try:
        return np.asarray(input_)
    except ValueError:
        return np.fromiter(input_, dtype=object, count=len(input_))


def _finite(label: str, values: ArrayLike) -> NDArray[np.float64]:
    vector = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if vector.ndim != 1 or vector.size == 0:
        raise UsageError(f"{label} must be a non-empty vector, not of shape {vector.shape}")
    if not np.isfinite(vector).all():
        raise UsageError(f"{label} must be finite; number {int(np.argmin(np.isfinite(vector)))} is not")
    return vector


def _require_within(first: NDArray[Any], second: NDArray[Any], sensitivity: float, label: str) -> None:
    """Compare exactly: a difference that rounds to the sensitivity may in fact be larger, one below it may not."""
    if not (math.isfinite(sensitivity) and sensitivity > 0):
        raise UsageError(f"sensitivity must be finite and greater than 0, not {sensitivity}")
    with np.errstate(over="ignore"):
        numbers = np.flatnonzero(abs(first - second) >= sensitivity)[::-1]
    sides = zip(first[numbers].tolist(), second[numbers].tolist(), strict=True)
    for (value, near), number in dict(zip(sides, numbers.tolist(), strict=True)).items():  # most are alike
        if abs(Fraction(value) - Fraction(near)) > Fraction(sensitivity):
            raise UsageError(
                f"not neighbouring: {label} {value!r} and {near!r} (number {number}) "
                f"are further apart than the sensitivity {sensitivity}"
            )


def _is_one_deleted(longer: NDArray[Any], shorter: NDArray[Any]) -> bool:
    differs = _differ(longer[:-1], shorter)
    position = int(np.argmax(differs)) if differs.any() else len(shorter)
    return not _differ(longer[position + 1 :], shorter[position:]).any()


def _differ(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.bool_]:
    """Which records differ; two float zeros, or two NaNs, differ only if their signs do."""
    differ: NDArray[np.bool_] = first != second
    if first.dtype.kind == second.dtype.kind == "f":
        both_nan = (first != first) & (second != second)
        differ = differ & ~both_nan | (np.signbit(first) != np.signbit(second))
    return differ


def _adjacency(matrix: ArrayLike) -> NDArray[np.bool_]:
    array = np.asarray(matrix, dtype=bool)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise UsageError(f"a graph must be a square adjacency matrix, not of shape {array.shape}")
    if not np.array_equal(array, array.T):
        raise UsageError("a graph must be undirected: its adjacency matrix is not symmetric")
    return array

"""Deciding a claim for every pair of neighbours among given inputs: small scope.

Each input's law is found once, and each pair is judged by two of them. The finding shows the worst pair, what it needs,
and how many pairs come to the same verdict. It is exact for a finite domain, and says nothing about other inputs.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.laws.proof.search import Places
from attacklab.model.domains.datasets import RELATIONS
from attacklab.model.domains.shapes import Graphs, Queries
from attacklab.model.errors import UsageError, UsageTypeError
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Kind, Target


def neighbours_among(target: Target, inputs: Sequence[Any]) -> list[Places]:
    """Return the pairs of neighbours among some inputs, each once, in the sense of the target's claim.

    Raises:
        UsageError: nothing says what makes two such inputs neighbours.
    """
    if target.kind in (Kind.NOISE, Kind.SELECTION):
        near = _answers if target.kind is Kind.NOISE else _utilities
        return [(*places, None) for places in near(target, inputs)]
    shape = None if target.domain is None else target.domain.shape
    if isinstance(shape, Queries | Graphs):
        return list(_tried(target, inputs))
    if target.kind is Kind.DATASET and all(np.ndim(input_) == 0 for input_ in inputs):
        return [(*places, target.relation) for places in itertools.combinations(range(len(inputs)), 2)]
    if target.kind is Kind.DATASET and shape is None and target.relation is None:
        raise UsageError(
            f"{target.name} does not say which datasets are neighbours; give --relation, or a domain with a shape"
        )
    known = RELATIONS if shape is None else shape.relations
    apart = {Relation.ADD_REMOVE: _one_deleted, Relation.SUBSTITUTE: _one_replaced}
    meant = [relation for relation in known if target.relation in (None, relation)]
    return [(*places, relation) for relation in meant for places in apart[relation](inputs)]


def _answers(target: Target, inputs: Sequence[Any]) -> Iterator[tuple[int, int]]:
    exact = [Fraction(input_) for input_ in inputs]
    ascending = sorted(range(len(inputs)), key=exact.__getitem__)
    for place, low in enumerate(ascending):
        for high in ascending[place + 1 :]:
            if exact[high] - exact[low] > Fraction(target.sensitivity):
                break
            yield min(low, high), max(low, high)


def _utilities(target: Target, inputs: Sequence[Any]) -> Iterator[tuple[int, int]]:
    by_length: dict[int, list[int]] = defaultdict(list)
    for place, input_ in enumerate(inputs):
        by_length[len(input_)].append(place)
    for places in by_length.values():
        exact = [[Fraction(utility) for utility in inputs[place].tolist()] for place in places]
        rough = np.array([[float(utility) for utility in vector] for vector in exact])
        for row in range(len(places)):
            apart = np.abs(rough[row + 1 :] - rough[row]).max(axis=1)
            # Doubles that are this near to the exact differences only choose what to compare exactly.
            for later in (row + 1 + np.flatnonzero(apart <= target.sensitivity * (1 + 2.0**-20))).tolist():
                moved = max(abs(a - b) for a, b in zip(exact[row], exact[later], strict=True))
                if moved <= Fraction(target.sensitivity):
                    yield places[row], places[later]


def _tried(target: Target, inputs: Sequence[Any]) -> Iterator[Places]:
    """Yield the neighbouring pairs among graphs or vectors of query answers, after comparing every two inputs."""
    relations = (target.relation,) if target.relation else target.domain.shape.relations  # type: ignore[union-attr]
    for first, second in itertools.combinations(range(len(inputs)), 2):
        for relation in relations or (None,):
            try:
                if relation is None:
                    pair = NeighbouringPair(inputs[first], inputs[second], None)
                else:
                    pair = NeighbouringPair.graphs(inputs[first], inputs[second], relation)
            except UsageError:
                continue
            if target.covers(pair):
                yield first, second, relation


def _one_deleted(inputs: Sequence[Any]) -> Iterator[tuple[int, int]]:
    keys = [tuple(map(_key, input_.tolist())) for input_ in inputs]
    places: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for place, key in enumerate(keys):
        places[key].append(place)  # several, where one has 1 and another 1.0
    for longer, key in enumerate(keys):
        shorter = {key[:gone] + key[gone + 1 :] for gone in range(len(key))}
        yield from ((place, longer) for place in sorted(place for rest in shorter for place in places.get(rest, ())))


def _one_replaced(inputs: Sequence[Any]) -> Iterator[tuple[int, int]]:
    keys = [tuple(map(_key, input_.tolist())) for input_ in inputs]
    rest: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for place, key in enumerate(keys):
        for replaced in range(len(key)):
            rest[replaced, key[:replaced], key[replaced + 1 :]].append(place)
    for places in rest.values():
        for first, second in itertools.combinations(places, 2):
            if keys[first] != keys[second]:
                yield first, second


def _key(record: Any) -> Any:
    """Return a key that equal records share. Doubles are equal if their bits are; 1.0 equals the integer 1, too."""
    if isinstance(record, float) and not (record.is_integer() and (record or math.copysign(1, record) > 0)):
        return record.hex()
    return record if isinstance(record, str) else int(record)


def inputs_of(target: Target, inputs: Sequence[Any]) -> list[Any]:
    """Return the inputs in the form that the target takes, without duplicates.

    Raises:
        UsageError: one of them is not an input of this target.
    """
    if isinstance(inputs, str) or not hasattr(inputs, "__iter__"):
        raise UsageTypeError(f"inputs must be a list of inputs, not {inputs!r}")
    distinct: dict[Any, Any] = {}
    for value in inputs:
        input_ = _input(target, value)
        if not target.takes(input_):
            raise UsageError(f"input {value!r} lies outside the domain of {target.name}; leave it out")
        key = repr(input_.tolist() if isinstance(input_, np.ndarray) else input_)
        distinct.setdefault(key, input_)
    return list(distinct.values())


def _input(target: Target, value: Any) -> Any:
    """Return a value in the form of inputs of the target's kind: doubles, unless the domain holds integers only."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise UsageError(f"input {value!r} is ragged; give a number, or a list of numbers or strings") from None
    if target.kind is Kind.DATASET:
        return target.cast(array if isinstance(value, list | tuple) else value)
    _require_numbers(target.kind, array, value)
    doubles = array.astype(np.float64)
    if array.dtype.kind in "iu" and doubles.tolist() != array.tolist():
        raise UsageError(f"input {value!r} cannot be stored as a double; give smaller integers, or --domain integers")
    if target.domain is not None and target.domain.integers:
        return target.cast(array if array.ndim else array.item())
    return doubles if doubles.ndim else doubles.item()


def _require_numbers(kind: Kind, array: NDArray[Any], value: Any) -> None:
    """Refuse an input that is not a number, or not a list of numbers, whichever this kind takes."""
    wanted, dimensions = ("a number", 0) if kind is Kind.NOISE else ("a list of numbers", 1)
    is_empty = not array.size
    if array.ndim != dimensions or (kind is Kind.SELECTION if is_empty else array.dtype.kind not in "iuf"):
        raise UsageError(f"an input of a {kind} target must be {wanted}, not {value!r}")
    if kind in (Kind.NOISE, Kind.SELECTION) and not np.isfinite(array).all():
        raise UsageError(f"input {value!r} is not finite, so no sensitivity bounds it; leave it out")

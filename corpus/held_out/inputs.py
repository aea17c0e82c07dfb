"""Inputs and noise that the held-out specimens have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.domains import Categories, Domain, Queries, Records, Streams
from attacklab.model.neighbours import NeighbouringPair, Relation
from corpus.common.exact_noise import discrete_laplace, scale_of
from corpus.common.specimen import Rng

ADD_REMOVE, SUBSTITUTE = Relation.ADD_REMOVE, Relation.SUBSTITUTE

INTEGERS = Domain(integers=True, bounds=(-(2**40), 2**40))
"""Answers and utilities that noise of 64 bits does not overflow."""


def categories(*names: str) -> Domain:
    """Datasets in which everybody has one of these names."""
    return Domain(shape=Categories(names=names))


def integer_queries(size: int) -> Domain:
    """Integer answers to some queries, each of which moves by one at the most."""
    return Domain(integers=True, bounds=(-(2**40), 2**40), shape=Queries(size=size))


def integer_stream(length: int, most: int = 1) -> Domain:
    """Streams of integers from 0 on."""
    return Domain(integers=True, bounds=(0, most), shape=Streams(length=length))


def one_report(values: int) -> Domain:
    """One person's value, one of the first few integers."""
    return Domain(integers=True, bounds=(0, values - 1), shape=Records(least=1, most=1))


def answers(first: float, second: float, sensitivity: float = 1.0) -> NeighbouringPair:
    """Two answers."""
    return NeighbouringPair.answers(first, second, sensitivity=sensitivity)


def whole(first: Any, second: Any, sensitivity: float = 1.0) -> NeighbouringPair:
    """Two integer answers, or vectors of them."""
    return NeighbouringPair.integers(first, second, sensitivity=sensitivity)


def added(records: Sequence[Any], record: Any) -> NeighbouringPair:
    """A dataset with one more record, and without it."""
    more = np.array([*records, record])
    return NeighbouringPair.records(more, more[:-1], ADD_REMOVE)


def replaced(first: Sequence[Any], second: Sequence[Any]) -> NeighbouringPair:
    """Two datasets of which one record differs."""
    return NeighbouringPair.records(np.array(first), np.array(second), SUBSTITUTE)


def noise(epsilon: float, trials: int, rng: Rng, sensitivity: int = 1, size: int | None = None) -> NDArray[np.int64]:
    """Exact discrete Laplace noise, of shape (trials,) or (trials, size)."""
    drawn = discrete_laplace(scale_of(epsilon, sensitivity), trials * (size or 1), rng)
    return drawn if size is None else drawn.reshape(trials, size)


def quick_noise(epsilon: float, trials: int, rng: Rng) -> NDArray[np.int64]:
    """Discrete Laplace noise whose rate is rounded to a double, for millions of outputs."""
    stop = -math.expm1(-epsilon)
    return rng.geometric(stop, trials) - rng.geometric(stop, trials)


def counts(records: Any, names: Sequence[str]) -> list[int]:
    """How many records have each name."""
    return [int(np.count_nonzero(np.asarray(records) == name)) for name in names]

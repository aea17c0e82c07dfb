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
"""The domain of integers so small that adding noise does not overflow 64 bits."""


def categories(*names: str) -> Domain:
    """Return the domain of datasets in which everybody has one of these names."""
    return Domain(shape=Categories(names=names))


def integer_queries(size: int) -> Domain:
    """Return the domain of integer answers to `size` queries, each of which moves by 1 at most."""
    return Domain(integers=True, bounds=(-(2**40), 2**40), shape=Queries(size=size))


def integer_stream(length: int, most: int = 1) -> Domain:
    """Return the domain of streams of integers from 0 to `most`."""
    return Domain(integers=True, bounds=(0, most), shape=Streams(length=length))


def one_report(values: int) -> Domain:
    """Return the domain of one person's value, an integer from 0 to `values` − 1."""
    return Domain(integers=True, bounds=(0, values - 1), shape=Records(least=1, most=1))


def answers(first: float, second: float, sensitivity: float = 1.0) -> NeighbouringPair:
    """Return a pair of answers."""
    return NeighbouringPair.answers(first, second, sensitivity=sensitivity)


def whole(first: Any, second: Any, sensitivity: float = 1.0) -> NeighbouringPair:
    """Return a pair of integer answers, or of vectors of integers."""
    return NeighbouringPair.integers(first, second, sensitivity=sensitivity)


def added(records: Sequence[Any], record: Any) -> NeighbouringPair:
    """Return the pair of a dataset with one more record, and without it."""
    more = np.array([*records, record])
    return NeighbouringPair.records(more, more[:-1], ADD_REMOVE)


def replaced(first: Sequence[Any], second: Sequence[Any]) -> NeighbouringPair:
    """Return a pair of datasets that differ in one record."""
    return NeighbouringPair.records(np.array(first), np.array(second), SUBSTITUTE)


def noise(epsilon: float, trials: int, rng: Rng, sensitivity: int = 1, size: int | None = None) -> NDArray[np.int64]:
    """Return exact discrete Laplace noise, shape (trials,) or (trials, size)."""
    drawn = discrete_laplace(scale_of(epsilon, sensitivity), trials * (size or 1), rng)
    return drawn if size is None else drawn.reshape(trials, size)


def quick_noise(epsilon: float, trials: int, rng: Rng) -> NDArray[np.int64]:
    """Return discrete Laplace noise whose rate is rounded to a double, for millions of outputs."""
    stop = -math.expm1(-epsilon)
    return rng.geometric(stop, trials) - rng.geometric(stop, trials)


def counts(records: Any, names: Sequence[str]) -> list[int]:
    """Return how many records have each name."""
    return [int(np.count_nonzero(np.asarray(records) == name)) for name in names]

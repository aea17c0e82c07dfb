"""The additive mechanism: an answer plus noise of any integer law, both in whole steps of a grid.

Source: Dwork and Roth 2014, 'The Algorithmic Foundations of Differential Privacy', section 3.3, for the Laplace law;
Canonne, Kamath and Steinke 2020 for integers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechanisms.core.claims import Claim
from mechanisms.core.grid import LIMIT, Grid
from mechanisms.core.laws import Law
from mechanisms.core.noise import Noise
from mechanisms.core.numbers import Number, count, positive
from mechanisms.core.records import Answer
from mechanisms.core.term import OfQuery, Query
from mechanisms.randomness import RandomBits


@dataclass(frozen=True)
class Noisy(OfQuery):
    """A query's value plus noise, clamped to the grid.

    The value is clamped to the grid's ±2^53 steps, which moves no two values further apart. Value and noise are
    independent integers. So the output has the law of the noise, shifted by the value, and clamped by a map that does
    not look at the data. Neighbours' values are at most the query's stability apart, and the law says what such a shift
    costs. If the value is a vector, each entry gets noise of its own, and all entries together lose at most what a
    shift by the sum of their shifts loses.
    """

    query: Query[Any]
    law: Law

    def __post_init__(self) -> None:
        self.noise, self.query.stability  # noqa: B018 # the noise checks its spread, and utilities have no stability

    @cached_property
    def noise(self) -> Noise:
        """The source of the noise, made once for each term."""
        return Noise(self.law)

    @property
    def grid(self) -> Grid:
        """The grid of the outputs, which is the grid of the query."""
        grid: Grid = self.query.grid  # type: ignore[attr-defined]
        return grid

    @property
    def claim(self) -> Claim:
        """The loss of the law for a shift by the query's stability."""
        return self.law.loss(self.query.stability)

    def prepared(self, data: Any) -> Shifted:
        """Return an object that draws outputs for this data; see `Mechanism.prepared`."""
        value = self.query.of(data)
        if isinstance(value, np.ndarray):
            return Shifted(np.clip(value, -LIMIT, LIMIT), self.noise, self.grid)
        return Shifted(min(max(value, -LIMIT), LIMIT), self.noise, self.grid)

    def each(self, answers: Any, bits: RandomBits) -> NDArray[np.float64]:
        """Release each of many answers once. All outputs together keep the claim if neighbours differ in one answer.

        Returns:
            Points of the grid, in the shape of `answers`.
        """
        if not isinstance(self.query, Answer):
            raise TypeError(f"each releases answers, and this term starts from {type(self.query).__name__}")
        shape = answers.shape if isinstance(answers, np.ndarray) else (len(answers),)
        values = self.query.of_each(answers.ravel() if isinstance(answers, np.ndarray) else answers)
        self.noise.add(values, bits)
        return self.grid.values(values).reshape(shape)


@dataclass(frozen=True)
class Shifted:
    """Draws outputs for one dataset: the query's value, in steps, plus noise, as points of a grid."""

    value: int | NDArray[np.int64]
    noise: Noise
    grid: Grid

    def one(self, bits: RandomBits) -> float | NDArray[np.float64]:
        """Draw one output."""
        if isinstance(self.value, np.ndarray):
            return np.array([self.grid.value(value + self.noise.one(bits)) for value in self.value.tolist()])
        return self.grid.value(self.value + self.noise.one(bits))

    def many(self, trials: int, bits: RandomBits) -> NDArray[np.float64]:
        """Draw several independent outputs, one for each entry of the first axis."""
        shape = count("trials", trials, least=0), *np.shape(self.value)
        values = np.full(shape, self.value, dtype=np.int64)
        self.noise.add(values.reshape(-1), bits)
        return self.grid.values(values)


def noisy(query: Query[Any], law: Callable[[Fraction], Law], epsilon: Number) -> Noisy:
    """Return the query's value plus noise of law(stability/ε), a scale in steps. It is ε-DP if `law` is Laplace."""
    return Noisy(query, law(query.stability / positive("epsilon", epsilon)))

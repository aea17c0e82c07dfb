"""Noise on an answer in whole steps of a grid: the additive mechanism, whatever its law.

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
    integers, and the noise knows nothing of the value: so what is released has the law of the noise, shifted by the
    value, clamped by a map that does not look at the data. Neighbours' values are at most the query's stability apart,
    and the law says what such a shift costs. Where the value is a vector, each entry gets noise of its own, and the
    losses of the entries' shifts add up to at most that of a shift by their sum.
    """

    query: Query[Any]
    law: Law

    def __post_init__(self) -> None:
        self.noise, self.query.stability  # noqa: B018 # the noise checks its spread, and utilities have no stability

    @cached_property
    def noise(self) -> Noise:
        """Draws the noise; the table that it makes for arrays is this term's."""
        return Noise(self.law)

    @property
    def grid(self) -> Grid:
        """The grid of the outputs: the query's."""
        grid: Grid = self.query.grid  # type: ignore[attr-defined]
        return grid

    @property
    def claim(self) -> Claim:
        """What the law loses by a shift of the query's stability."""
        return self.law.loss(self.query.stability)

    def prepared(self, data: Any) -> Shifted:
        """Look at the data; see `Mechanism.prepared`."""
        value = self.query.of(data)
        if isinstance(value, np.ndarray):
            return Shifted(np.clip(value, -LIMIT, LIMIT), self.noise, self.grid)
        return Shifted(min(max(value, -LIMIT), LIMIT), self.noise, self.grid)

    def each(self, answers: Any, bits: RandomBits) -> NDArray[np.float64]:
        """Release each of many answers once; together they keep the claim where neighbours differ in one answer.

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
    """A law shifted by what a query gave, on a grid."""

    value: int | NDArray[np.int64]
    noise: Noise
    grid: Grid

    def one(self, bits: RandomBits) -> float | NDArray[np.float64]:
        """Draw one output."""
        if isinstance(self.value, np.ndarray):
            return np.array([self.grid.value(value + self.noise.one(bits)) for value in self.value.tolist()])
        return self.grid.value(self.value + self.noise.one(bits))

    def many(self, trials: int, bits: RandomBits) -> NDArray[np.float64]:
        """Draw several independent outputs, the first axis."""
        shape = count("trials", trials, least=0), *np.shape(self.value)
        values = np.full(shape, self.value, dtype=np.int64)
        self.noise.add(values.reshape(-1), bits)
        return self.grid.values(values)


def noisy(query: Query[Any], law: Callable[[Fraction], Law], epsilon: Number) -> Noisy:
    """Return a query with noise of a law of pure ε-DP: of the scale stability/ε, in steps."""
    return Noisy(query, law(query.stability / positive("epsilon", epsilon)))

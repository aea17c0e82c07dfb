"""How far each point of a public range lies from an answer: utilities for a selection.

Source: Dwork and Roth 2014, 'The Algorithmic Foundations of Differential Privacy', section 3.4: this utility makes the
exponential mechanism one of Laplace noise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from mechanisms.core.grid import Grid
from mechanisms.core.numbers import clamped, convert, exact, positive, rational
from mechanisms.core.scores import Scores
from mechanisms.core.term import Relation

MOST_POINTS = 1 << 20
"""The most points that `Distances` takes, because each point's utility is a Fraction."""


@dataclass(frozen=True)
class Distances(Scores):
    """The utility −|answer − point| of each grid point from `first` to `last`, for answers of a known sensitivity.

    Answers are clamped to [first, last], which moves no two of them further apart. By the triangle inequality each
    utility moves by at most as much as the answer: up for some points, and down for others.
    """

    sensitivity: Fraction
    first: Fraction
    last: Fraction
    grid: Grid
    lower: Fraction = field(init=False)
    upper: Fraction = field(init=False, default=Fraction(0))
    monotone: bool = field(init=False, default=False)

    relation: ClassVar[Relation] = "answers"

    def __post_init__(self) -> None:
        convert(self, positive, "sensitivity")
        convert(self, rational, "first", "last")
        if not 2 <= self.entries <= MOST_POINTS:
            raise ValueError(f"there must be from 2 to {MOST_POINTS} points, not {self.entries}")
        object.__setattr__(self, "lower", self.first - self.last)

    @property
    def entries(self) -> int:
        """The number of points."""
        return self.grid.steps_of("last", self.last) - self.origin + 1

    @property
    def origin(self) -> int:
        """The point `first`, in steps from 0."""
        return self.grid.steps_of("first", self.first)

    def of(self, data: Any) -> list[Fraction]:
        """Return the utilities, shape (points,)."""
        answer = clamped(exact("answer", data), self.first, self.last, missing=self.first)
        return [-abs(answer - self.first - step * self.grid.step) for step in range(self.entries)]

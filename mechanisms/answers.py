"""Answers in steps of a grid, each a whole number and a shift in [−½, ½): one of them many times, or an array."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mechanisms.grid import Grid
from mechanisms.private_numbers import PrivateNumbers, exact_numbers

Doubles = float | NDArray[np.float64]


class Answers(Protocol):
    """Answers whose noise is drawn a chunk at a time."""

    def __len__(self) -> int:
        """Return how many they are."""

    def part(self, start: int, stop: int) -> tuple[Doubles, Doubles]:
        """Return the whole numbers of some of them and their shifts, rounded to doubles: arrays, or one for all."""

    def at(self, place: int) -> tuple[int, Fraction]:
        """Return the whole number and the shift of one, exactly."""


@dataclass(frozen=True)
class RepeatedAnswer:
    """One answer as often as there are trials.

    Args:
        whole: the whole number of steps nearest to the answer, at most 2^53 in modulus.
        shift: the answer less that.
        trials: how often.
    """

    whole: int
    shift: Fraction
    trials: int

    def __len__(self) -> int:
        return self.trials

    def part(self, start: int, stop: int) -> tuple[float, float]:  # noqa: ARG002
        """Return the whole number and the shift as doubles, for any part."""
        return float(self.whole), float(self.shift)

    def at(self, place: int) -> tuple[int, Fraction]:  # noqa: ARG002
        """Return the whole number and the shift."""
        return self.whole, self.shift


class SeveralAnswers:
    """Answers of an array or a list, each brought to the grid by itself, as `Grid.steps_to` does.

    Args:
        answers: numbers, an array of any shape or a list of them.
        grid: the public grid.

    Attributes:
        shape: of the array.

    Raises:
        TypeError: an answer is not a number, by its type.
        ValueError: `answers` is a single number, or a list of lists.
    """

    def __init__(self, answers: PrivateNumbers, grid: Grid) -> None:
        given: Any = np.asanyarray(answers) if hasattr(answers, "__array__") else answers
        self._grid = grid
        self._numbers = exact_numbers("answers", given.reshape(-1) if isinstance(given, np.ndarray) else given)
        self.shape: tuple[int, ...] = given.shape if isinstance(given, np.ndarray) else (len(self._numbers),)

    def __len__(self) -> int:
        return len(self._numbers)

    def part(self, start: int, stop: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the whole numbers of the answers from one place to another, and their shifts."""
        numbers = self._numbers[start:stop]
        if isinstance(numbers, np.ndarray):
            return self._grid.split(numbers)
        split = [self.at(place) for place in range(start, start + len(numbers))]
        return np.array([float(whole) for whole, _ in split]), np.array([float(shift) for _, shift in split])

    def at(self, place: int) -> tuple[int, Fraction]:
        """Return the whole number and the shift of one answer, exactly."""
        steps = self._grid.steps_to(self._numbers[place])
        whole = math.floor(steps + Fraction(1, 2))
        return whole, steps - whole

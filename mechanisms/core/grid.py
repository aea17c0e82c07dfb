"""A public grid of doubles 2^k·{−2^53, …, 2^53}: the only numbers that a mechanism with noise can output.

Which doubles can come out must not depend on the data. On one fixed grid every output is an integer number of steps,
and the support is the same whatever the answer was. The grid is chosen before the data are seen; nothing here fails on
any data, so no error can tell one database from another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechanisms.core.numbers import Number, are_doubles, clamped, exact, rational, vector

LEAST_EXPONENT = -1021
GREATEST_EXPONENT = 970
LIMIT = 1 << 53
"""The number of steps that a grid reaches to either side of 0."""

_CHUNK = 1 << 14
"""How many numbers are computed at a time, so that intermediate arrays stay in a core's cache."""


@dataclass(frozen=True)
class Grid:
    """The multiples i·2^`exponent` with |i| ≤ 2^53; each is a normal double or 0.

    Args:
        exponent: k, an integer from −1021 (below, half a step is subnormal, and hardware may flush an
            answer of half a step to 0) to 970 (above, 2^53 steps overflow).
    """

    exponent: int

    def __post_init__(self) -> None:
        if type(self.exponent) is not int or not LEAST_EXPONENT <= self.exponent <= GREATEST_EXPONENT:
            raise ValueError(
                f"grid exponent must be an integer in [{LEAST_EXPONENT}, {GREATEST_EXPONENT}], not {self.exponent}"
            )

    @property
    def step(self) -> Fraction:
        """2^k, the distance between neighbouring grid points."""
        return Fraction(2) ** self.exponent

    def nearest(self, answer: Number) -> int:
        """Return the grid point nearest to an answer, in steps from 0; half a step is rounded upward.

        Rounding half upward, unlike half to even, commutes with shifts by a step. So answers at most d whole steps
        apart are rounded to points at most d steps apart. An answer beyond the grid becomes the nearest end of the
        grid, and NaN becomes 0.
        """
        if type(answer) is np.float64 or (type(answer) is int and -LIMIT <= answer <= LIMIT):
            answer = float(answer)
        if type(answer) is float:  # see `nearest_each`
            halves = answer * math.ldexp(2.0, -self.exponent)
            return math.floor(min(max(halves, -2.0 * LIMIT), 2.0 * LIMIT)) + 1 >> 1 if halves == halves else 0
        end = self.step * LIMIT
        steps = clamped(exact("answer", answer), -end, end, missing=Fraction(0)) / self.step
        return math.floor(steps + Fraction(1, 2))

    def nearest_each(self, answers: Any) -> NDArray[np.int64]:
        """Return `nearest` of each of many answers: an array of one dimension, or a list of numbers.

        A double of y half steps gives ⌊(⌊y⌋ + 1)/2⌋ = ⌊y/2 + ½⌋. The product y is exact, or less than
        2^−1022 in size with the answer's sign, or infinite and then clamped. Adding 1 and halving are done on integers.
        Integers within ±2^53 are doubles.
        """
        numbers = vector("answers", answers)
        if isinstance(numbers, list) or not are_doubles(numbers):
            values = numbers if isinstance(numbers, list) else numbers.tolist()
            return np.array([self.nearest(value) for value in values], dtype=np.int64)
        to_halves = math.ldexp(2.0, -self.exponent)
        whole = np.empty(len(numbers), dtype=np.int64)
        for first in range(0, len(numbers), _CHUNK):
            steps = whole[first : first + _CHUNK]
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                halves = numbers[first : first + _CHUNK] * to_halves
            if not -2.0 * LIMIT <= halves.min() <= halves.max() <= 2.0 * LIMIT:  # or there is a NaN
                halves[np.isnan(halves)] = 0.0
                np.clip(halves, -2.0 * LIMIT, 2.0 * LIMIT, out=halves)
            np.floor(halves, out=halves)
            steps[:] = halves
            steps += 1
            steps >>= 1
        return whole

    def steps_of(self, name: str, point: Number) -> int:
        """Return a public point, `name` in errors, in steps from 0; raise ValueError if it is not on the grid."""
        steps = rational(name, point) / self.step
        if steps.denominator != 1 or abs(steps) > LIMIT:
            raise ValueError(
                f"{name} must be a multiple of the grid's step 2^{self.exponent}, "
                f"at most 2^53 steps from 0, not {point}"
            )
        return int(steps)

    def value(self, steps: int) -> float:
        """Return the double at a number of steps from 0, or the nearest end of the grid."""
        return math.ldexp(min(max(steps, -LIMIT), LIMIT), self.exponent)

    def values(self, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the doubles at numbers of steps from 0, elementwise; see `value`.

        The doubles overwrite `steps`, so the caller must not use it again: memory that is touched for the first time
        costs more than the arithmetic.
        """
        flat = steps.reshape(-1)
        values = flat.view(np.float64)
        for first in range(0, len(flat), _CHUNK):
            chunk = flat[first : first + _CHUNK]
            if not -LIMIT <= chunk.min() <= chunk.max() <= LIMIT:
                np.clip(chunk, -LIMIT, LIMIT, out=chunk)
            np.multiply(chunk, math.ldexp(1.0, self.exponent), out=values[first : first + _CHUNK])
        return values.reshape(steps.shape)

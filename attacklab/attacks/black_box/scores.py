"""Scores: numbers that bets are made on, computed from a feature of an output: its size, its bits, if it is missing.

Numbers are read as doubles. What is learned from outputs is in `learned_scores`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.failures import failed
from attacklab.attacks.features import Feature
from attacklab.model.floats import Doubles
from attacklab.model.targets import Outputs

FINEST, COARSEST = -1100, 1100  # the exponent and the grid exponent given to 0 and to values that are not finite
LOW_BITS = 4  # how many of the lowest bits of a double's encoding are scores of their own


@dataclass(frozen=True, slots=True)
class Learning:
    """A sample that rules are learned from.

    Attributes:
        outputs: the outputs of both inputs.
        of_first: a bool for each output: whether it comes from the first input.
    """

    outputs: Outputs
    of_first: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Score:
    """A number computed from each output.

    Attributes:
        description: the number in words.
        of: takes outputs and returns their scores; NaN for an output without one.
        again: learns the same rule from other outputs, on the same scale; None if the score is not learned.
        is_text: whether the scores stand for texts.
    """

    description: str
    of: Callable[[Outputs], Doubles]
    again: Callable[[Learning], Score] | None = None
    is_text: bool = False

    def learned_from(self, learning: Learning) -> Score:
        """Return the same score learned from these outputs, or the score itself if it is not learned."""
        return self if self.again is None else self.again(learning)


def exponent(values: Doubles) -> Doubles:
    """Return the e with 2^e ≤ |y| < 2^(e+1) for each value y; FINEST for 0, NaN and infinities.

    Args:
        values: any shape.
    """
    regular = np.isfinite(values) & (values != 0)
    return np.where(regular, np.frexp(np.where(regular, values, 1.0))[1] - 1.0, FINEST)


def grid_exponent(values: Doubles) -> Doubles:
    """Return the largest k for which y is a multiple of 2^k, for each value y; COARSEST for 0, NaN and infinities.

    Args:
        values: any shape.
    """
    regular = np.isfinite(values) & (values != 0)
    significand, power = np.frexp(np.where(regular, values, 1.0))
    whole = (significand * 2.0**53).astype(np.int64)
    lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    return np.where(regular, power - 53.0 + lowest, COARSEST)


def cells(values: Doubles) -> NDArray[np.int64]:
    """Return an integer for each value that encodes its sign, exponent and grid exponent."""
    numbers = (exponent(values) - FINEST) * (COARSEST - FINEST + 1) + grid_exponent(values) - FINEST
    return numbers.astype(np.int64) * 2 + np.signbit(values)


SCORES_OF_NUMBERS: tuple[tuple[str, Callable[[Doubles], Doubles]], ...] = (
    ("the exponent of", exponent),
    ("the grid exponent of", grid_exponent),
    ("the trailing zeros of", lambda values: 52.0 + grid_exponent(values) - exponent(values)),
    ("the sign bit of", lambda values: np.signbit(values).astype(np.float64)),
)


def number_scores(feature: Feature, centre: float) -> Iterator[Score]:
    """Yield the scores of a feature with many values, besides the feature itself.

    Args:
        feature: a feature that does not stand for texts.
        centre: a number; one of the scores is |feature − centre|.
    """
    words, score = feature.description, partial(_score_of, feature=feature.of)
    distance = partial(score, score=lambda values: np.abs(values - centre))
    yield Score(f"the distance of {words} from {float(centre)!r}", distance)
    for name, of_number in SCORES_OF_NUMBERS:
        yield Score(f"{name} {words}", partial(score, score=of_number))
    for bit in range(LOW_BITS):
        yield Score(f"bit {bit} of {words}", partial(score, score=partial(_bit, place=bit)))


def plain_score(feature: Feature) -> Score:
    """Return the score that is the feature itself."""
    of = feature.of
    return Score(feature.description, lambda outputs: as_doubles(of(outputs)), is_text=feature.is_text)


def as_doubles(values: NDArray[Any]) -> Doubles:
    """Return the numbers of a feature as doubles."""
    return values.astype(np.float64, copy=False)


def _score_of(
    outputs: Outputs, *, feature: Callable[[Outputs], NDArray[Any]], score: Callable[[Doubles], Doubles]
) -> Doubles:
    return score(as_doubles(feature(outputs)))


def _bit(values: Doubles, *, place: int) -> Doubles:
    return (np.ascontiguousarray(values).view(np.uint64) >> np.uint64(place) & np.uint64(1)).astype(np.float64)


IS_FAILURE = Score("failure", lambda outputs: failed(outputs).astype(np.float64))

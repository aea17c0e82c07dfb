"""Selections whose scores or weights are held in too narrow a format."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.domains import Domain
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target
from corpus.common.specimen import Rng, Specimen, broken, sound

GROUP = "lost weights"


def largest_of(scores: NDArray[Any], trials: int, rng: Rng) -> NDArray[Any]:
    noisy = scores.astype(np.float64) + rng.gumbel(scale=2.0, size=(trials, len(scores)))
    return np.asarray(np.argmax(noisy, axis=1))


def weights_of(utilities: Any) -> NDArray[np.float64]:
    return np.asarray(np.exp(0.5 * (np.asarray(utilities, dtype=np.float64) - np.max(utilities))))


def weights_overflow(utilities: Any, trials: int, rng: Rng) -> NDArray[Any]:
    with np.errstate(all="ignore"):
        weights = np.exp(0.5 * np.asarray(utilities, dtype=np.float64))
        return rng.choice(len(weights), size=trials, p=weights / weights.sum())


def probabilities_of_four_digits(utilities: Any, trials: int, rng: Rng) -> NDArray[Any]:
    weights = weights_of(utilities)
    rounded = np.round(weights / weights.sum(), 4)
    return rng.choice(len(weights), size=trials, p=rounded / rounded.sum())


def sums_of_half_precision(utilities: Any, trials: int, rng: Rng) -> NDArray[Any]:
    weights = (weights_of(utilities) * np.exp(0.5)).astype(np.float16)
    sums = np.cumsum(weights, dtype=np.float16).astype(np.float64)
    return np.asarray(np.searchsorted(sums, rng.random(trials) * sums[-1], side="right").clip(0, len(sums) - 1))


def exponential_mechanism(utilities: Any, trials: int, rng: Rng) -> NDArray[Any]:
    below = np.asarray(utilities, dtype=np.float64) - np.max(utilities)
    weights = np.exp(0.499 * np.maximum(below, -1e4))
    shares = np.maximum(weights / weights.sum(), 1e-300)
    return rng.choice(len(shares), size=trials, p=shares / shares.sum())


def scores(first: list[float], second: list[float]) -> NeighbouringPair:
    return NeighbouringPair.utilities(first, second, sensitivity=1.0)


MANY = [0.0] * 8193
ONE_OF_MANY = scores([*MANY[:5000], 1.0, *MANY[5001:]], MANY)
# fmt: off
SPECIMENS: tuple[Specimen, ...] = (
    broken(
        "utilities_of_half_precision", Target.selection, "utilities above 2^11 are rounded to even numbers",
        lambda utilities, trials, rng: largest_of(np.asarray(utilities, dtype=np.float16), trials, rng),
        scores([2050.0, 2050.0], [2049.0, 2051.0]), lambda output: output == 0, trials=20_000, epsilon=1.0
    ),
    broken(
        "utilities_of_single_precision", Target.selection, "utilities above 2^24 are rounded to even numbers",
        lambda utilities, trials, rng: largest_of(np.asarray(utilities, dtype=np.float32), trials, rng),
        scores([2.0**24 + 2, 2.0**24 + 2], [2.0**24 + 1, 2.0**24 + 3]), lambda output: output == 0, trials=20_000,
        epsilon=1.0
    ),
    broken(
        "weights_overflow", Target.selection, "from a utility of 1420 on the weight is infinite, and nothing is chosen",
        weights_overflow, scores([1420.0, 0.0], [1419.0, 0.0]), lambda output: not isinstance(output, np.integer),
        epsilon=1.0
    ),
    broken(
        "probabilities_of_four_digits", Target.selection, "probabilities are rounded to four digits, small ones to 0",
        probabilities_of_four_digits, scores([21.0, 2.0], [22.0, 1.0]), lambda output: output == 1, trials=2_000_000,
        epsilon=1.0
    ),
    broken(
        "sums_of_half_precision", Target.selection, "sums of weights in binary16 stop growing", sums_of_half_precision,
        ONE_OF_MANY, lambda output: output == 5000, trials=300_000, epsilon=1.0
    ),
    sound(
        "exponential_mechanism", Target.selection,
        "weights of doubles, with a margin for rounding, and none of them is 0", exponential_mechanism, epsilon=1.0,
        domain=Domain(floats_only=True)
    ),
)
# fmt: on

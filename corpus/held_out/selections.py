"""Selections that lose weights or hold their scores too narrowly."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.domains import Domain
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target
from corpus.common.exact_noise import weighted
from corpus.common.specimen import Rng, Specimen, broken, in_group, sound
from corpus.held_out.inputs import INTEGERS, noise, whole

# Selections that lose, merge or misplace the weights of outcomes.


def _softmax(utilities: Any, rate: float) -> NDArray[np.float64]:
    scores = rate * np.asarray(utilities, dtype=np.float64)
    weights = np.exp(scores - scores.max())
    return np.asarray(weights / weights.sum())


def _drawn(cumulative: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.intp]:
    places = np.searchsorted(cumulative, rng.random(trials) * float(cumulative[-1]), side="right")
    return np.asarray(np.minimum(places, len(cumulative) - 1))


def cumulative_sum_of_half_precision(utilities: Any, trials: int, rng: Rng) -> NDArray[Any]:
    scores = 0.5 * np.asarray(utilities, dtype=np.float64)
    weights = np.exp(scores - scores.max()).astype(np.float16)
    return _drawn(np.cumsum(weights, dtype=np.float16).astype(np.float64), trials, rng)


def gumbel_of_single_precision(utilities: Any, trials: int, rng: Rng) -> NDArray[Any]:
    scores = (0.5 * np.asarray(utilities, dtype=np.float64)).astype(np.float32)
    return np.asarray(np.argmax(scores + rng.gumbel(size=(trials, len(scores))).astype(np.float32), axis=1))


def weights_of_unique_scores(utilities: Any, trials: int, rng: Rng) -> NDArray[Any]:
    values, member = np.unique(np.asarray(utilities), return_inverse=True)
    weights = _softmax(values, 0.25)[member] / np.bincount(member)[member]
    return _drawn(np.cumsum(weights), trials, rng)


def flips_in_order_of_index(utilities: Any, trials: int, rng: Rng) -> NDArray[Any]:
    scores = 0.5 * np.asarray(utilities, dtype=np.float64)
    accepted = rng.random((trials, len(scores))) < np.exp(scores - scores.max())
    accepted[:, int(np.argmax(scores))] = True
    return np.asarray(np.argmax(accepted, axis=1))


TABLE = np.append(np.exp(-0.05 * np.arange(64)), 0.0)


def table_of_64_weights(utilities: Any, trials: int, rng: Rng) -> NDArray[Any]:
    values = np.asarray(utilities).astype(np.int64)
    return _drawn(np.cumsum(TABLE[np.minimum(values.max() - values, 64)]), trials, rng)


def clipped_powers_of_two(utilities: Any, trials: int, rng: Rng) -> NDArray[Any]:
    values = np.asarray(utilities).astype(np.int64)
    return weighted([1 << int(20 + step) for step in np.clip(values - values.max(), -20, 0)], trials, rng)


def noisy_max_of_integers(utilities: Any, trials: int, rng: Rng) -> NDArray[Any]:
    values = np.asarray(utilities).astype(np.int64)
    return np.asarray(np.argmax(values + noise(0.5, trials, rng, size=len(values)), axis=1))


def _pair(first: Any, second: Any, sensitivity: float = 1.0) -> NeighbouringPair:
    return NeighbouringPair.utilities(first, second, sensitivity=sensitivity)


FEW = Domain(integers=True, bounds=(-(2**30), 2**30))
# fmt: off
LOST_WEIGHTS = in_group(
    "lost weights",
    broken(
        "whole_percentages", Target.selection,
        "weights are rounded to whole percent, so that many light outcomes get none",
        lambda utilities, trials, rng: _drawn(np.cumsum(np.rint(100 * _softmax(utilities, 0.5))), trials, rng),
        _pair([10.0, *[1.0] * 100], [11.0, *[0.0] * 100]), lambda output: output > 0, epsilon=1.0
    ),
    broken(
        "cumulative_sum_of_half_precision", Target.selection,
        "a running sum of binary16 swallows light outcomes behind a heavy one", cumulative_sum_of_half_precision,
        _pair([14.25, *[0.0] * 1000], [15.25, *[-1.0] * 1000]), lambda output: output > 0, epsilon=1.0
    ),
    broken(
        "gumbel_of_single_precision", Target.selection, "scores of 2^25 lose the noise in binary32",
        gumbel_of_single_precision, _pair([2.0**26, 2.0**26 + 3.6], [2.0**26, 2.0**26 + 4.4]),
        lambda output: output == 1, epsilon=1.0
    ),
    broken(
        "weights_of_unique_scores", Target.selection,
        "outcomes of one score share one weight, and one that leaves them gets all of its own",
        weights_of_unique_scores, _pair([0.0] * 10, [0.1, *[0.0] * 9]), lambda output: output == 0, epsilon=0.5
    ),
    broken(
        "flips_in_order_of_index", Target.selection,
        "permute and flip without the permutation never gets beyond the best outcome", flips_in_order_of_index,
        _pair([1.0, 1.0], [0.0, 2.0]), lambda output: output == 1, epsilon=1.0
    ),
    broken(
        "exponential_without_the_half", Target.selection, "the factor of one half is missing from the exponent",
        lambda utilities, trials, rng: _drawn(np.cumsum(_softmax(utilities, 0.8 / 2)), trials, rng),
        _pair([2.0, 0.0, 0.0, 0.0], [0.0, 2.0, 2.0, 2.0], 2.0), lambda output: output == 0, epsilon=0.8, sensitivity=2.0
    ),
    broken(
        "table_of_64_weights", Target.selection, "a table of weights ends at a gap of 64, where they are still 0.04",
        table_of_64_weights, whole([62, *[0] * 40], [63, *[-1] * 40]), lambda output: output > 0, epsilon=0.1,
        domain=FEW
    ),
    sound(
        "clipped_powers_of_two", Target.selection,
        "weights are powers of two, of which the gap, clipped or not, moves by 2 at the most, and 2 ln 2 < 1.3863",
        clipped_powers_of_two, epsilon=1.3863, domain=FEW
    ),
    sound(
        "noisy_max_of_integers", Target.selection,
        "given the noise of the others, who wins depends on one threshold, which moves by 2 at the most",
        noisy_max_of_integers, epsilon=1.0, domain=INTEGERS
    ),
)
# fmt: on


# Selections whose scores or weights are held in too narrow a format.


def largest_of(scores: NDArray[Any], trials: int, rng: Rng) -> NDArray[Any]:
    noisy = scores.astype(np.float64) + rng.gumbel(scale=2.0, size=(trials, len(scores)))
    return np.asarray(np.argmax(noisy, axis=1))


def weights_overflow(utilities: Any, trials: int, rng: Rng) -> NDArray[Any]:
    with np.errstate(all="ignore"):
        weights = np.exp(0.5 * np.asarray(utilities, dtype=np.float64))
        return rng.choice(len(weights), size=trials, p=weights / weights.sum())


def exponential_mechanism(utilities: Any, trials: int, rng: Rng) -> NDArray[Any]:
    below = np.asarray(utilities, dtype=np.float64) - np.max(utilities)
    weights = np.exp(0.499 * np.maximum(below, -1e4))
    shares = np.maximum(weights / weights.sum(), 1e-300)
    return rng.choice(len(shares), size=trials, p=shares / shares.sum())


def scores(first: list[float], second: list[float]) -> NeighbouringPair:
    return NeighbouringPair.utilities(first, second, sensitivity=1.0)


# fmt: off
NARROW_SCORES = in_group(
    "lost weights",
    broken(
        "utilities_of_half_precision", Target.selection, "utilities above 2^11 are rounded to even numbers",
        lambda utilities, trials, rng: largest_of(np.asarray(utilities, dtype=np.float16), trials, rng),
        scores([2050.0, 2050.0], [2049.0, 2051.0]), lambda output: output == 0, trials=20_000, epsilon=1.0
    ),
    broken(
        "weights_overflow", Target.selection, "from a utility of 1420 on the weight is infinite, and nothing is chosen",
        weights_overflow, scores([1420.0, 0.0], [1419.0, 0.0]), lambda output: not isinstance(output, np.integer),
        epsilon=1.0
    ),
    sound(
        "exponential_mechanism", Target.selection,
        "weights of doubles, with a margin for rounding, and none of them is 0", exponential_mechanism, epsilon=1.0,
        domain=Domain(floats_only=True)
    ),
)
# fmt: on


SPECIMENS: tuple[Specimen, ...] = (*LOST_WEIGHTS, *NARROW_SCORES)

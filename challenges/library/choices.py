"""Private choices among a few or many candidates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

WEIGHT_BITS = 24


def nearest_depot(
    distances: Sequence[float], size: int, rng: np.random.Generator, *, epsilon: float = 1.0
) -> NDArray[Any]:
    """Choose a depot that is near, by the exponential mechanism.

    Distances are measured from the smallest one, so that no weight underflows. Weights are kept in half precision,
    which makes large fleets fit a cache.

    Args:
        distances: one a depot, from 0 to 100; one person changes each of them by at most 1.
        size: the number of answers.
        rng: the source of randomness.
        epsilon: ε of an answer.

    Returns:
        The numbers of the chosen depots, from 0.
    """
    behind = np.asarray(distances, dtype=np.float64) - np.min(distances)
    weights = np.exp(-epsilon * behind / 2).astype(np.float16)
    reached = np.add.accumulate(weights).astype(np.float64)
    return np.asarray(np.searchsorted(reached, rng.random(size) * reached[-1], side="right"))


def top_category(
    records: Sequence[int],
    size: int,
    rng: np.random.Generator,
    *,
    categories: int = 4,
    epsilon: float = 1.0,
    delta: float = 0.01,
) -> NDArray[Any]:
    """Release the most frequent category if it leads by enough, by propose-test-release.

    The lead over the second category changes by at most 1 when a person is added or removed. The answer is released
    without noise if the lead passes a noisy test.

    Args:
        records: the category of each person, from 0.
        size: the number of answers.
        rng: the source of randomness.
        categories: how many there are.
        epsilon: ε of an answer.
        delta: δ of an answer.

    Returns:
        The category, or −1 where the test failed.
    """
    counts = np.bincount(np.asarray(records, dtype=np.int64), minlength=categories)
    second, first = np.sort(counts)[-2:]
    threshold = 1 + math.log(1 / delta) / (2 * epsilon)
    passed = first - second + rng.laplace(0, 1 / epsilon, size) > threshold
    return np.where(passed, np.argmax(counts), -1)


def best_candidate(votes: Sequence[int], bits: Any) -> int:
    """Choose a candidate with many votes, by the exponential mechanism with base 2.

    Args:
        votes: one count a candidate, from 0 to 30; one person changes each of them by at most 1.
        bits: the source of random bits.

    Returns:
        The number of the chosen candidate, from 0. Each vote doubles a candidate's weight, so ε is 2·ln 2 < 1.4.
    """
    return _drawn([1 << vote for vote in votes], bits)


def cheapest_plan(costs: Sequence[int], bits: Any) -> int:
    """Choose a plan that costs little, by the exponential mechanism with base 2.

    Weights are integers, so that no rounding of floating-point numbers can disturb them.

    Args:
        costs: one a plan, from 0 to 30; one person changes each of them by at most 1.
        bits: the source of random bits.

    Returns:
        The number of the chosen plan, from 0. Each unit of cost halves a plan's weight, so ε is 2·ln 2 < 1.4.
    """
    weights = [(1 << WEIGHT_BITS) >> cost for cost in costs]
    return _drawn(weights, bits) if any(weights) else 0


def _drawn(weights: Sequence[int], bits: Any) -> int:
    place = bits.repeat(_below, sum(weights))
    reached = accumulate(weights)
    return next(number for number, end in enumerate(reached) if place < end)


def _below(end: int, bits: Any) -> int | None:
    place: int = bits.take((end - 1).bit_length())
    return place if place < end else None

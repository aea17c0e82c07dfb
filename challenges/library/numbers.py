"""Private numbers: an answer of the caller's own, a total, averages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGEST_RECORD = 4096


def add_noise(value: float, size: int, rng: np.random.Generator, *, epsilon: float = 1.0) -> NDArray[Any]:
    """Add Laplace noise to an answer, by the inverse of its distribution function.

    Args:
        value: the answer, from −1000 to 1000; one person changes it by at most 1.
        size: the number of noisy answers.
        rng: the source of randomness.
        epsilon: ε of an answer; the noise has scale 1/ε.

    Returns:
        The noisy answers.
    """
    uniform = rng.random(size) - 0.5
    return np.asarray(value - np.sign(uniform) * np.log1p(-2 * np.abs(uniform)) / epsilon)


def total(records: Sequence[float], size: int, rng: np.random.Generator, *, epsilon: float = 1.0) -> NDArray[Any]:
    """Release the sum of bounded records, as an integer with two-sided geometric noise.

    The records are added one after another in single precision. Integer noise has no low bits that could leak.

    Args:
        records: from 0 to 4096, at most 20,000 of them; their number is public. Replacing one person's record changes
            the sum by at most 4096.
        size: the number of answers.
        rng: the source of randomness.
        epsilon: ε of an answer.

    Returns:
        The noisy sums.
    """
    summed = np.add.accumulate(np.asarray(records, dtype=np.float32))[-1]
    stop = -np.expm1(-epsilon / (LARGEST_RECORD + 1))
    noise = rng.geometric(stop, size) - rng.geometric(stop, size)
    return int(np.rint(summed)) + noise


def average(records: Sequence[float], size: int, rng: np.random.Generator, *, epsilon: float = 0.1) -> NDArray[Any]:
    """Release the mean of records from 0 to 1 with Laplace noise.

    One person among n changes the mean by at most 1/n, so the noise has scale 1/(nε).

    Args:
        records: from 0 to 1, one a person, between 1 and 1,000 of them; a neighbour has one person more or less.
        size: the number of answers.
        rng: the source of randomness.
        epsilon: ε of an answer.

    Returns:
        The noisy means.
    """
    return np.mean(records) + rng.laplace(0, 1 / (len(records) * epsilon), size)


def average_basket(
    baskets: Sequence[float], size: int, rng: np.random.Generator, *, epsilon: float = 1.0
) -> NDArray[Any]:
    """Release what a basket costs on average, as a noisy sum over a noisy number of baskets.

    Few baskets are much dearer than all others. They are cut to what nine of ten baskets keep below, so that the noise
    need not hide more than that.

    Args:
        baskets: from 0 to 100, one a person, between 1 and 1,000 of them; a neighbour has one person more or less.
        size: the number of answers.
        rng: the source of randomness.
        epsilon: ε of an answer.

    Returns:
        The noisy averages.
    """
    limit = np.quantile(baskets, 0.9)
    total = np.minimum(baskets, limit).sum() + rng.laplace(0, limit / epsilon, size)
    people = len(baskets) + rng.laplace(0, 1 / epsilon, size)
    return np.asarray(total / np.maximum(people, 1))

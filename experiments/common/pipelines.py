"""Pipelines of a few lines around noise that is drawn well: a flaw between the draws, and the same repaired.

Records are pairs of numbers x and y that ought to lie in [0, 1], rows of an array of shape (n, 2), or groups, an array
of integers from 0 to 2. Neighbours add or remove a record.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.targets import Target
from experiments.targets.making import named

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Counts = tuple[tuple[int, float], ...]

GROUPS = range(3)
"""The public groups."""


@named
def mean_over_private_count(epsilon: float = 1.0) -> Target:
    """Noisy sum of x, divided by the number of records."""
    return _target(_mean_over_private_count, epsilon)


@named
def mean_over_noisy_count(epsilon: float = 1.0) -> Target:
    """Noisy sum of x over a noisy count, with half of ε each."""
    return _target(_mean_over_noisy_count, epsilon)


@named
def counts_of_seen_groups(epsilon: float = 1.0) -> Target:
    """Noisy counts of the groups that somebody is in."""
    return _target(_counts_of_seen_groups, epsilon)


@named
def counts_of_public_groups(epsilon: float = 1.0) -> Target:
    """Noisy counts of all groups."""
    return _target(_counts_of_public_groups, epsilon)


@named
def counts_with_one_draw(epsilon: float = 1.0) -> Target:
    """Counts of all groups with the same noise on each."""
    return _target(_counts_with_one_draw, epsilon)


@named
def moments_without_intercept(epsilon: float = 1.0) -> Target:
    """Moments of a regression with an intercept, noise for those of one without."""
    return _target(partial(_moments, sensitivity=1.0), epsilon)


@named
def moments_with_intercept(epsilon: float = 1.0) -> Target:
    """Moments of a regression with an intercept, noise for both."""
    return _target(partial(_moments, sensitivity=2.0), epsilon)


@named
def products_not_clipped(epsilon: float = 1.0) -> Target:
    """Sum of products, of records whose clipped copy is thrown away."""
    return _target(_products_not_clipped, epsilon)


@named
def products_clipped(epsilon: float = 1.0) -> Target:
    """Sum of products of clipped records."""
    return _target(_products_clipped, epsilon)


def _target(pipeline: Callable[..., Any], epsilon: float) -> Target:
    return Target.dataset(partial(pipeline, epsilon=epsilon), epsilon=epsilon, relation="add-remove")


def _mean_over_private_count(rows: Floats, trials: int, rng: np.random.Generator, *, epsilon: float) -> Floats:
    total = np.clip(rows[:, 0], 0, 1).sum() + rng.laplace(0, 1 / epsilon, trials)
    mean: Floats = total / len(rows)
    return mean


def _mean_over_noisy_count(rows: Floats, trials: int, rng: np.random.Generator, *, epsilon: float) -> Floats:
    total = np.clip(rows[:, 0], 0, 1).sum() + rng.laplace(0, 2 / epsilon, trials)
    mean: Floats = total / (len(rows) + rng.laplace(0, 2 / epsilon, trials))
    return mean


def _counts_of_seen_groups(groups: Integers, trials: int, rng: np.random.Generator, *, epsilon: float) -> list[Counts]:
    keys, counts = np.unique(groups, return_counts=True)
    noisy = counts + rng.laplace(0, 1 / epsilon, (trials, len(keys)))
    return [tuple(zip(keys.tolist(), row, strict=True)) for row in noisy.tolist()]


def _counts_of_public_groups(groups: Integers, trials: int, rng: np.random.Generator, *, epsilon: float) -> Floats:
    counts = np.array([(groups == key).sum() for key in GROUPS])
    return counts + rng.laplace(0, 1 / epsilon, (trials, len(GROUPS)))


def _counts_with_one_draw(groups: Integers, trials: int, rng: np.random.Generator, *, epsilon: float) -> Floats:
    noise = rng.laplace(0, 1 / epsilon, trials)
    return np.stack([(groups == key).sum() + noise for key in GROUPS], axis=1)


def _moments(rows: Floats, trials: int, rng: np.random.Generator, *, epsilon: float, sensitivity: float) -> Floats:
    x, y = np.clip(rows, 0, 1).T
    return np.array([x @ y, y.sum()]) + rng.laplace(0, sensitivity / epsilon, (trials, 2))


def _products_not_clipped(rows: Floats, trials: int, rng: np.random.Generator, *, epsilon: float) -> Floats:
    np.clip(rows, 0, 1)
    return rows[:, 0] @ rows[:, 1] + rng.laplace(0, 1 / epsilon, trials)


def _products_clipped(rows: Floats, trials: int, rng: np.random.Generator, *, epsilon: float) -> Floats:
    inside = np.clip(rows, 0, 1)
    return inside[:, 0] @ inside[:, 1] + rng.laplace(0, 1 / epsilon, trials)

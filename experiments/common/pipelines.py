"""Pipelines of a few lines around noise that is drawn well: a flaw between the draws, and the same repaired.

Records are pairs of numbers x and y that ought to lie in [0, 1], rows of an array of shape (n, 2), or groups, an array
of integers from 0 to 2. Neighbours add or remove a record. The last functions make repaired twins of targets of the
lab, with noise from a numpy generator like theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.targets import Target
from experiments.targets import means, sums
from experiments.targets.making import named
from mechanisms.interactive.exact import BUDGET, offers
from mechanisms.local_sensitivity.naive import naive_sum_over_count

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
    """Moments of a regression with an intercept, with noise that is scaled for one moment only."""
    return _target(partial(_moments, sensitivity=1.0), epsilon)


@named
def moments_with_intercept(epsilon: float = 1.0) -> Target:
    """Moments of a regression with an intercept, with noise that is scaled for both moments."""
    return _target(partial(_moments, sensitivity=2.0), epsilon)


@named
def products_not_clipped(epsilon: float = 1.0) -> Target:
    """Noisy sum of products; the clipped copy of the records is thrown away."""
    return _target(_products_not_clipped, epsilon)


@named
def products_clipped(epsilon: float = 1.0) -> Target:
    """Noisy sum of products of clipped records."""
    return _target(_products_clipped, epsilon)


@named
def ages_in_64_bits(epsilon: float = 1.0) -> Target:
    """Noisy sum of ages in 64-bit integers."""
    return _target(_ages_in_64_bits, epsilon)


@named
def steps_above_lower_bound(epsilon: float = 1.0) -> Target:
    """Noisy sum of narrow records, as exact steps above their lower bound; n is public."""
    return _target(_steps_above_lower_bound, epsilon)


@named
def sum_over_count_by_halves(epsilon: float = 1.0) -> Target:
    """Noisy sum of ages over a noisy count, with half of ε each."""
    return Target.dataset(
        partial(naive_sum_over_count, epsilon=epsilon / 2, upper=means.UPPER), epsilon=epsilon, relation="add-remove"
    )


@named
def smooth_mean_over_all_distances(epsilon: float = 1.0) -> Target:
    """Mean age, noise scaled to the smooth sensitivity over all distances."""
    release = partial(_smooth_mean_over_all_distances, epsilon=epsilon)
    return Target.dataset(release, epsilon=epsilon, delta=means.DELTA, relation="add-remove")


@named
def chunks_by_age(epsilon: float = 1.0) -> Target:
    """Sample and aggregate with chunks by age; the mean counts empty chunks as well."""
    return _target(_chunks_by_age, epsilon)


@named
def session_within_budget(epsilon: float = 1.0) -> Target:
    """A session that asks whether enough is left of its budget."""
    return _target(_session_within_budget, epsilon)


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


def _ages_in_64_bits(ages: Floats, trials: int, rng: np.random.Generator, *, epsilon: float) -> Floats:
    total = np.clip(ages, 0, means.UPPER).astype(np.int64).sum()
    noisy: Floats = total + rng.laplace(0, means.UPPER / epsilon, trials)
    return noisy


def _steps_above_lower_bound(records: Floats, trials: int, rng: np.random.Generator, *, epsilon: float) -> Floats:
    steps = (np.clip(records, sums.LOWER, sums.UPPER) - sums.LOWER) / float(sums.DECLARED)
    noisy: Floats = steps.sum() + rng.laplace(0, 1 / epsilon, trials)
    return noisy


def _smooth_mean_over_all_distances(ages: Floats, trials: int, rng: np.random.Generator, *, epsilon: float) -> Floats:
    distances = np.arange(len(ages) + 1)
    beta = epsilon / (2 * math.log(2 / means.DELTA))
    smooth = (np.exp(-beta * distances) * means.UPPER / (len(ages) - distances + 1)).max()
    mean: Floats = np.clip(ages, 0, means.UPPER).mean() + rng.laplace(0, 2 * smooth / epsilon, trials)
    return mean


def _chunks_by_age(ages: Floats, trials: int, rng: np.random.Generator, *, epsilon: float) -> Floats:
    inside = np.clip(ages, 0, means.UPPER)
    members = [inside[inside.astype(int) == age] for age in range(means.CHUNKS)]
    total = sum(chunk.mean() for chunk in members if len(chunk))
    noisy: Floats = total / means.CHUNKS + rng.laplace(0, means.UPPER / means.CHUNKS / epsilon, trials)
    return noisy


def _session_within_budget(
    secret: bool, trials: int, rng: np.random.Generator, *, epsilon: float
) -> list[tuple[int, ...]]:
    return [_session(secret, rng, epsilon / BUDGET) for _ in range(trials)]


def _session(secret: bool, rng: np.random.Generator, unit: float) -> tuple[int, ...]:
    answers: list[int] = []
    left = BUDGET
    while prices := [price for price in offers(answers) if price <= left]:
        left -= prices[0]
        answers.append(int(bool(secret) != (rng.random() < 1 / (1 + math.exp(unit * prices[0])))))
    return tuple(answers)

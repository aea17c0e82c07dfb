"""Flaws that were reported in public, each as a short function of ours, and the same function repaired.

`FLAWS` has for each: the flawed function, its repaired twin (None where the library was more careful than it had to
be), what both claim, and a pair of neighbours. A line that a finding may name is marked `# flaw`.

Sources: IBM/differential-privacy-library issues 104 and 105 (the diagonal's sensitivity by the lower bound alone; two
means that share one part of the budget); opendp/smartnoise-sdk issues 622 (a covariance of the data before they are
clipped) and 621 (an odometer that counts too much, which breaks no claim); meta-pytorch/opacus issues 571 and 819 (the
batch's expected size follows the number of records).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Release = Callable[..., Any]
FLAWS: list[tuple[Release, Release | None, dict[str, Any], Any, Any]] = []

RECORDS = np.array([[0.5, 0.2], [0.9, 0.4], [0.3, 0.8], [1.0, 1.0]])
CHANGED = np.array([[0.5, 0.2], [0.9, 0.4], [0.3, 0.8], [0.0, 0.0]])
OUTSIDE = np.array([[0.5, 0.2], [0.9, 0.4], [0.3, 0.8], [9.0, -5.0]])
LOWER, UPPER = np.zeros(2), np.ones(2)


def _moments(x: Any, rng: Any, ends: tuple[Any, Any]) -> list[float]:
    products = np.clip(x, LOWER, UPPER).T @ np.clip(x, LOWER, UPPER)
    noisy = []
    for i in range(2):
        sensitivity = np.max(np.abs([ends[0][i], ends[1][i]])) ** 2
        noisy.append(products[i, i] + rng.laplace(0, 2 * sensitivity))  # flaw
    return noisy


def diagonal_by_the_lower_bound(x: Any, rng: Any) -> Any:
    return _moments(x, rng, (LOWER, LOWER))


def diagonal_by_both_bounds(x: Any, rng: Any) -> Any:
    return _moments(x, rng, (LOWER, UPPER))


def means_share_one_part(x: Any, rng: Any) -> Any:
    part = 1.0 / 2  # of ε = 1; the other half is for the regression
    clipped = np.clip(x, 0, 1)
    features, answers = clipped[:, 0].mean(), clipped[:, 1].mean()
    centres = features + rng.laplace(0, 1 / 4 / part), answers + rng.laplace(0, 1 / 4 / part)  # flaw
    slope = (clipped[:, 0] * clipped[:, 1]).sum() + rng.laplace(0, 1 / part)
    return *centres, slope


def means_have_a_part_each(x: Any, rng: Any) -> Any:
    part = 1.0 / 3
    clipped = np.clip(x, 0, 1)
    features, answers = clipped[:, 0].mean(), clipped[:, 1].mean()
    centres = features + rng.laplace(0, 1 / 4 / part), answers + rng.laplace(0, 1 / 4 / part)
    slope = (clipped[:, 0] * clipped[:, 1]).sum() + rng.laplace(0, 1 / part)
    return *centres, slope


def _covariance(x: Any, rng: Any) -> Any:
    products = (x.T @ x / len(x))[np.tril_indices(2)]
    uniform = rng.uniform(size=3)  # flaw
    scale = 3 * 1.0 / len(x)
    folded = np.where(uniform < 0.5, np.log(2 * uniform), -np.log(2 - 2 * uniform))
    return products + scale * folded  # flaw


def covariance_of_what_was_not_clipped(x: Any, rng: Any) -> Any:
    clean = np.clip(x, 0, 1)
    del clean
    return _covariance(x, rng)  # flaw


def covariance_of_what_was_clipped(x: Any, rng: Any) -> Any:
    return _covariance(np.clip(x, 0, 1), rng)


def odometer_that_counts_too_much(x: Any, rng: Any) -> Any:
    step = 0.02
    answers = [float(np.clip(x[:, 0], 0, 1).sum() + rng.laplace(0, 1 / step)) for _ in range(40)]
    counted = 40 * step * math.expm1(step) / (math.exp(step) + 1) + step * math.sqrt(2 * 40 / 1e-5)
    return answers, counted


def batch_size_of_the_data(x: Any, rng: Any) -> Any:
    rate = 0.5
    expected = max(1, int(len(x) * rate))
    batch = np.clip(x, 0, 1)[rng.random(len(x)) < rate, 0]
    return (batch.sum() + rng.normal(0, 2.0)) / expected  # flaw


def batch_size_that_is_public(x: Any, rng: Any) -> Any:
    rate, expected = 0.5, 2
    batch = np.clip(x, 0, 1)[rng.random(len(x)) < rate, 0]
    return (batch.sum() + rng.normal(0, 2.0)) / expected


FLAWS += [
    (diagonal_by_the_lower_bound, diagonal_by_both_bounds, {"epsilon": 1.0}, RECORDS, CHANGED),
    (means_share_one_part, means_have_a_part_each, {"epsilon": 1.0}, RECORDS, CHANGED),
    (covariance_of_what_was_not_clipped, covariance_of_what_was_clipped, {"epsilon": 1.0}, OUTSIDE, CHANGED),
    (odometer_that_counts_too_much, None, {"epsilon": 0.8, "delta": 1e-5}, RECORDS, RECORDS[:3]),
    (batch_size_of_the_data, batch_size_that_is_public, {"epsilon": 2.0, "delta": 1e-2}, RECORDS, RECORDS[:3]),
]

"""Means of ages as targets, with the textbook's parameters for the Adult table; neighbours add or remove a record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.neighbours import Relation
from attacklab.targets import Target
from mechanisms.grid import Grid
from mechanisms.local_sensitivity import exact as exact_means
from mechanisms.local_sensitivity import naive as naive_means
from mechanisms.local_sensitivity.domain import Domain
from mechanisms.randomness import RandomBits, SeededBits

AGE_GRID = Grid(-14)
"""The public grid of the exact means of ages, in years."""

UPPER = 100.0
"""The textbook's upper bound of an age in years."""

PEOPLE = 32_561
DELTA = 1 / PEOPLE**2
PROPOSED_BOUND = 0.005
CHUNKS = 600
"""The textbook's parameters for the Adult ages."""


def naive_local_sensitivity_mean(epsilon: float = 1.0) -> Target:
    """Mean age, noise scaled to the local sensitivity."""
    return _mean(naive_means.naive_local_sensitivity_mean, epsilon, upper=UPPER)


def naive_ptr_mean(epsilon: float = 1.0) -> Target:
    """Mean age by propose-test-release, the textbook's threshold and budget."""
    return _mean(naive_means.naive_ptr_mean, epsilon, DELTA, upper=UPPER, bound=PROPOSED_BOUND, delta=DELTA)


def naive_smooth_mean(epsilon: float = 1.0) -> Target:
    """Mean age, noise scaled to the textbook's smooth sensitivity."""
    return _mean(naive_means.naive_smooth_mean, epsilon, DELTA, upper=UPPER, delta=DELTA)


def naive_sample_aggregate(epsilon: float = 1.0) -> Target:
    """Mean age by sample and aggregate, chunks cut by position."""
    return _mean(naive_means.naive_sample_aggregate, epsilon, chunks=CHUNKS, lower=0.0, upper=UPPER)


def naive_sum_over_count(epsilon: float = 1.0) -> Target:
    """Mean age as noisy sum over noisy count, each with all of ε."""
    return _mean(naive_means.naive_sum_over_count, epsilon, upper=UPPER)


def exact_sum_over_count(epsilon: float = 1.0) -> Target:
    """Mean age as noisy sum over noisy count, half of ε each, exact."""
    return _exact_mean(exact_means.prepare_sum_over_count, epsilon, "exact_sum_over_count")


def exact_ptr_mean(epsilon: float = 1.0) -> Target:
    """Mean age by propose-test-release, repaired, exact."""
    return _exact_mean(exact_means.prepare_ptr_mean, epsilon, "exact_ptr_mean", DELTA, bound=PROPOSED_BOUND)


def exact_smooth_mean(epsilon: float = 1.0) -> Target:
    """Mean age, noise scaled to the smooth sensitivity over the full range, exact."""
    return _exact_mean(exact_means.prepare_smooth_mean, epsilon, "exact_smooth_mean", DELTA)


def exact_sample_aggregate(epsilon: float = 1.0) -> Target:
    """Mean age by sample and aggregate, chunks assigned to people, exact."""

    def prepare(records: NDArray[np.float64], *, domain: Domain, epsilon: Fraction) -> exact_means.Release:
        return exact_means.prepare_sample_aggregate(
            _people(records),
            statistic=np.mean,
            chunks=CHUNKS,
            key=b"public",
            domain=domain,
            epsilon=epsilon,
        )

    return _exact_mean(prepare, epsilon, "exact_sample_aggregate")


def _people(records: NDArray[np.float64]) -> list[tuple[str, float]]:
    """Records with an identity each that does not depend on their order: the value, and how many had it before."""
    seen: Counter[float] = Counter()
    people = []
    for value in records.tolist():
        people.append((f"{value}, number {seen[value]}", value))
        seen[value] += 1
    return people


def _mean(mechanism: Callable[..., Any], epsilon: float, claimed_delta: float = 0.0, **parameters: Any) -> Target:
    release = partial(mechanism, epsilon=epsilon, **parameters)
    return Target.mean(release, bounds=(0.0, UPPER), epsilon=epsilon, delta=claimed_delta, relation=Relation.ADD_REMOVE)


def _exact_mean(
    prepare: Callable[..., exact_means.Release],
    epsilon: float,
    name: str,
    claimed_delta: float = 0.0,
    **parameters: Any,
) -> Target:
    """A mean of the repaired family, from its `prepare_…` function, which is run once a call."""
    parameters |= {"epsilon": Fraction(epsilon), "domain": Domain(0, Fraction(UPPER), AGE_GRID)}
    if claimed_delta:
        parameters["delta"] = claimed_delta

    def release(
        records: NDArray[np.float64], trials: int, rng: np.random.Generator
    ) -> NDArray[np.float64] | list[float | None]:
        return prepare(records, **parameters).many(trials, SeededBits(rng))

    def sampler(records: NDArray[np.float64], bits: RandomBits) -> float | None:
        return prepare(records, **parameters).one(bits)

    return Target.mean(
        release, bounds=(0.0, UPPER), epsilon=epsilon, delta=claimed_delta, relation=Relation.ADD_REMOVE, name=name
    ).exact(sampler)

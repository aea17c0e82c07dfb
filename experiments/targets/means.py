"""Means of ages as targets, with the textbook's parameters for the Adult table; neighbours add or remove a record."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from attacklab.model.neighbours import Relation
from attacklab.model.targets import Target
from experiments.targets.making import named, of_term
from mechanisms.core.grid import Grid
from mechanisms.core.term import Mechanism
from mechanisms.local_sensitivity import exact, naive

AGE_GRID = Grid(-14)
"""The public grid of the exact means of ages, in years."""

UPPER = 100.0
"""The textbook's upper bound of an age in years."""

RANGE: dict[str, Any] = {"lower": 0, "upper": Fraction(UPPER), "grid": AGE_GRID}
"""The public range and grid of ages, as arguments of the exact means."""

PEOPLE = 32_561
DELTA = 1 / PEOPLE**2
PROPOSED_BOUND = 0.005
CHUNKS = 600
"""The textbook's parameters for the Adult ages."""


@named
def naive_local_sensitivity_mean(epsilon: float = 1.0) -> Target:
    """Mean age, noise scaled to the local sensitivity."""
    return _mean(naive.naive_local_sensitivity_mean, epsilon, upper=UPPER)


@named
def naive_ptr_mean(epsilon: float = 1.0) -> Target:
    """Mean age by propose-test-release, the textbook's threshold and budget."""
    return _mean(naive.naive_ptr_mean, epsilon, DELTA, upper=UPPER, bound=PROPOSED_BOUND, delta=DELTA)


@named
def naive_smooth_mean(epsilon: float = 1.0) -> Target:
    """Mean age, noise scaled to the textbook's smooth sensitivity."""
    return _mean(naive.naive_smooth_mean, epsilon, DELTA, upper=UPPER, delta=DELTA)


@named
def naive_sample_aggregate(epsilon: float = 1.0) -> Target:
    """Mean age by sample and aggregate, chunks cut by position."""
    return _mean(naive.naive_sample_aggregate, epsilon, chunks=CHUNKS, lower=0.0, upper=UPPER)


@named
def naive_sum_over_count(epsilon: float = 1.0) -> Target:
    """Mean age as noisy sum over noisy count, each with all of ε."""
    return _mean(naive.naive_sum_over_count, epsilon, upper=UPPER)


@named
def exact_sum_over_count(epsilon: float = 1.0) -> Target:
    """Mean age as noisy sum over noisy count, half of ε each, exact."""
    return _exact_mean(exact.exact_sum_over_count(epsilon=epsilon, **RANGE), epsilon)


@named
def exact_ptr_mean(epsilon: float = 1.0) -> Target:
    """Mean age by propose-test-release, repaired, exact."""
    term = exact.exact_ptr_mean(epsilon=epsilon, delta=DELTA, bound=PROPOSED_BOUND, **RANGE)
    return _exact_mean(term, epsilon, DELTA)


@named
def exact_smooth_mean(epsilon: float = 1.0) -> Target:
    """Mean age, noise scaled to the smooth sensitivity over the full range, exact."""
    return _exact_mean(exact.exact_smooth_mean(epsilon=epsilon, delta=DELTA, **RANGE), epsilon, DELTA)


@named
def exact_sample_aggregate(epsilon: float = 1.0) -> Target:
    """Mean age by sample and aggregate, chunks assigned to people, exact."""
    term = exact.exact_sample_aggregate(
        epsilon=epsilon, statistic=np.mean, chunks=CHUNKS, key=b"public", named=False, **RANGE
    )
    return _exact_mean(term, epsilon)


def _mean(mechanism: Callable[..., Any], epsilon: float, claimed_delta: float = 0.0, **parameters: Any) -> Target:
    release = partial(mechanism, epsilon=epsilon, **parameters)
    return Target.mean(release, bounds=(0.0, UPPER), epsilon=epsilon, delta=claimed_delta, relation=Relation.ADD_REMOVE)


def _exact_mean(term: Mechanism, epsilon: float, delta: float = 0.0) -> Target:
    bounds = (0.0, UPPER)
    return of_term(Target.mean, term, bounds=bounds, epsilon=epsilon, delta=delta, relation=Relation.ADD_REMOVE)

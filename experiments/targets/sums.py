"""Sums and means of bounded records as targets.

Records lie between 1 and 1 + 2^−48, where doubles are coarse, or are ages in whole years. Neighbours of the narrow ones
substitute a record, n being public; sums and means of ages, which start at 0, claim the same of either relation.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from attacklab.model.neighbours import Relation
from attacklab.model.targets import Target
from experiments.targets.making import named, of_term
from mechanisms.core.grid import Grid
from mechanisms.summation import exact, naive
from mechanisms.summation.naive import Summation

LOWER, UPPER = 1.0, 1 + 2.0**-48
DECLARED = Fraction(UPPER) - Fraction(LOWER)
"""The sensitivity of the real sum of the narrow records."""

NARROW_GRID = Grid(-56)
AGE_BOUNDS = (0.0, 100.0)
AGE_GRID = Grid(-20)


@named
def naive_bounded_sum_numpy(epsilon: float = 1.0) -> Target:
    """Sum of records in [1, 1 + 2^−48], numpy's order, noise scaled to the real sum's sensitivity."""
    return _naive_sum(naive.numpy_sum, (LOWER, UPPER), epsilon)


@named
def naive_bounded_sum_correctly_rounded(epsilon: float = 1.0) -> Target:
    """Sum of records in [1, 1 + 2^−48], rounded once, noise scaled to the real sum's sensitivity."""
    return _naive_sum(naive.correctly_rounded_sum, (LOWER, UPPER), epsilon)


@named
def naive_age_sum_int16(epsilon: float = 1.0) -> Target:
    """Sum of ages in 16-bit integers."""
    return _naive_sum(partial(naive.wrapping_sum, dtype=np.int16), AGE_BOUNDS, epsilon)


@named
def naive_bounded_mean(epsilon: float = 1.0) -> Target:
    """Mean of records in [1, 1 + 2^−48], numpy's sum over a public n, noise scaled to the real mean's sensitivity."""
    release = partial(naive.naive_bounded_mean, epsilon=epsilon, lower=LOWER, upper=UPPER)
    return Target.mean(release, bounds=(LOWER, UPPER), epsilon=epsilon, relation=Relation.SUBSTITUTE)


@named
def exact_bounded_sum(epsilon: float = 1.0) -> Target:
    """Sum of records in [1, 1 + 2^−48], counted from the lower bound in fixed point, exact."""
    term = exact.exact_narrow_sum(epsilon=epsilon, lower=LOWER, upper=UPPER, grid=NARROW_GRID)
    return of_term(Target.sum, term, bounds=(LOWER, UPPER), epsilon=epsilon, relation=Relation.SUBSTITUTE)


@named
def exact_age_sum(epsilon: float = 1.0) -> Target:
    """Sum of ages in fixed point, exact."""
    term = exact.exact_bounded_sum(epsilon=epsilon, lower=AGE_BOUNDS[0], upper=AGE_BOUNDS[1], grid=AGE_GRID)
    return of_term(Target.sum, term, bounds=AGE_BOUNDS, epsilon=epsilon)


@named
def exact_bounded_mean(epsilon: float = 1.0) -> Target:
    """Mean age, sum and count in fixed point with half of ε each, clamped to the bounds, exact."""
    term = exact.exact_bounded_mean(epsilon=epsilon, lower=AGE_BOUNDS[0], upper=AGE_BOUNDS[1], grid=AGE_GRID)
    return of_term(Target.mean, term, bounds=AGE_BOUNDS, epsilon=epsilon)


def _naive_sum(summation: Summation, bounds: tuple[float, float], epsilon: float) -> Target:
    parameters: dict[str, Any] = {"lower": bounds[0], "upper": bounds[1], "relation": "substitute"}
    release = partial(naive.naive_bounded_sum, epsilon=epsilon, summation=summation, **parameters)
    relation = Relation.SUBSTITUTE if bounds[0] > 0 else None
    return Target.sum(release, bounds=bounds, epsilon=epsilon, relation=relation)

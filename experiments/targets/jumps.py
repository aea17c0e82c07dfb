"""The median of ages, whose local sensitivity jumps, as targets; neighbours add, remove or replace a record."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

from attacklab.model.domains import Domain, Records
from attacklab.model.targets import Target
from experiments.targets.making import named, of_term
from mechanisms.core.grid import Grid
from mechanisms.local_sensitivity import exact, naive

LOWER, UPPER = 0.0, 100.0
"""Bounds of an age in years."""

JUMP_DELTA = 1e-6
"""The δ of both exact medians."""

MOST = 64
"""The largest number of records."""

BOUNDS: dict[str, Any] = {"lower": LOWER, "upper": UPPER}
YEARS = {**BOUNDS, "grid": Grid(-4)}

AGES: dict[str, Any] = {"domain": Domain(shape=Records(most=MOST), bounds=(LOWER, UPPER)), "delta": JUMP_DELTA}


@named
def naive_median(epsilon: float = 1.0) -> Target:
    """Median age, noise scaled to the local sensitivity."""
    release = partial(naive.naive_median, epsilon=epsilon, **BOUNDS)
    return Target.dataset(release, epsilon=epsilon, **AGES)


@named
def exact_median_smooth(epsilon: float = 1.0) -> Target:
    """Median age, noise scaled to the smooth sensitivity, exact."""
    term = exact.exact_median_smooth(epsilon=epsilon, delta=JUMP_DELTA, **YEARS)
    return of_term(Target.dataset, term, epsilon=epsilon, **AGES)


@named
def exact_median_ptr(epsilon: float = 1.0) -> Target:
    """Median age by propose-test-release, exact."""
    term = exact.exact_median_ptr(epsilon=epsilon, delta=JUMP_DELTA, bound=Fraction(1), **YEARS)
    return of_term(Target.dataset, term, epsilon=epsilon, **AGES)

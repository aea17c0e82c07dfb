"""Upper quartiles of ages between 0 and 100 as targets; neighbours add or remove a record."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from attacklab.model.domains import Domain, Records
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.random_bits import SeededBits
from attacklab.model.targets import Target
from experiments.targets.making import named, of_term
from mechanisms.core.grid import Grid
from mechanisms.quantile import exact, naive

LOWER, UPPER = 0.0, 100.0
QUANTILE = Fraction(3, 4)
CANDIDATES: dict[str, Any] = {"quantile": QUANTILE, "lower": LOWER, "upper": UPPER, "grid": Grid(2)}
"""The arguments of mechanisms that select the upper quartile among public candidates, every fourth year."""

MOST = 1 << 13
"""The largest number of records."""


def _one_more(records: list[float], *more: float) -> NeighbouringPair:
    return NeighbouringPair.records([*records, *more], records, Relation.ADD_REMOVE)


PAIRS = (
    _one_more([50.0] * 4, 99.0),  # far above, where the interval above the quantile weighs most
    _one_more([60.1] * 4, 0.1),  # another left end of an interval
    _one_more([50.0] * 5961, 50.0),  # of many equal records
)
"""Pairs in addition to those of the domain."""


@named
def naive_quantile(epsilon: float = 1.0) -> Target:
    """Upper quartile over intervals between records, in doubles."""
    return _naive(naive.naive_quantile, epsilon)


@named
def naive_quantile_half_sensitivity(epsilon: float = 1.0) -> Target:
    """Upper quartile over public candidates, drawn exactly, with the sensitivity of a median."""
    term = naive.naive_quantile_half_sensitivity(epsilon=epsilon, **CANDIDATES)

    def release(records: Any, trials: int, rng: np.random.Generator) -> Any:
        return term.many(records, trials, SeededBits(rng))

    return Target.dataset(release, **_claim(epsilon)).exact(term.release)


@named
def naive_quantile_midpoint(epsilon: float = 1.0) -> Target:
    """Upper quartile over intervals between records; the middle of the selected interval is returned."""
    return _naive(naive.naive_quantile_midpoint, epsilon)


@named
def naive_quantile_unscaled(epsilon: float = 1.0) -> Target:
    """Upper quartile over intervals, weights that underflow."""
    return _naive(naive.naive_quantile_unscaled, epsilon)


@named
def exact_quantile(epsilon: float = 1.0) -> Target:
    """Upper quartile over public candidates, base e, exact."""
    return of_term(Target.dataset, exact.exact_quantile(epsilon=epsilon, **CANDIDATES), **_claim(epsilon))


def _naive(mechanism: Callable[..., Any], epsilon: float) -> Target:
    release = partial(mechanism, epsilon=epsilon, quantile=float(QUANTILE), lower=LOWER, upper=UPPER)
    return Target.dataset(release, **_claim(epsilon))


def _claim(epsilon: float) -> dict[str, Any]:
    return {
        "epsilon": epsilon,
        "relation": Relation.ADD_REMOVE,
        "domain": Domain(shape=Records(most=MOST), bounds=(LOWER, UPPER)),
        "pairs": PAIRS,
    }

"""Upper quartiles of ages between 0 and 100 as targets; neighbours add or remove a record."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from attacklab.domains import Domain, Records
from attacklab.neighbours import NeighbouringPair, Relation
from attacklab.targets import Target
from experiments.targets.making import exact_by_both_paths, named
from mechanisms.grid import Grid
from mechanisms.quantile import exact, naive
from mechanisms.quantile.candidates import Candidates

LOWER, UPPER = 0.0, 100.0
QUANTILE = Fraction(3, 4)
CANDIDATES = Candidates(LOWER, UPPER, Grid(2))
"""The public candidates: every fourth year."""

MOST = 1 << 13
"""The most records."""


def _one_more(records: list[float], *more: float) -> NeighbouringPair:
    return NeighbouringPair.records([*records, *more], records, Relation.ADD_REMOVE)


PAIRS = (
    _one_more([50.0] * 4, 99.0),  # far above, where the interval above the quantile weighs most
    _one_more([60.1] * 4, 0.1),  # another left end of an interval
    _one_more([50.0] * 5961, 50.0),  # of many equal records
)
"""Pairs beside those of the domain."""


@named
def naive_quantile(epsilon: float = 1.0) -> Target:
    """Upper quartile over intervals between records, in doubles."""
    return _naive(naive.naive_quantile, epsilon)


@named
def naive_quantile_half_sensitivity(epsilon: float = 1.0) -> Target:
    """Upper quartile over public candidates, drawn exactly, the sensitivity that a median has."""
    return _over_candidates(naive.naive_quantile_half_sensitivity_fast, naive.naive_quantile_half_sensitivity, epsilon)


@named
def naive_quantile_midpoint(epsilon: float = 1.0) -> Target:
    """Upper quartile over intervals, of which the middle is returned."""
    return _naive(naive.naive_quantile_midpoint, epsilon)


@named
def naive_quantile_unscaled(epsilon: float = 1.0) -> Target:
    """Upper quartile over intervals, weights that underflow."""
    return _naive(naive.naive_quantile_unscaled, epsilon)


@named
def exact_quantile(epsilon: float = 1.0) -> Target:
    """Upper quartile over public candidates, base e, exact."""
    return _over_candidates(exact.exact_quantile_fast, exact.exact_quantile, epsilon)


def _over_candidates(fast: Callable[..., Any], reference: Callable[..., Any], epsilon: float) -> Target:
    parameters = {"epsilon": Fraction(epsilon), "quantile": QUANTILE, "candidates": CANDIDATES}
    return exact_by_both_paths(Target.dataset, fast, reference, parameters, **_claim(epsilon))


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

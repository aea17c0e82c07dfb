"""Histograms by threshold as targets: which keys of a dataset are named, and with which counts.

δ is 1/128, so that samples show a δ that is missed; a real release would take one far below 1 over the people.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from attacklab.model.domains import Categories, Domain
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Target
from experiments.targets.making import named, of_term
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.core.threshold import KeysAbove
from mechanisms.partition_selection import exact, naive

KEYS = ("ash", "beech", "cedar", "elm")
"""The keys that people can have."""

DELTA = Fraction(1, 128)


def _people(*groups: tuple[str, int]) -> np.ndarray[Any, np.dtype[np.str_]]:
    return np.array([key for key, count in groups for _ in range(count)], dtype=f"<U{max(map(len, KEYS))}")


PAIRS = tuple(
    NeighbouringPair.records(_people((key, 1), *rest), _people(*rest), Relation.ADD_REMOVE)
    for key, rest in (
        ("elm", ()),  # a key of one person
        ("ash", (("ash", 5),)),  # counts about the threshold
        ("beech", (("ash", 24), ("beech", 24))),  # beech comes first in line, or ash
    )
)
"""Pairs in addition to those of the domain."""


@named
def naive_partition_selection(epsilon: float = 1.0) -> Target:
    """Histogram by threshold, Laplace noise, keys in the order in which they came."""
    return _naive(naive.naive_partition_selection, epsilon)


@named
def naive_partition_selection_sorted(epsilon: float = 1.0) -> Target:
    """Histogram by threshold, Laplace noise, sorted keys."""
    return _naive(naive.naive_partition_selection_sorted, epsilon)


@named
def naive_partition_selection_own_count(epsilon: float = 1.0) -> Target:
    """Histogram by threshold, drawn exactly; the threshold is for noise alone and forgets the person's own count."""
    return _integers(naive.threshold_for_noise_alone, epsilon)


@named
def naive_partition_selection_geometric(epsilon: float = 1.0) -> Target:
    """Histogram by threshold, drawn exactly, the threshold for reals cut to an integer."""
    return _integers(naive.threshold_for_reals, epsilon)


@named
def exact_partition_selection(epsilon: float = 1.0) -> Target:
    """Histogram by threshold, discrete Laplace noise from fair bits and an integer threshold, exact."""
    return of_term(Target.dataset, exact.exact_partition_selection(epsilon=epsilon, delta=DELTA), **_claim(epsilon))


def _naive(mechanism: Callable[..., Any], epsilon: float) -> Target:
    return Target.dataset(partial(mechanism, epsilon=epsilon, delta=float(DELTA)), **_claim(epsilon))


def _integers(threshold: Callable[[float, float], int], epsilon: float) -> Target:
    term = KeysAbove(DiscreteLaplace(1 / Fraction(epsilon)), threshold(epsilon, float(DELTA)))
    return of_term(Target.dataset, term, **_claim(epsilon))


def _claim(epsilon: float) -> dict[str, Any]:
    return {
        "epsilon": epsilon,
        "delta": float(DELTA),
        "relation": Relation.ADD_REMOVE,
        "domain": Domain(shape=Categories(names=KEYS)),
        "pairs": PAIRS,
    }

"""Statistics whose local sensitivity jumps as targets: the median of ages, the triangles of a graph, its least tree.

Neighbours of the median add, remove or replace a record; those of triangles have one edge more or less; those of
spanning trees differ in the weight of one edge, which is a record.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.domains import Domain, Graphs, Records
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Target
from experiments.targets.making import named, of_term
from mechanisms.core.grid import Grid
from mechanisms.core.term import Mechanism
from mechanisms.local_sensitivity import exact_jumps, naive_jumps

LOWER, UPPER = 0.0, 100.0
"""Bounds of an age in years, and of a weight."""

JUMP_DELTA = 1e-6
"""The δ of all of them."""

MOST = 64
"""The most records."""

NODES = 6
EDGES = len(list(itertools.combinations(range(NODES), 2)))

BOUNDS: dict[str, Any] = {"lower": LOWER, "upper": UPPER}
YEARS = {**BOUNDS, "grid": Grid(-4)}

AGES: dict[str, Any] = {"domain": Domain(shape=Records(most=MOST), bounds=(LOWER, UPPER))}


def _graph(*edges: tuple[int, int]) -> NDArray[np.bool_]:
    adjacent = np.zeros((NODES, NODES), dtype=bool)
    for edge in edges:
        adjacent[edge] = adjacent[edge[::-1]] = True
    return adjacent


GRAPHS: dict[str, Any] = {
    "domain": Domain(shape=Graphs(nodes=NODES)),
    "relation": Relation.EDGE,
    # No edge can close a triangle of a single one; a second one that meets it is a triangle but for one edge.
    "pairs": (NeighbouringPair.graphs(_graph((0, 1)), _graph((0, 1), (1, 2)), Relation.EDGE),),
}
WEIGHTS: dict[str, Any] = {
    "domain": Domain(shape=Records(least=EDGES, most=EDGES), bounds=(LOWER, UPPER)),
    "relation": Relation.SUBSTITUTE,
}


@named
def naive_median(epsilon: float = 1.0) -> Target:
    """Median age, noise scaled to the local sensitivity."""
    return _naive(naive_jumps.naive_median, epsilon, AGES, **BOUNDS)


@named
def exact_median_smooth(epsilon: float = 1.0) -> Target:
    """Median age, noise scaled to the smooth sensitivity, exact."""
    return _exact(exact_jumps.exact_median_smooth(epsilon=epsilon, delta=JUMP_DELTA, **YEARS), epsilon, AGES)


@named
def exact_median_ptr(epsilon: float = 1.0) -> Target:
    """Median age by propose-test-release, exact."""
    term = exact_jumps.exact_median_ptr(epsilon=epsilon, delta=JUMP_DELTA, bound=Fraction(1), **YEARS)
    return _exact(term, epsilon, AGES)


@named
def naive_triangle_count(epsilon: float = 1.0) -> Target:
    """Triangles of a graph, noise scaled to the local sensitivity."""
    return _naive(naive_jumps.naive_triangle_count, epsilon, GRAPHS)


@named
def exact_triangle_count(epsilon: float = 1.0) -> Target:
    """Triangles of a graph, noise scaled to the smooth sensitivity, exact."""
    term = exact_jumps.exact_triangle_count(epsilon=epsilon, delta=JUMP_DELTA, nodes=NODES)
    return _exact(term, epsilon, GRAPHS)


@named
def naive_spanning_tree_cost(epsilon: float = 1.0) -> Target:
    """Cost of a least spanning tree, noise scaled to the local sensitivity."""
    return _naive(naive_jumps.naive_spanning_tree_cost, epsilon, WEIGHTS, nodes=NODES, **BOUNDS)


@named
def exact_spanning_tree_cost(epsilon: float = 1.0) -> Target:
    """Cost of a least spanning tree, noise scaled to the smooth sensitivity, exact."""
    term = exact_jumps.exact_spanning_tree_cost(epsilon=epsilon, delta=JUMP_DELTA, nodes=NODES, **YEARS)
    return _exact(term, epsilon, WEIGHTS)


def _naive(mechanism: Callable[..., Any], epsilon: float, inputs: dict[str, Any], **parameters: Any) -> Target:
    release = partial(mechanism, epsilon=epsilon, **parameters)
    return Target.dataset(release, epsilon=epsilon, delta=JUMP_DELTA, **inputs)


def _exact(term: Mechanism, epsilon: float, inputs: dict[str, Any]) -> Target:
    return of_term(Target.dataset, term, epsilon=epsilon, delta=JUMP_DELTA, **inputs)

"""Noise scaled to a local sensitivity that jumps: the median, the triangles of a graph, and its least spanning tree.

On some databases no neighbour moves these answers at all, so that no noise is added, and on a neighbour of theirs one
record moves them by as much as any record could. One answer tells the two apart, wherever the first one's answer is
what noise would have to hit by chance.

Source: Nissim, Raskhodnikova and Smith 2007, 'Smooth Sensitivity and Sampling in Private Data Analysis', sections 1
and 3, which show these three for what not to do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mechanisms.core.graphs import least_tree
from mechanisms.core.numbers import count, positive


def naive_median(
    records: NDArray[np.float64],
    trials: int,
    rng: np.random.Generator,
    *,
    lower: float,
    upper: float,
    epsilon: float,
) -> NDArray[np.float64]:
    """Release the lower median of the records with noise scaled to how far one record can move it from here.

    Args:
        records: the records, shape (n,); clipped to the bounds.
        trials: how many independent answers.
        rng: the source of randomness.
        lower: the least value of a record, and the median of nobody.
        upper: the largest one.
        epsilon: the claimed privacy loss.

    Returns:
        The answers, shape (trials,).

    Raises:
        ValueError: `epsilon` is not positive and finite, or `lower` is not less than `upper`.
    """
    positive("epsilon", epsilon)
    _require_order(lower, upper)
    ordered = np.sort(np.clip(records, lower, upper))
    below, median, above = np.concatenate([[lower, lower], ordered, [upper]])[(len(ordered) + 1) // 2 :][:3]
    sensitivity = max(above - median, median - below)
    return float(median) + rng.laplace(0.0, sensitivity / epsilon, count("trials", trials, least=0))


def naive_triangle_count(
    graph: ArrayLike, trials: int, rng: np.random.Generator, *, epsilon: float
) -> NDArray[np.float64]:
    """Release the number of triangles with noise scaled to the most of them that one edge of this graph can be in.

    Args:
        graph: the adjacency matrix of an undirected graph without loops, of at least two nodes.
        trials: how many independent answers.
        rng: the source of randomness.
        epsilon: the claimed privacy loss.

    Returns:
        The answers, shape (trials,).

    Raises:
        ValueError: `epsilon` is not positive and finite.
    """
    positive("epsilon", epsilon)
    adjacent = np.asarray(graph, dtype=np.int64)
    common = adjacent @ adjacent
    triangles = int((common * adjacent).sum()) // 6
    sensitivity = int(common[np.triu_indices(len(common), 1)].max())
    return triangles + rng.laplace(0.0, sensitivity / epsilon, count("trials", trials, least=0))


def naive_spanning_tree_cost(
    weights: NDArray[np.float64],
    trials: int,
    rng: np.random.Generator,
    *,
    nodes: int,
    lower: float,
    upper: float,
    epsilon: float,
) -> NDArray[np.float64]:
    """Release the cost of a minimum spanning tree with noise scaled to how far one weight can move it from here.

    Args:
        weights: of the edges 01, 02, …, 12, … of the complete graph; clipped to the bounds.
        trials: how many independent answers.
        rng: the source of randomness.
        nodes: how many there are.
        lower: the least weight of an edge.
        upper: the largest one.
        epsilon: the claimed privacy loss.

    Returns:
        The answers, shape (trials,).

    Raises:
        ValueError: `epsilon` is not positive and finite, or `lower` is not less than `upper`.
    """
    positive("epsilon", epsilon)
    _require_order(lower, upper)
    matrix = np.zeros((nodes, nodes))
    edges = np.triu_indices(nodes, 1)
    matrix[edges] = np.clip(weights, lower, upper)
    matrix += matrix.T
    cost = least_tree(matrix)
    sensitivity = 0.0
    for edge in zip(*edges, strict=True):
        for weight in (lower, upper):
            moved = matrix.copy()
            moved[edge] = moved[edge[::-1]] = weight
            sensitivity = max(sensitivity, abs(least_tree(moved) - cost))
    return float(cost) + rng.laplace(0.0, sensitivity / epsilon, count("trials", trials, least=0))


def _require_order(lower: float, upper: float) -> None:
    if not lower < upper:
        raise ValueError(f"lower must be less than upper, not {lower!r} against {upper!r}")

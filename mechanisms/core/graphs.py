"""Queries of graphs that bound their local sensitivity: how many triangles there are, and what the least tree costs.

Source: Nissim, Raskhodnikova and Smith 2007, 'Smooth Sensitivity and Sampling in Private Data Analysis', section 3.2
(triangles and minimum spanning trees). Our bounds for trees are looser than theirs, and shorter.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechanisms.core.grid import Grid
from mechanisms.core.local import LocalQuery, OfBounded
from mechanisms.core.numbers import convert, count
from mechanisms.core.term import Relation


@dataclass(frozen=True)
class Triangles(LocalQuery):
    """The number of triangles in an undirected graph; neighbours differ by one edge.

    An edge between i and j is in as many triangles as the two have common neighbours, a_ij ≤ nodes − 2: so far does
    adding or removing it move the count. The textbook's A_k is the most that k changed edges make of any a_ij. Let b_ij
    be how many nodes are adjacent to one of the two alone. One change makes a common neighbour of such a node, and two
    of another one, so that k changes make a_ij + ⌊(k + min(k, b_ij))/2⌋, and nodes − 2 at most. What k changes lead to
    from x, k + 1 lead to from x′; and the more changes, the more they make: A_k(x) ≤ A_{k+1}(x′).

    Args:
        nodes: how many there are at most, public, at least 3; those beyond a graph's own have no edges.

    Raises:
        TypeError: `nodes` is not an integer.
        ValueError: it is less than 3.
    """

    nodes: int
    grid: Grid = field(init=False, default=Grid(0))

    relation: ClassVar[Relation] = "edge"

    def __post_init__(self) -> None:
        convert(self, _three_or_more, "nodes")

    @property
    def stability(self) -> int:
        """How many triangles an edge can be in."""
        return self.nodes - 2

    def of(self, data: Any) -> int:
        """Return the number of triangles.

        Raises:
            ValueError: the data are not a square matrix of at most so many nodes.
        """
        adjacent = self._adjacent(data)
        return int((adjacent @ adjacent * adjacent).sum()) // 6

    def sensitivities(self, data: Any) -> Iterator[int]:
        """Return A_k for each distance until it is the stability."""
        adjacent = self._adjacent(data)
        common, degrees = adjacent @ adjacent, adjacent.sum(axis=0)
        of_one = degrees[:, None] + degrees - 2 * (common + adjacent)
        pairs = np.triu_indices(self.nodes, 1)
        for distance in range(2 * self.nodes):
            made = common + (distance + np.minimum(distance, of_one)) // 2
            yield min(int(made[pairs].max()), self.stability)

    def _adjacent(self, data: Any) -> NDArray[np.int64]:
        """Return the matrix of 0 and 1, of which what is above the diagonal counts."""
        matrix = np.asarray(data)
        own = len(matrix)
        if matrix.shape != (own, own) or own > self.nodes:
            raise ValueError(f"a graph must be a square matrix of {self.nodes} nodes at most, not {matrix.shape}")
        above = np.zeros((self.nodes, self.nodes), dtype=np.int64)
        above[:own, :own] = np.triu(matrix != 0, 1)
        return above + above.T


@dataclass(frozen=True)
class TreeCost(OfBounded):
    """The cost of a minimum spanning tree of the complete graph; neighbours differ in the weight of one edge.

    The records are the weights, of the edges 01, 02, …, 12, …; see `OfBounded` for how each is read. The cost is the
    least of the trees' sums, each of which one weight moves by W at most, and so does it.

    A_k + lower is the largest (k + 2)-th lightest weight of any cut, and the upper bound where a cut has fewer edges.
    *It bounds the local sensitivity* for k = 0: as a function of the weight w of an edge the cost is a constant and
    min(w, c), where c is the least number such that other edges of at most c join its ends; so it moves by c − lower at
    most. What other edges below c join to one of its ends is one side of a cut whose other edges weigh at least c: its
    second lightest weighs as much. *A_k(x) ≤ A_{k+1}(x′)*: where one weight of a cut has changed, the (k + 3)-th
    lightest is at least what the (k + 2)-th was.

    A cut whose (k + 2)-th lightest weight is at least c is one with at most k + 1 edges below c. So A_k is found by
    least cuts of the edges below c, of which there is one for each c of the weights and the upper bound.

    Args:
        nodes: how many there are, public, at least 3.

    Raises:
        TypeError: a bound is not a number, or `nodes` is not an integer.
        ValueError: a bound is not where it must be, or `nodes` is less than 3.
    """

    nodes: int

    relation: ClassVar[Relation] = "substitute"

    def __post_init__(self) -> None:
        super().__post_init__()
        convert(self, _three_or_more, "nodes")

    def of(self, data: Any) -> int:
        """Return the cost, in steps from 0.

        Raises:
            ValueError: there are not as many weights as pairs of nodes.
        """
        return int(least_tree(self._weights(data)))

    def sensitivities(self, data: Any) -> Iterator[int]:
        """Return A_k for each distance until it is the whole range."""
        weights, (low, high) = self._weights(data), self.ends
        pairs = np.triu_indices(self.nodes, 1)
        thresholds = sorted({*weights[pairs].tolist(), high})

        @cache
        def edges_below(threshold: int) -> int:
            below = np.triu(weights < threshold, 1).astype(np.int64)
            return least_cut(below + below.T)

        for distance in range(self.nodes - 1):
            reached = bisect_right(thresholds, distance + 1, key=edges_below)
            yield thresholds[reached - 1] - low

    def _weights(self, data: Any) -> NDArray[np.int64]:
        """Return the symmetric matrix of the weights, in steps from 0."""
        records = self.records.each(data)
        above = np.triu_indices(self.nodes, 1)
        if len(records) != len(above[0]):
            raise ValueError(f"{self.nodes} nodes have {len(above[0])} pairs, and each a weight, not {len(records)}")
        weights = np.zeros((self.nodes, self.nodes), dtype=np.int64)
        weights[above] = records
        return weights + weights.T


def least_tree(weights: NDArray[Any]) -> Any:
    """Return the cost of a minimum spanning tree of a complete graph, by Prim's algorithm.

    Args:
        weights: a symmetric matrix; integers of at most 2^53 in modulus, whose sums are Python's, or doubles.
    """
    nearest, outside, cost = weights[0].copy(), np.arange(1, len(weights)), 0
    while len(outside):
        place = int(nearest[outside].argmin())
        node = outside[place]
        cost += nearest[node].item()
        nearest, outside = np.minimum(nearest, weights[node]), np.delete(outside, place)
    return cost


def least_cut(weights: NDArray[np.int64]) -> int:
    """Return the least weight of edges that separate some nodes from the rest (Stoer and Wagner 1997).

    Args:
        weights: a symmetric matrix of at least two nodes, integers of at least 0, with a diagonal of 0.
    """
    least = int(weights[0].sum())
    while len(weights) > 1:
        order, attached = [0], weights[0].copy()
        while len(order) < len(weights):
            outside = np.delete(np.arange(len(weights)), order)
            order.append(int(outside[attached[outside].argmax()]))
            cut = int(attached[order[-1]])
            attached += weights[order[-1]]
        least = min(least, cut)
        kept, joined = order[-2:]
        weights = weights.copy()
        weights[kept] += weights[joined]
        weights[:, kept] = weights[kept]
        weights[kept, kept] = 0
        weights = np.delete(np.delete(weights, joined, 0), joined, 1)
    return least


def _three_or_more(name: str, value: Any) -> int:
    return count(name, value, least=3)

"""What has a local sensitivity that jumps, privately: the median, the triangles of a graph, its least spanning tree.

The noise is scaled to a smooth bound over all distances, in integers, or to a proposed bound behind a noisy test. The
queries bound their local sensitivity at each distance: see `mechanisms.core.local.Median`, `mechanisms.core.graphs`.

Sources: Nissim, Raskhodnikova and Smith 2007, 'Smooth Sensitivity and Sampling in Private Data Analysis', sections 2
and 3; Dwork and Lei 2009 (propose-test-release).
"""

from __future__ import annotations

from mechanisms.core.graphs import TreeCost, Triangles
from mechanisms.core.grid import Grid
from mechanisms.core.local import Median
from mechanisms.core.numbers import Number, rational
from mechanisms.core.smooth import Smooth, smooth
from mechanisms.core.tested import Tested, propose_test_release


def exact_median_smooth(*, epsilon: Number, delta: Number, lower: Number, upper: Number, grid: Grid) -> Smooth:
    """Return the lower median with noise of scale 2S/ε: (ε, δ)-DP if a record is added, removed or replaced.

    Args:
        epsilon: ε, above 0; a float stands for the rational that it is.
        delta: δ, above 0 and at most 1/2.
        lower: the least value of a record, a point of the grid, and the median of nobody.
        upper: the largest one, a point of the grid.
        grid: the public grid that records are rounded to.

    Raises:
        TypeError: a parameter is not a number.
        ValueError: a parameter is out of its range, or the noise may be too large for the grid.
    """
    return smooth(Median(rational("lower", lower), rational("upper", upper), grid), epsilon, delta)


def exact_median_ptr(
    *, epsilon: Number, delta: Number, bound: Number, lower: Number, upper: Number, grid: Grid
) -> Tested:
    """Return propose-test-release of the lower median: (ε, δ)-DP if a record is added, removed or replaced.

    Arguments and errors as in `exact_median_smooth`; besides, `bound` is the proposed bound on the local sensitivity,
    at least a step of the grid and less than upper − lower, which is rounded down to the grid.
    """
    return propose_test_release(Median(rational("lower", lower), rational("upper", upper), grid), bound, epsilon, delta)


def exact_triangle_count(*, epsilon: Number, delta: Number, nodes: int) -> Smooth:
    """Return the number of triangles with noise of scale 2S/ε: (ε, δ)-DP if an edge is added or removed.

    Args:
        epsilon: ε, above 0; a float stands for the rational that it is.
        delta: δ, above 0 and at most 1/2.
        nodes: how many nodes a graph has at most, 3 or more; what is released takes its adjacency matrix.

    Raises:
        TypeError: a parameter is not a number, or `nodes` is not an integer.
        ValueError: a parameter is out of its range, or the noise may be too large for the grid.
    """
    return smooth(Triangles(nodes), epsilon, delta)


def exact_spanning_tree_cost(
    *, epsilon: Number, delta: Number, nodes: int, lower: Number, upper: Number, grid: Grid
) -> Smooth:
    """Return the cost of a minimum spanning tree with noise of scale 2S/ε: (ε, δ)-DP if a weight is replaced.

    Args:
        epsilon: ε, above 0; a float stands for the rational that it is.
        delta: δ, above 0 and at most 1/2.
        nodes: how many nodes there are, at least 3; what is released takes the weights of the edges 01, 02, …, 12, ….
        lower: the least weight, a point of the grid.
        upper: the largest one, a point of the grid.
        grid: the public grid that weights are rounded to.

    Raises:
        TypeError: a parameter is not a number, or `nodes` is not an integer.
        ValueError: a parameter is out of its range, or the noise may be too large for the grid.
    """
    query = TreeCost(rational("lower", lower), rational("upper", upper), grid, nodes)
    return smooth(query, epsilon, delta)

"""What graphs' queries say of their sensitivities holds for all small graphs, by counts that share no code with it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
import pytest

from attacklab.model.random_bits import SeededBits
from mechanisms.core.graphs import TreeCost, Triangles, least_cut, least_tree
from mechanisms.core.grid import Grid
from mechanisms.core.smooth import smooth
from tests.system.mechanisms.core.test_local import hold
from tests.unit.mechanisms.core.scripted_noise import scripted, worst_divergence

EPSILON, DELTA = Fraction(2), Fraction(1, 20)

Edges = tuple[int, ...]
"""A number for each pair of nodes, 01, 02, …, 12, …."""


def pairs_of(nodes: int) -> list[tuple[int, int]]:
    return list(itertools.combinations(range(nodes), 2))


def graph(edges: Edges, nodes: int) -> tuple[tuple[int, ...], ...]:
    """The adjacency matrix, as tuples."""
    present = {pair for pair, edge in zip(pairs_of(nodes), edges, strict=True) if edge}
    return tuple(tuple(int((min(i, j), max(i, j)) in present) for j in range(nodes)) for i in range(nodes))


def changed(edges: Edges, values: range) -> Iterator[Edges]:
    """The same with another number at one place."""
    for place, value in itertools.product(range(len(edges)), values):
        if value != edges[place]:
            yield (*edges[:place], value, *edges[place + 1 :])


@cache
def triangles(edges: Edges, nodes: int) -> int:
    present = {pair for pair, edge in zip(pairs_of(nodes), edges, strict=True) if edge}
    return sum(
        present.issuperset(itertools.combinations(three, 2)) for three in itertools.combinations(range(nodes), 3)
    )


@cache
def triangle_moves(edges: Edges, nodes: int, distance: int) -> int:
    """By definition, the most triangles that one edge is in, `distance` changed edges on."""
    around = list(changed(edges, range(2)))
    if distance:
        return max(triangle_moves(near, nodes, distance - 1) for near in (edges, *around))
    return max(abs(triangles(edges, nodes) - triangles(near, nodes)) for near in around)


@pytest.mark.parametrize("nodes", [3, 4, 5])
def test_triangles_and_their_sensitivities_are_the_textbooks_for_all_small_graphs(nodes: int) -> None:
    query = Triangles(nodes)
    for edges in itertools.product((0, 1), repeat=len(pairs_of(nodes))):
        assert query.of(graph(edges, nodes)) == triangles(edges, nodes)
        said = [*islice(query.sensitivities(graph(edges, nodes)), 4)]
        assert said == [triangle_moves(edges, nodes, distance) for distance in range(4)], edges


def graph_pairs(nodes: int) -> Iterator[tuple[Any, Any]]:
    for edges in itertools.product((0, 1), repeat=len(pairs_of(nodes))):
        for near in changed(edges, range(2)):
            if edges < near:
                yield graph(edges, nodes), graph(near, nodes)


@pytest.mark.parametrize("nodes", [3, 4])
def test_what_triangles_say_of_their_sensitivities_holds_for_all_small_graphs(nodes: int) -> None:
    assert hold(Triangles(nodes), graph_pairs(nodes))


class Halved(Triangles):
    """As if each further common neighbour took two changes."""

    def sensitivities(self, data: Any) -> Iterator[int]:
        first = next(super().sensitivities(data))
        return (min(first + distance // 2, self.stability) for distance in range(9))


class Late(Triangles):
    """A_{k−1} for A_k, and none at distance 0."""

    def sensitivities(self, data: Any) -> Iterator[int]:
        return itertools.chain([0], super().sensitivities(data))


@pytest.mark.parametrize("broken", [Halved, Late])
def test_triangles_whose_sensitivities_are_too_small_are_found_out(broken: type[Triangles]) -> None:
    assert not hold(broken(4), graph_pairs(4))


def test_the_exact_law_of_triangles_meets_the_claim_on_all_graphs_of_four_nodes() -> None:
    enough, quarter = worst_divergence(smooth(Triangles(4), EPSILON, DELTA), graph_pairs(4), EPSILON, EPSILON / 4)
    assert enough <= DELTA < quarter


def test_a_graph_of_fewer_nodes_has_others_without_edges_and_its_matrix_counts_above_the_diagonal() -> None:
    triangle = [[9, 1, True], [0, 0, math.nan], [0, 0, 7]]
    assert Triangles(3).of(triangle) == Triangles(6).of(np.array(triangle)) == 1
    assert next(Triangles(3).sensitivities(triangle)) == next(Triangles(4).sensitivities(triangle)) == 1
    assert Triangles(5).of(np.zeros((0, 0))) == 0


@pytest.mark.parametrize("shape", [(4, 4), (2, 3), (3,), (3, 3, 3)])
def test_what_is_not_a_graph_of_so_many_nodes_is_refused_by_its_shape(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="3 nodes"):
        Triangles(3).of(np.zeros(shape))


def tree_cost(weights: Edges, nodes: int) -> int:
    """The least sum of nodes − 1 edges that join all nodes."""
    edges = list(zip(pairs_of(nodes), weights, strict=True))
    return min(
        sum(weight for _, weight in chosen)
        for chosen in itertools.combinations(edges, nodes - 1)
        if joins([pair for pair, _ in chosen], nodes)
    )


def joins(edges: list[tuple[int, int]], nodes: int) -> bool:
    reached = {0}
    for _ in range(nodes):
        reached |= {end for pair in edges if reached & set(pair) for end in pair}
    return len(reached) == nodes


def weights_of(nodes: int, values: range) -> Iterator[Edges]:
    return itertools.product(values, repeat=len(pairs_of(nodes)))


def heaviest_cut(weights: Edges, nodes: int, distance: int, upper: int) -> int:
    """The largest (distance + 2)-th lightest weight of any cut, by looking at each."""
    edges = list(zip(pairs_of(nodes), weights, strict=True))
    sides = [{0, *side} for size in range(nodes - 1) for side in itertools.combinations(range(1, nodes), size)]
    cuts = [sorted(weight for (i, j), weight in edges if (i in side) != (j in side)) for side in sides]
    return max([*cut, *[upper] * nodes][distance + 1] for cut in cuts)


@pytest.mark.parametrize(("nodes", "values"), [(3, range(-1, 3)), (4, range(3))])
def test_the_cost_of_trees_and_their_sensitivities_are_those_of_all_trees_and_cuts(nodes: int, values: range) -> None:
    low, high = values[0], values[-1]
    query = TreeCost(Fraction(low), Fraction(high), Grid(0), nodes)
    for weights in weights_of(nodes, values):
        assert query.of(weights) == tree_cost(weights, nodes)
        said = [*query.sensitivities(weights)]
        assert said == [heaviest_cut(weights, nodes, distance, high) - low for distance in range(nodes - 1)]
        assert said[-1] == query.stability


def weight_pairs(nodes: int, values: range) -> Iterator[tuple[Edges, Edges]]:
    for weights in weights_of(nodes, values):
        yield from ((weights, near) for near in changed(weights, values) if weights < near)


@pytest.mark.parametrize(("nodes", "values"), [(3, range(-1, 3)), (4, range(3))])
def test_what_trees_say_of_their_sensitivities_holds_for_all_small_weights(nodes: int, values: range) -> None:
    assert hold(TreeCost(Fraction(values[0]), Fraction(values[-1]), Grid(0), nodes), weight_pairs(nodes, values))


def test_what_trees_say_of_their_sensitivities_holds_for_graphs_of_seven_nodes() -> None:
    rng = np.random.default_rng(5)
    query = TreeCost(Fraction(0), Fraction(20), Grid(0), 7)
    for _ in range(30):
        weights = tuple(rng.integers(0, 21, len(pairs_of(7))).tolist())
        said = [*query.sensitivities(weights)]
        assert said == [heaviest_cut(weights, 7, distance, 20) for distance in range(6)]
        assert hold(query, ((weights, near) for near in itertools.islice(changed(weights, range(0, 21, 10)), 9)))


class Lighter(TreeCost):
    """The (k + 1)-th lightest weight of a cut for the (k + 2)-th."""

    def sensitivities(self, data: Any) -> Iterator[int]:
        return itertools.chain([0], super().sensitivities(data))


class OfNodes(TreeCost):
    """As if the cuts around a single node were all that there are."""

    def sensitivities(self, data: Any) -> Iterator[int]:
        weights, (low, high) = self._weights(data), self.ends
        around = [sorted(np.delete(row, node).tolist()) for node, row in enumerate(weights)]
        return (max([*cut, high, high][k + 1] for cut in around) - low for k in range(self.nodes - 1))


APART = tuple(4 * ((i < 3) != (j < 3)) for i, j in pairs_of(6))
"""Two triangles of weights 0 with 4 between them, so that no node alone is far from all others."""


@pytest.mark.parametrize("broken", [Lighter, OfNodes])
def test_trees_whose_sensitivities_are_too_small_are_found_out(broken: type[TreeCost]) -> None:
    pairs = [(APART, near) for near in changed(APART, range(5))]
    assert hold(TreeCost(Fraction(0), Fraction(4), Grid(0), 6), pairs)
    assert not hold(broken(Fraction(0), Fraction(4), Grid(0), 6), pairs)


def test_the_exact_law_of_trees_of_three_nodes_meets_the_claim_on_all_pairs() -> None:
    term = smooth(TreeCost(Fraction(0), Fraction(3), Grid(0), 3), EPSILON, DELTA)
    enough, quarter = worst_divergence(term, weight_pairs(3, range(4)), EPSILON, EPSILON / 4)
    assert enough <= DELTA < quarter


def test_weights_are_clamped_and_rounded_by_themselves() -> None:
    query = TreeCost(Fraction(1), Fraction(4), Grid(-1), 3)
    assert query.of([math.nan, 1.2, -7.0]) == query.of([1.0, 1.0, 1.0]) == 4
    assert scripted(smooth(query, 1, 0.1), [2.0, math.inf, 3.0], [0])[0] == 5


@pytest.mark.parametrize("number", [2, 4, 0])
def test_there_is_a_weight_for_each_pair_of_nodes(number: int) -> None:
    with pytest.raises(ValueError, match="3 nodes have 3 pairs"):
        TreeCost(Fraction(0), Fraction(4), Grid(0), 3).of([1.0] * number)


@pytest.mark.parametrize("nodes", [2, 0, -1])
def test_fewer_than_three_nodes_are_refused(nodes: int) -> None:
    with pytest.raises(ValueError, match="nodes must be at least 3"):
        Triangles(nodes)
    with pytest.raises(ValueError, match="nodes must be at least 3"):
        TreeCost(Fraction(0), Fraction(4), Grid(0), nodes)


def test_the_least_cut_is_the_least_of_all_cuts() -> None:
    rng = np.random.default_rng(6)
    for nodes in range(2, 8):
        for _ in range(30):
            above = np.triu(rng.integers(0, 4, (nodes, nodes)), 1)
            weights = above + above.T
            sides = [[0, *rest] for size in range(nodes - 1) for rest in itertools.combinations(range(1, nodes), size)]
            cuts = [int(np.delete(weights[side], side, axis=1).sum()) for side in sides]
            assert least_cut(weights) == min(cuts)


def test_trees_of_doubles_cost_what_those_of_integers_do() -> None:
    rng = np.random.default_rng(7)
    above = np.triu(rng.integers(-9, 10, (8, 8)), 1)
    weights = above + above.T
    assert least_tree(weights / 4) == least_tree(weights) / 4


@pytest.mark.parametrize("seed", range(3))
def test_the_mechanisms_answer_with_points_of_their_grids(seed: int) -> None:
    bits = SeededBits(seed)
    assert float(smooth(Triangles(6), 1, 0.01).release(np.ones((6, 6)), bits)).is_integer()
    cost = smooth(TreeCost(Fraction(0), Fraction(4), Grid(-1), 4), 1, 0.01).release([1.25] * 6, bits)
    assert float(2 * cost).is_integer()


def test_a_graph_is_the_same_however_it_is_written() -> None:
    matrix = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    ways = [matrix, matrix.tolist(), *(matrix.astype(kind) for kind in (bool, np.uint8, np.float64, object))]
    term = smooth(Triangles(3), 1, 0.01)
    assert len({repr(term.many(way, 5, SeededBits(1))) for way in ways}) == 1
    assert Triangles(3).of([[0, 10**400, -1], [0, 0, math.inf], [0, 0, 0]]) == 1

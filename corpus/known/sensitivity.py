"""Noise too small for what one person can change: sums, means and other statistics, and the pairs that show it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.domains import Domain, Graphs, Pattern, Queries, Records
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Target
from corpus.common.exact_noise import discrete_laplace, laplace_law, noisy, pushed, scale_of
from corpus.common.specimen import Computed, Rng, Specimen, broken, record_pair, sound

GROUP = "sensitivity"

WHOLE = Domain(integers=True)


def _one_edge_less(nodes: int) -> NeighbouringPair:
    """A complete graph, and the same without one edge."""
    complete = ~np.eye(nodes, dtype=bool)
    less = complete.copy()
    less[0, 1] = less[1, 0] = False
    return NeighbouringPair.graphs(complete, less, Relation.EDGE)


def _exact(total: int, epsilon: float, sensitivity: int, trials: int, rng: Rng) -> NDArray[np.int64]:
    return total + discrete_laplace(scale_of(epsilon, sensitivity), trials, rng)


def mean_of_private_count(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.float64]:
    if not len(records):
        return rng.laplace(0.0, 1.0, trials)
    return np.asarray(np.clip(records, 0.0, 1.0).mean() + rng.laplace(0.0, 1.0 / len(records), trials))


def total_in_a_byte(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.int64]:
    total = int(np.clip(records, 0, 10).astype(np.int8).sum(dtype=np.int8))
    return _exact(total, 1.0, 10, trials, rng)


def local_median(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.float64]:
    median = float(np.median(records)) if len(records) else 0.0
    return np.asarray(np.round(median + rng.laplace(0.0, 10.0 / max(1, len(records)), trials), 1))


def triangles(graph: NDArray[np.bool_], trials: int, rng: Rng) -> NDArray[np.int64]:
    adjacency = graph.astype(np.int64)
    return int(np.trace(adjacency @ adjacency @ adjacency)) // 6 + discrete_laplace(1, trials, rng)


def public_size_mean(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.float64]:
    if not len(records):
        return np.zeros(trials)
    return np.asarray(_exact(int(np.clip(records, 0, 6).sum()), 1.0, 6, trials, rng) / len(records))


def exact_answers(answers: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.int64]:
    noise = discrete_laplace(scale_of(1.0, 6), trials * len(answers), rng).reshape(trials, -1)
    return np.asarray(answers + noise)


# fmt: off
SPECIMENS: tuple[Specimen, ...] = (
    broken(
        "upper_clip_only", Target.sum, "records are clipped from above only",
        lambda records, trials, rng: np.minimum(records, 5.0).sum() + rng.laplace(0.0, 5.0, trials),
        record_pair([-100.0], [5.0]), lambda output: output < -50, epsilon=1.0, bounds=(0, 5)
    ),
    broken(
        "mean_of_private_count", Target.mean, "noise has the scale 1/n, and n is private", mean_of_private_count,
        record_pair([0.0, 0.0], [0.0], Relation.ADD_REMOVE), lambda output: abs(output) > 1.5, trials=50_000,
        epsilon=1.0, bounds=(0, 1), relation="add-remove"
    ),
    broken(
        "total_in_a_byte", Target.sum, "the total is kept in a signed byte, which overflows", total_in_a_byte,
        record_pair([10] * 12 + [7], [10] * 12 + [8]), lambda output: output < 0, epsilon=1.0, bounds=(0, 10),
        relation="substitute", domain=WHOLE
    ),
    broken(
        "records_rounded_first", Target.sum, "the bounds are halves, which go to 0 and 2: twice the sensitivity",
        lambda records, trials, rng: _exact(int(np.rint(np.clip(records, 0.5, 1.5)).sum()), 1.0, 1, trials, rng),
        record_pair([0.5], [1.5]), lambda output: output <= 0, epsilon=1.0, bounds=(0.5, 1.5), relation="substitute"
    ),
    broken(
        "unit_scale", Target.noise, "the sensitivity is 5, and the noise that of 1",
        lambda answer, trials, rng: np.rint(answer).astype(np.int64) + discrete_laplace(1, trials, rng),
        NeighbouringPair(0, 5, None), lambda output: output <= 0, epsilon=1.0, sensitivity=5.0, domain=WHOLE
    ),
    broken(
        "local_median", Target.dataset, "the noise of a median has the scale of a mean", local_median,
        record_pair([0.0] * 25 + [0.0] + [10.0] * 25, [0.0] * 25 + [10.0] + [10.0] * 25), lambda output: output < 5,
        epsilon=1.0, relation="substitute", domain=Domain(shape=Records(least=3, most=51), bounds=(0, 10))
    ),
    broken(
        "largest_for_all", Target.dataset, "six answers that may all move have the noise of one",
        lambda answers, trials, rng: answers + discrete_laplace(1, trials * len(answers), rng).reshape(trials, -1),
        NeighbouringPair(np.zeros(6, dtype=np.int64), np.ones(6, dtype=np.int64), None),
        lambda output: bool((output <= 0).all()), epsilon=1.0,
        domain=Domain(shape=Queries(size=6, patterns=(Pattern.ALL, Pattern.ONE)), integers=True, bounds=(0, 100))
    ),
    broken(
        "triangles", Target.dataset, "an edge of a complete graph is part of five triangles, and the noise is for one",
        triangles, _one_edge_less(7), lambda output: output >= 35, epsilon=1.0, relation="edge",
        domain=Domain(shape=Graphs(nodes=7))
    ),
    broken(
        "rounded_at_halves", Target.noise, "a rounded answer can move by 2 when the answer moves by 1",
        lambda answer, trials, rng: int(np.rint(answer)) + discrete_laplace(1, trials, rng),
        NeighbouringPair(0.5, 1.5, None), lambda output: output <= 0, epsilon=1.0
    ),
    noisy(
        "integer_sum", Target.sum, "a clipped integer sum with exact noise for the width of the bounds",
        scale_of(0.7, 7), record_pair([-3, 0], [4, 0]), true=lambda records: int(np.clip(records, -3, 4).sum()),
        epsilon=0.7, bounds=(-3, 4), domain=WHOLE
    ),
    sound(
        "public_size_mean", Target.mean, "an exactly noisy sum over a public number of records", public_size_mean,
        Computed(
            record_pair([6, 0, 1], [0, 0, 1]),
            lambda records: pushed(laplace_law(6), lambda n: (int(records.sum()) + n) / 3),
        ),
        epsilon=1.0, bounds=(0, 6), relation="substitute", domain=WHOLE
    ),
    noisy(
        "rounded_with_room", Target.noise,
        "an answer that moves by 2 moves by at most 3 when it is rounded, for which the noise is made", 3,
        NeighbouringPair(0.5, 2.5, None), true=lambda answer: int(np.rint(answer)), epsilon=1.0, sensitivity=2.0,
        domain=Domain(bounds=(-1000, 1000))
    ),
    sound(
        "exact_answers", Target.dataset, "six answers that may all move, with exact noise of six times the scale",
        exact_answers, epsilon=1.0, domain=Domain(shape=Queries(size=6), integers=True, bounds=(0, 100))
    ),
)
# fmt: on

"""Noise too small for what one person can change: sums, means and other statistics, and the pairs that show it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.claims import GaussianDP
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


def largest_bound_only(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.float64]:
    clipped = np.clip(records, -3.0, 4.0)
    return np.asarray(clipped.sum() + rng.laplace(0.0, 4.0, trials))


def mean_of_private_count(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.float64]:
    if not len(records):
        return rng.laplace(0.0, 1.0, trials)
    return np.asarray(np.clip(records, 0.0, 1.0).mean() + rng.laplace(0.0, 1.0 / len(records), trials))


def total_in_a_byte(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.int64]:
    total = int(np.clip(records, 0, 10).astype(np.int8).sum(dtype=np.int8))
    return _exact(total, 1.0, 10, trials, rng)


def total_rounded_to_tens(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.float64]:
    total = np.round(np.clip(records, 0.0, 1.0).sum(), -1)
    return np.asarray(total + rng.laplace(0.0, 1.0, trials))


def missing_as_mean(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.float64]:
    clipped = np.clip(records, 0.0, 1.0)
    known = clipped[~np.isnan(clipped)]
    filled = np.where(np.isnan(clipped), known.mean() if len(known) else 0.5, clipped)
    return np.asarray(filled.sum() + rng.laplace(0.0, 1.0, trials))


def variance_of_few(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.float64]:
    spread = float(np.var(np.clip(records, 0.0, 1.0))) if len(records) else 0.0
    return np.asarray(np.round(64 * (spread + rng.laplace(0.0, 1.0 / 64, trials))))


def local_median(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.float64]:
    median = float(np.median(records)) if len(records) else 0.0
    return np.asarray(np.round(median + rng.laplace(0.0, 10.0 / max(1, len(records)), trials), 1))


def distinct_words(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.int64]:
    """Each record is a person's five days as digits; the claim is for people, the noise for days."""
    days = {digit for record in records for digit in f"{int(record):05d}"}
    return len(days) + discrete_laplace(1, trials, rng)


def triangles(graph: NDArray[np.bool_], trials: int, rng: Rng) -> NDArray[np.int64]:
    adjacency = graph.astype(np.int64)
    return int(np.trace(adjacency @ adjacency @ adjacency)) // 6 + discrete_laplace(1, trials, rng)


def degrees(graph: NDArray[np.bool_], trials: int, rng: Rng) -> NDArray[np.int64]:
    noise = discrete_laplace(1, trials * len(graph), rng).reshape(trials, len(graph))
    return np.asarray(np.sort(graph.sum(axis=1))[::-1] + noise)


def euclidean_for_sum(answers: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.float64]:
    sigma = 1.0  # of one query: sensitivity 1, not the root of 9
    return np.asarray(answers + np.rint(rng.normal(0.0, sigma, (trials, len(answers)))))


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
        "largest_bound_only", Target.sum, "noise of a substitution has the scale of the larger bound, not of the width",
        largest_bound_only, record_pair([-3.0], [4.0]), lambda output: output <= -3, epsilon=1.0, bounds=(-3, 4),
        relation="substitute"
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
        "total_rounded_to_tens", Target.sum, "a rounded total moves by 10 or not at all", total_rounded_to_tens,
        record_pair([1.0] * 5 + [0.0], [1.0] * 6), lambda output: output < 5, epsilon=1.0, bounds=(0, 1)
    ),
    broken(
        "missing_as_mean", Target.sum,
        "missing values are filled with the mean of the others, so that one record moves many", missing_as_mean,
        record_pair([0.0, *[math.nan] * 30], [1.0, *[math.nan] * 30]), lambda output: output < 15, epsilon=1.0,
        bounds=(0, 1), relation="substitute"
    ),
    broken(
        "unit_scale", Target.noise, "the sensitivity is 5, and the noise that of 1",
        lambda answer, trials, rng: np.rint(answer).astype(np.int64) + discrete_laplace(1, trials, rng),
        NeighbouringPair(0, 5, None), lambda output: output <= 0, epsilon=1.0, sensitivity=5.0, domain=WHOLE
    ),
    broken(
        "variance_of_few", Target.dataset,
        "the sensitivity of a variance is taken for 64 records, whatever their number", variance_of_few,
        record_pair([0.0, 1.0], [0.0, 0.0]), lambda output: output >= 16, epsilon=1.0, relation="substitute",
        domain=Domain(shape=Records(most=64), bounds=(0, 1))
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
        "distinct_words", Target.dataset, "a person adds five values, and the noise is for one", distinct_words,
        record_pair([11111, 11111], [11111, 23456]), lambda output: output <= 1, epsilon=1.0, relation="substitute",
        pairs=(record_pair([11111, 11111], [11111, 23456]), record_pair([11111, 22222], [11111, 33333]))
    ),
    broken(
        "triangles", Target.dataset, "an edge of a complete graph is part of five triangles, and the noise is for one",
        triangles, _one_edge_less(7), lambda output: output >= 35, epsilon=1.0, relation="edge",
        domain=Domain(shape=Graphs(nodes=7))
    ),
    broken(
        "degrees", Target.dataset, "an edge moves two degrees, and the noise is for one", degrees, _one_edge_less(4),
        lambda output: output[2] >= 3 and output[3] >= 3, epsilon=1.0, relation="edge",
        domain=Domain(shape=Graphs(nodes=4))
    ),
    broken(
        "rounded_at_halves", Target.noise, "a rounded answer can move by 2 when the answer moves by 1",
        lambda answer, trials, rng: int(np.rint(answer)) + discrete_laplace(1, trials, rng),
        NeighbouringPair(0.5, 1.5, None), lambda output: output <= 0, epsilon=1.0
    ),
    broken(
        "euclidean_for_sum", Target.dataset, "the norm of nine answers that move together is 3, and the noise is for 1",
        euclidean_for_sum, NeighbouringPair(np.zeros(9, dtype=np.int64), np.ones(9, dtype=np.int64), None),
        lambda output: float(np.sum(output)) < 4.5, claim=GaussianDP(1.0),
        domain=Domain(shape=Queries(size=9), integers=True, bounds=(0, 9))
    ),
    noisy(
        "integer_sum", Target.sum, "a clipped integer sum with exact noise for the width of the bounds",
        scale_of(0.7, 7), record_pair([-3, 0], [4, 0]), true=lambda records: int(np.clip(records, -3, 4).sum()),
        epsilon=0.7, bounds=(-3, 4), domain=WHOLE
    ),
    noisy(
        "integer_count", Target.dataset, "a count with exact noise", scale_of(0.1),
        record_pair([0.0, 1.0], [0.0], Relation.ADD_REMOVE), true=len, epsilon=0.1, relation="add-remove",
        domain=Domain(shape=Records(), bounds=(0, 1))
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
    noisy(
        "edges", Target.dataset, "the number of edges with exact noise", 1, _one_edge_less(4),
        true=lambda graph: int(graph.sum()) // 2, epsilon=1.0, relation="edge", domain=Domain(shape=Graphs(nodes=6))
    ),
    sound(
        "exact_answers", Target.dataset, "six answers that may all move, with exact noise of six times the scale",
        exact_answers, epsilon=1.0, domain=Domain(shape=Queries(size=6), integers=True, bounds=(0, 100))
    ),
    noisy(
        "exact_maximum", Target.dataset, "a clipped maximum moves by 20 at the most, for which the noise is made", 20,
        record_pair([0, 20], [0, 0]), true=lambda records: int(np.clip(records, 0, 20).max(initial=0)), epsilon=1.0,
        domain=Domain(shape=Records(most=20), integers=True, bounds=(0, 20))
    ),
)
# fmt: on

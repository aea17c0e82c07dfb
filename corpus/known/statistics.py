"""Statistics that move further than their noise is for, and selections that lose weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.domains import Domain, Graphs
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.random_bits import SeededBits
from attacklab.model.targets import Target
from corpus.common.exact_noise import discrete_laplace, laplace_law, noisy, pushed, scale_of, weighted
from corpus.common.specimen import Computed, Rng, Specimen, broken, in_group, record_pair, sound
from mechanisms.exponential.exact import exact_exponential

# Noise too small for what one person can change: sums, means and other statistics, and the pairs that show it.


WHOLE = Domain(integers=True)


def _one_edge_less(nodes: int) -> NeighbouringPair:
    """Return the pair of a complete graph and the same graph without one edge."""
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


def triangles(graph: NDArray[np.bool_], trials: int, rng: Rng) -> NDArray[np.int64]:
    adjacency = graph.astype(np.int64)
    return int(np.trace(adjacency @ adjacency @ adjacency)) // 6 + discrete_laplace(1, trials, rng)


def public_size_mean(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.float64]:
    if not len(records):
        return np.zeros(trials)
    return np.asarray(_exact(int(np.clip(records, 0, 6).sum()), 1.0, 6, trials, rng) / len(records))


# fmt: off
SENSITIVITY = in_group(
    "sensitivity",
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
        "unit_scale", Target.noise, "the sensitivity is 5, and the noise that of 1",
        lambda answer, trials, rng: np.rint(answer).astype(np.int64) + discrete_laplace(1, trials, rng),
        NeighbouringPair(0, 5, None), lambda output: output <= 0, epsilon=1.0, sensitivity=5.0, domain=WHOLE
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
)
# fmt: on


# Selection whose light outcomes lose their weight, in floats of any width, integers, tables and noise.


def _one_above(gap: float, light: int, *, sensitivity: float = 1.0) -> NeighbouringPair:
    """Return a pair with one heavy and `light` light outcomes; on the neighbour their gap is 2·`sensitivity` less."""
    near = [gap - sensitivity, *[sensitivity] * light]
    return NeighbouringPair.utilities([gap, *[0.0] * light], near, sensitivity=sensitivity)


def _whole(first: list[int], second: list[int]) -> NeighbouringPair:
    return NeighbouringPair.integers(np.array(first), np.array(second), sensitivity=1)


def _drawn(weights: NDArray[Any], trials: int, rng: Rng) -> NDArray[Any]:
    totals = np.cumsum(weights)
    drawn = rng.random(trials) * totals[-1]
    return np.asarray(np.minimum(np.searchsorted(totals, drawn, side="right"), len(weights) - 1))


def softmax_binary16(utilities: NDArray[Any], trials: int, rng: Rng) -> NDArray[Any]:
    scores = (utilities / 2.0).astype(np.float16)
    weights = np.exp(scores - scores.max())
    return _drawn((weights / weights.sum(dtype=np.float16)).astype(np.float64), trials, rng)


def cumulative_binary32(utilities: NDArray[Any], trials: int, rng: Rng) -> NDArray[Any]:
    scores = (utilities / 2.0).astype(np.float32)
    totals = np.cumsum(np.exp(scores - scores.max()), dtype=np.float32)
    drawn = rng.random(trials, dtype=np.float32) * totals[-1]
    return np.asarray(np.minimum(np.searchsorted(totals, drawn, side="right"), len(totals) - 1))


def unscaled_exponentials(utilities: NDArray[Any], trials: int, rng: Rng) -> NDArray[Any]:
    weights = np.exp(utilities / 2.0)
    if not weights.sum() > 0:
        return rng.integers(0, len(utilities), trials)
    return _drawn(weights, trials, rng)


def thousand_tickets(utilities: NDArray[Any], trials: int, rng: Rng) -> NDArray[Any]:
    weights = np.exp((utilities - utilities.max()) / 2.0)
    return weighted(np.floor(1000 * weights).astype(int).tolist(), trials, rng)


def gumbel_binary16(utilities: NDArray[Any], trials: int, rng: Rng) -> NDArray[Any]:
    uniform = ((rng.integers(0, 1024, (trials, len(utilities))) + 0.5) / 1024).astype(np.float16)
    noise = -np.log(-np.log(uniform))
    return np.asarray(np.argmax((utilities / 2.0).astype(np.float16) + noise, axis=1))


def integer_noisy_max(utilities: NDArray[Any], trials: int, rng: Rng) -> NDArray[Any]:
    noise = np.rint(rng.laplace(0.0, 1.0, (trials, len(utilities))))
    return np.asarray(np.argmax(np.rint(utilities) + noise, axis=1))


def same_noise_for_all(utilities: NDArray[Any], trials: int, rng: Rng) -> NDArray[Any]:
    noise = rng.gumbel(size=(trials, 1)).repeat(len(utilities), axis=1)
    return np.asarray(np.argmax(utilities / 2.0 + noise, axis=1))


def squared_utilities(utilities: NDArray[Any], trials: int, rng: Rng) -> NDArray[Any]:
    scores = utilities - utilities.max()
    return _drawn(np.exp(-(scores**2) / 8.0), trials, rng)


def exact_noisy_max(utilities: NDArray[Any], trials: int, rng: Rng) -> NDArray[Any]:
    noise = discrete_laplace(scale_of(0.5), trials * len(utilities), rng).reshape(trials, len(utilities))
    whole = np.array([int(utility) for utility in utilities])
    return np.asarray(np.argmax(noise + whole, axis=1))


def is_heavy(output: Any) -> bool:
    """Whether the first outcome was selected, which is the heavy one in most witnesses."""
    return bool(output == 0)


def is_light(output: Any) -> bool:
    """Whether another outcome was selected."""
    return bool(output != 0)


# fmt: off
LOST_WEIGHTS = in_group(
    "lost weights",
    broken(
        "softmax_binary16", Target.selection,
        "scores in binary16 are integers from 1024 on, and utilities between two of them go to the even one",
        softmax_binary16, NeighbouringPair.utilities([2050.0, 2050.0], [2051.0, 2049.0], sensitivity=1.0), is_light,
        epsilon=1.0
    ),
    broken(
        "cumulative_binary32", Target.selection, "a running total in binary32 that light weights no longer move",
        cumulative_binary32, _one_above(33.9, 400_000), is_light, trials=10_000, epsilon=1.0
    ),
    broken(
        "unscaled_exponentials", Target.selection, "exponentials that underflow when all utilities are very low",
        unscaled_exponentials, NeighbouringPair.utilities([-1490.0, -1491.0], [-1491.0, -1490.0], sensitivity=1.0),
        is_heavy, epsilon=1.0
    ),
    broken(
        "thousand_tickets", Target.selection, "weights are whole numbers of tickets out of a thousand",
        thousand_tickets, _one_above(15.0, 500), is_light, epsilon=1.0
    ),
    broken(
        "gumbel_binary16", Target.selection, "Gumbel noise from 10 bits is bounded by 7.6", gumbel_binary16,
        _one_above(19.2, 300), is_light, trials=20_000, epsilon=1.0
    ),
    broken(
        "integer_noisy_max", Target.selection,
        "utilities are rounded before noise is added, and move by 2 from one half to the next but one",
        integer_noisy_max, NeighbouringPair.utilities([1.5, 2.5], [0.5, 3.5], sensitivity=1.0), is_heavy, epsilon=2.0
    ),
    broken(
        "same_noise_for_all", Target.selection,
        "one draw of Gumbel noise for all outcomes leaves the largest utility in front", same_noise_for_all,
        NeighbouringPair.utilities([1.0, 0.0], [0.0, 1.0], sensitivity=1.0), is_heavy, epsilon=1.0
    ),
    broken(
        "squared_utilities", Target.selection,
        "weights fall with the square of the depth, faster than the claim allows", squared_utilities,
        NeighbouringPair.utilities([8.0, *[0.0] * 500], [7.0, *[1.0] * 500], sensitivity=1.0), is_light, epsilon=1.0
    ),
    sound(
        "exact_weights", Target.selection, "the exponential mechanism with exact weights",
        lambda utilities, trials, rng: exact_exponential(epsilon=1).many(utilities, trials, SeededBits(rng)),
        Computed(
            NeighbouringPair.utilities([2.0, 0.0, 1.0], [1.0, 1.0, 0.0], sensitivity=1.0),
            lambda utilities: _shares([math.exp(utility / 2) for utility in utilities]),
        ),
        epsilon=1.0
    ),
    sound(
        "exact_noisy_max", Target.selection,
        "noisy maximum of integers with exact noise of scale 2, ties to the lowest index", exact_noisy_max,
        Computed(_whole([1, 0], [0, 1]), lambda utilities: _noisy_max_law(utilities)), epsilon=1.0,
        domain=Domain(integers=True, bounds=(0, 20))
    ),
)
# fmt: on


def _shares(weights: list[float]) -> dict[int, float]:
    return {k: weight / sum(weights) for k, weight in enumerate(weights)}


def _noisy_max_law(utilities: NDArray[Any]) -> dict[int, float]:
    law = laplace_law(2)
    first = sum(
        mass * weight for n, mass in law.items() for m, weight in law.items() if utilities[0] + n >= utilities[1] + m
    )
    return {0: first, 1: 1 - first}


SPECIMENS: tuple[Specimen, ...] = (*SENSITIVITY, *LOST_WEIGHTS)

"""Answers over time, and reports that people make themselves."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.domains import Domain, Graphs, Records
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Target
from corpus.common.exact_noise import coins, truth_probability
from corpus.common.specimen import Rng, Specimen, broken, sound
from corpus.held_out.inputs import SUBSTITUTE, integer_stream, noise, one_report, replaced

GROUP = "streams and local reports"


def _flipped(bits: Any, truth: Fraction, trials: int, rng: Rng) -> NDArray[np.bool_]:
    kept = coins(truth, trials * len(bits), rng).reshape(trials, -1)
    return np.asarray(np.asarray(bits, dtype=bool) == kept)


def _one_hot(value: int, epsilon: float, trials: int, rng: Rng) -> list[str]:
    reports = _flipped(np.arange(4) == value, truth_probability(epsilon), trials, rng)
    return ["".join("01"[bit] for bit in row) for row in reports.astype(int).tolist()]


def _answer_of(values: NDArray[Any], truth: Fraction, size: int, rng: Rng) -> NDArray[Any]:
    kept = coins(truth, values.size, rng).reshape(values.shape)
    moved = (values + rng.integers(1, size, size=values.shape)) % size
    return np.where(kept, values, moved)


def number_of_answers_off_by_one(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    return _answer_of(np.full(trials, int(records[0])), Fraction(float(np.exp(5) / (np.exp(5) + 2))), 4, rng)


def sorted_before_reporting(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    values = np.broadcast_to(np.sort(np.asarray(records)), (trials, len(records)))
    return _answer_of(values, truth_probability(2.0, 6), 6, rng)


def report_of_a_mean_without_clip(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    slope = np.expm1(1.0) / (2 * np.exp(1.0) + 2)
    up = rng.random(trials) < 0.5 + float(records[0]) * slope
    return np.asarray(np.where(up, 0.5 / slope, -0.5 / slope))


def windows_at_the_price_of_one(values: Any, trials: int, rng: Rng) -> NDArray[Any]:
    sums = np.convolve(np.asarray(values, dtype=np.int64), np.ones(3, dtype=np.int64), mode="valid")
    return sums + noise(1.0, trials, rng, size=len(sums))


def drawn_again_only_when_changed(values: Any, trials: int, rng: Rng) -> NDArray[Any]:
    noisy = np.asarray(values) + noise(1.0, trials, rng, size=len(values))
    for step in range(1, len(values)):
        if values[step] == values[step - 1]:
            noisy[:, step] = noisy[:, step - 1]
    return noisy


def _degrees_as_one_answer(graph: Any, trials: int, rng: Rng) -> NDArray[Any]:
    degrees = np.asarray(graph).sum(axis=0).astype(np.int64)
    return np.asarray(degrees + noise(0.75, trials, rng, size=len(degrees)))


BITS = Domain(integers=True, bounds=(0, 1), shape=Records(least=5, most=5))
STAR = np.zeros((4, 4), dtype=bool)
ONE_EDGE = STAR.copy()
ONE_EDGE[0, 1] = ONE_EDGE[1, 0] = True
# fmt: off
SPECIMENS: tuple[Specimen, ...] = (
    broken(
        "one_hot_counted_as_one_bit", Target.dataset, "two bits of a one-hot code differ, the budget is for one",
        lambda records, trials, rng: _one_hot(int(records[0]), 1.0, trials, rng), replaced([0], [3]),
        lambda output: output[0] == "1" and output[3] == "0", trials=10_000, epsilon=1.0, relation=SUBSTITUTE,
        domain=one_report(4)
    ),
    broken(
        "number_of_answers_off_by_one", Target.dataset,
        "randomized response of four answers tells the truth as often as one of three might",
        number_of_answers_off_by_one, replaced([0], [1]), lambda output: output == 0, trials=100_000, epsilon=5.0,
        relation=SUBSTITUTE, domain=one_report(4)
    ),
    broken(
        "sorted_before_reporting", Target.dataset,
        "reports stand in the order of the true values, which all move when one does", sorted_before_reporting,
        replaced([0, 1, 2, 3, 4, 5], [5, 1, 2, 3, 4, 5]), lambda output: int((output == np.arange(6)).sum()) >= 4,
        epsilon=2.0, relation=SUBSTITUTE, domain=Domain(integers=True, bounds=(0, 5), shape=Records(least=6, most=6))
    ),
    broken(
        "report_of_a_mean_without_clip", Target.dataset,
        "the two-valued report is for values from -1 to 1, which are not clipped to that",
        report_of_a_mean_without_clip, replaced([-2.0], [2.0]), lambda output: output > 0, epsilon=1.0,
        relation=SUBSTITUTE, domain=Domain(bounds=(-2, 2), shape=Records(least=1, most=1))
    ),
    broken(
        "totals_at_the_price_of_one", Target.dataset,
        "a step counts in every later total, each of which spends all of the budget",
        lambda values, trials, rng: np.cumsum(np.asarray(values)) + noise(0.5, trials, rng, size=len(values)),
        replaced([0] * 8, [1] + [0] * 7), lambda output: int((output >= 1).sum()) >= 6, epsilon=0.5,
        relation=SUBSTITUTE, domain=integer_stream(8)
    ),
    broken(
        "windows_at_the_price_of_one", Target.dataset,
        "a step counts in three windows, each of which spends all of the budget", windows_at_the_price_of_one,
        replaced([0] * 6, [0, 0, 1, 0, 0, 0]), lambda output: bool((output[:3] >= 1).all()), trials=10_000, epsilon=1.0,
        relation=SUBSTITUTE, domain=integer_stream(6)
    ),
    broken(
        "drawn_again_only_when_changed", Target.dataset, "an answer that has not changed is repeated with its noise",
        drawn_again_only_when_changed, replaced([3, 3, 3, 3, 3], [3, 3, 3, 3, 4]),
        lambda output: output[3] == output[4], epsilon=1.0, relation=SUBSTITUTE, domain=integer_stream(5, 9)
    ),
    broken(
        "degrees_as_one_answer", Target.dataset, "an edge changes two degrees, the noise is for one",
        _degrees_as_one_answer, NeighbouringPair.graphs(ONE_EDGE, STAR, Relation.EDGE),
        lambda output: output[0] >= 1 and output[1] >= 1, trials=20_000, epsilon=0.75, relation=Relation.EDGE,
        domain=Domain(shape=Graphs(nodes=4))
    ),
    sound(
        "one_hot_counted_as_two_bits", Target.dataset,
        "two bits of a one-hot code differ, each keeps half of the budget",
        lambda records, trials, rng: _one_hot(int(records[0]), 0.5, trials, rng), epsilon=1.0, relation=SUBSTITUTE,
        domain=one_report(4)
    ),
    sound(
        "bits_sorted_before_reporting", Target.dataset, "of sorted bits one moves when one does",
        lambda records, trials, rng: _flipped(np.sort(np.asarray(records)), truth_probability(1.5), trials, rng),
        epsilon=1.5, relation=SUBSTITUTE, domain=BITS
    ),
    sound(
        "totals_of_separate_steps", Target.dataset, "totals follow from steps that have noise of their own",
        lambda values, trials, rng: np.cumsum(np.asarray(values) + noise(0.5, trials, rng, size=len(values)), axis=1),
        epsilon=0.5, relation=SUBSTITUTE, domain=integer_stream(4)
    ),
)
# fmt: on

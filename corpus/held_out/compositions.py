"""Budgets, thresholds and streams."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.claims import ZeroConcentrated
from attacklab.model.domains import Categories, Domain, Graphs, Queries, Records
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Target
from corpus.common.exact_noise import coins, truth_probability
from corpus.common.specimen import Rng, Specimen, broken, in_group, sound
from corpus.held_out.inputs import (
    ADD_REMOVE,
    INTEGERS,
    SUBSTITUTE,
    added,
    answers,
    categories,
    counts,
    integer_queries,
    integer_stream,
    noise,
    replaced,
    whole,
)

# Budgets overspent, and claims of other forms than pure epsilon.


NAMES = ("ash", "birch", "cedar")


def delta_for_each_answer(values: Any, trials: int, rng: Rng) -> list[list[tuple[int, bool]]]:
    fails = coins(Fraction(1, 100), 4 * trials, rng).reshape(trials, 4)
    noisy = np.asarray(values) + np.where(fails, 0, noise(0.25, trials, rng, size=4))
    return [
        [(value, failed) for value, failed in zip(row, flags, strict=True)]
        for row, flags in zip(noisy.tolist(), fails.tolist(), strict=True)
    ]


def _report(records: Any, epsilon: float, of_total: float, trials: int, rng: Rng) -> list[dict[str, Any]]:
    rows = (np.array(counts(records, NAMES)) + noise(epsilon, trials, rng, size=3)).tolist()
    totals = (len(records) + noise(of_total, trials, rng)).tolist()
    return [{"counts": row, "total": total} for row, total in zip(rows, totals, strict=True)]


def fails_with_probability_delta(answer: Any, trials: int, rng: Rng) -> NDArray[Any]:
    return int(answer) + np.where(coins(Fraction(1, 100), trials, rng), 0, noise(1.0, trials, rng))


# fmt: off
BUDGETS = in_group(
    "budgets",
    broken(
        "whole_budget_for_each_answer", Target.dataset, "each of three answers spends all of the budget",
        lambda values, trials, rng: np.asarray(values) + noise(0.5, trials, rng, size=3), whole([0, 0, 0], [1, 1, 1]),
        lambda output: bool((output <= 0).all()), epsilon=0.5, domain=integer_queries(3)
    ),
    broken(
        "variance_as_deviation", Target.noise, "the variance 1/(2 rho) is taken for the standard deviation",
        lambda answer, trials, rng: answer + rng.normal(scale=1 / (2 * 2.0), size=trials), answers(0.0, 1.0),
        lambda output: output < 0.5, claim=ZeroConcentrated(2.0)
    ),
    broken(
        "delta_for_each_answer", Target.dataset,
        "each of four answers goes without noise, and says so, with probability delta", delta_for_each_answer,
        whole([0, 0, 0, 0], [1, 1, 1, 1]), lambda output: any(failed and value == 0 for value, failed in output),
        trials=20_000, epsilon=1.0, delta=0.01, domain=integer_queries(4)
    ),
    broken(
        "root_of_the_number_of_answers", Target.dataset,
        "the budget is divided by the root of the number of answers, and delta does not pay for it",
        lambda values, trials, rng: np.asarray(values) + noise(8**-0.5, trials, rng, size=8), whole([0] * 8, [1] * 8),
        lambda output: int((output <= 0).sum()) >= 7, trials=20_000, epsilon=1.0, delta=1e-6, domain=integer_queries(8)
    ),
    broken(
        "total_for_free", Target.dataset, "the total is released beside the counts at a budget of its own",
        lambda records, trials, rng: _report(records, 0.5, 0.5, trials, rng), added(["birch"], "ash"),
        lambda output: output["counts"][0] >= 1 and output["total"] >= 2, trials=10_000, epsilon=0.5,
        relation=ADD_REMOVE, domain=categories(*NAMES)
    ),
    broken(
        "epsilon_of_base_two", Target.noise, "the scale is that of powers of two where the claim is of powers of e",
        lambda answer, trials, rng: int(answer) + noise(4.0 / np.log(2), trials, rng), whole(0, 1),
        lambda output: output <= 0, trials=40_000, epsilon=4.0, domain=INTEGERS
    ),
    sound(
        "total_from_the_budget", Target.dataset, "the counts and the total spend half of the budget each",
        lambda records, trials, rng: _report(records, 0.25, 0.25, trials, rng), epsilon=0.5, relation=ADD_REMOVE,
        domain=categories(*NAMES)
    ),
    sound(
        "fails_with_probability_delta", Target.noise,
        "noise is left out with probability delta, and keeps epsilon otherwise", fails_with_probability_delta,
        epsilon=1.0, delta=0.01, domain=INTEGERS
    ),
    sound(
        "pure_noise_for_a_concentrated_claim", Target.noise, "pure epsilon implies a rho of epsilon^2/2",
        lambda answer, trials, rng: int(answer) + noise(1.0, trials, rng), claim=ZeroConcentrated(0.5), domain=INTEGERS
    ),
)
# fmt: on


# Sparse vectors, partition selection and quantiles.


TWO_NAMES = ("ash", "birch")
MANY = 40


def _above(values: Any, trials: int, rng: Rng, of_threshold: float, of_query: float) -> NDArray[np.bool_]:
    size = len(values)
    threshold = noise(of_threshold, trials, rng)
    return np.asarray(np.asarray(values) + noise(of_query, trials, rng, size=size) >= threshold[:, np.newaxis])


def _halts(values: Any, trials: int, rng: Rng) -> NDArray[Any]:
    above = _above(values, trials, rng, 0.5, 0.25)
    return np.where(above.any(axis=1), np.argmax(above, axis=1), len(values))


def _threshold_noise_alone(values: Any, trials: int, rng: Rng) -> NDArray[Any]:
    above = np.asarray(values) >= noise(1.0, trials, rng)[:, np.newaxis]
    return np.where(above.any(axis=1), np.argmax(above, axis=1), len(values))


def early_exit_below_threshold(values: Any, trials: int, rng: Rng) -> list[str]:
    if max(values) < 0:
        return ["none"] * trials
    return [f"above at {index}" for index in _halts(values, trials, rng).tolist()]


def _kept(rows: Any, keep: Any) -> list[dict[str, int]]:
    return [
        {name: count for name, count, kept in zip(TWO_NAMES, row, flags, strict=True) if kept}
        for row, flags in zip(np.asarray(rows).tolist(), np.asarray(keep).tolist(), strict=True)
    ]


def _partitions(records: Any, least: int, trials: int, rng: Rng) -> list[dict[str, int]]:
    true = np.array(counts(records, TWO_NAMES))
    noisy = true + noise(1.0, trials, rng, size=2)
    return _kept(noisy, (true > 0) & (noisy >= least))


def threshold_before_the_noise(records: Any, trials: int, rng: Rng) -> list[dict[str, int]]:
    true = np.array(counts(records, TWO_NAMES))
    return _kept(true + noise(1.0, trials, rng, size=2), np.broadcast_to(true >= 3, (trials, 2)))


def median_among_the_records(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    values = np.sort(np.asarray(records, dtype=np.float64))
    gaps = np.abs(np.arange(len(values)) - (len(values) - 1) / 2)
    weights = np.exp(-0.5 * gaps)
    return rng.choice(values, size=trials, p=weights / weights.sum())


def quartile_score_four_times_as_steep(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    values = np.asarray(records)
    ranks = np.array([np.count_nonzero(values < cut) for cut in range(11)])
    scores = -np.abs(4 * ranks - len(values)) * 0.5
    weights = np.exp(scores - scores.max())
    return np.asarray(rng.choice(11, size=trials, p=weights / weights.sum()))


TEN = Domain(integers=True, bounds=(0, 10), shape=Records())
# fmt: off
THRESHOLDS = in_group(
    "thresholds",
    broken(
        "threshold_that_never_halts", Target.dataset,
        "all forty queries are answered for the price of the first that is above the threshold",
        lambda values, trials, rng: _above(values, trials, rng, 0.5, 0.25), whole([0] * MANY, [1] * 20 + [-1] * 20),
        lambda output: int(output[:20].sum()) - int(output[20:].sum()) >= 5, trials=20_000, epsilon=1.0,
        domain=Domain(integers=True, bounds=(-1000, 1000), shape=Queries(size=MANY))
    ),
    broken(
        "threshold_noise_alone", Target.dataset,
        "queries are compared without noise, so that which of two comes first above the threshold is certain",
        _threshold_noise_alone, whole([0, 1, 0], [1, 0, 0]), lambda output: output == 1, epsilon=1.0,
        domain=integer_queries(3)
    ),
    broken(
        "early_exit_below_threshold", Target.dataset, "where no true answer is above the threshold nothing is drawn",
        early_exit_below_threshold, whole([-1, -1, -1, 0], [-1, -1, -1, -1]), lambda output: output == "none",
        epsilon=1.0, domain=integer_queries(4)
    ),
    broken(
        "partitions_at_half_the_threshold", Target.dataset,
        "the threshold leaves a name that one person has with a probability of 0.036, delta is 0.01",
        lambda records, trials, rng: _partitions(records, 4, trials, rng), added(["ash"], "birch"),
        lambda output: "birch" in output, trials=20_000, epsilon=1.0, delta=0.01, relation=ADD_REMOVE,
        domain=categories(*TWO_NAMES)
    ),
    broken(
        "threshold_before_the_noise", Target.dataset, "names are kept by their true counts", threshold_before_the_noise,
        added(["birch"] * 2, "birch"), lambda output: "birch" in output, epsilon=1.0, delta=1e-5, relation=ADD_REMOVE,
        domain=Domain(shape=Categories(names=TWO_NAMES))
    ),
    broken(
        "median_among_the_records", Target.dataset, "the median is one of the records, as it is",
        median_among_the_records, replaced([0.25, 0.5, 0.75], [0.25, 0.375, 0.75]), lambda output: output == 0.375,
        epsilon=1.0, relation=SUBSTITUTE, domain=Domain(bounds=(0, 1), shape=Records(least=3, most=20))
    ),
    broken(
        "quartile_score_four_times_as_steep", Target.dataset,
        "the score of a quartile is multiplied by four to keep it an integer, its sensitivity is not",
        quartile_score_four_times_as_steep, added([10] * 8, 0), lambda output: output == 0, trials=20_000, epsilon=1.0,
        relation=ADD_REMOVE, domain=TEN
    ),
    sound(
        "threshold_that_halts", Target.dataset,
        "AboveThreshold with integer noise of 2/epsilon for the threshold and 4/epsilon for each query", _halts,
        epsilon=1.0, domain=integer_queries(4)
    ),
    sound(
        "partitions_at_the_threshold", Target.dataset,
        "a name that one person has is left with a probability of e^-5/(1 + 1/e), which is below delta",
        lambda records, trials, rng: _partitions(records, 6, trials, rng), epsilon=1.0, delta=0.01, relation=ADD_REMOVE,
        domain=categories(*TWO_NAMES)
    ),
)
# fmt: on


# Answers over time, and reports that people make themselves.


def _flipped(bits: Any, truth: Fraction, trials: int, rng: Rng) -> NDArray[np.bool_]:
    kept = coins(truth, trials * len(bits), rng).reshape(trials, -1)
    return np.asarray(np.asarray(bits, dtype=bool) == kept)


def _answer_of(values: NDArray[Any], truth: Fraction, size: int, rng: Rng) -> NDArray[Any]:
    kept = coins(truth, values.size, rng).reshape(values.shape)
    moved = (values + rng.integers(1, size, size=values.shape)) % size
    return np.where(kept, values, moved)


def sorted_before_reporting(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    values = np.broadcast_to(np.sort(np.asarray(records)), (trials, len(records)))
    return _answer_of(values, truth_probability(2.0, 6), 6, rng)


def report_of_a_mean_without_clip(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    slope = np.expm1(1.0) / (2 * np.exp(1.0) + 2)
    up = rng.random(trials) < 0.5 + float(records[0]) * slope
    return np.asarray(np.where(up, 0.5 / slope, -0.5 / slope))


def drawn_again_only_when_changed(values: Any, trials: int, rng: Rng) -> NDArray[Any]:
    noisy = np.asarray(values) + noise(1.0, trials, rng, size=len(values))
    for step in range(1, len(values)):
        if values[step] == values[step - 1]:
            noisy[:, step] = noisy[:, step - 1]
    return noisy


def _degrees_as_one_answer(graph: Any, trials: int, rng: Rng) -> NDArray[Any]:
    degrees = np.asarray(graph).sum(axis=0).astype(np.int64)
    return np.asarray(degrees + noise(0.75, trials, rng, size=len(degrees)))


FIVE_BITS = Domain(integers=True, bounds=(0, 1), shape=Records(least=5, most=5))
STAR = np.zeros((4, 4), dtype=bool)
ONE_EDGE = STAR.copy()
ONE_EDGE[0, 1] = ONE_EDGE[1, 0] = True
# fmt: off
STREAMS = in_group(
    "streams and local reports",
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
        "bits_sorted_before_reporting", Target.dataset, "of sorted bits one moves when one does",
        lambda records, trials, rng: _flipped(np.sort(np.asarray(records)), truth_probability(1.5), trials, rng),
        epsilon=1.5, relation=SUBSTITUTE, domain=FIVE_BITS
    ),
    sound(
        "totals_of_separate_steps", Target.dataset, "totals follow from steps that have noise of their own",
        lambda values, trials, rng: np.cumsum(np.asarray(values) + noise(0.5, trials, rng, size=len(values)), axis=1),
        epsilon=0.5, relation=SUBSTITUTE, domain=integer_stream(4)
    ),
)
# fmt: on


SPECIMENS: tuple[Specimen, ...] = (*BUDGETS, *THRESHOLDS, *STREAMS)

"""Sparse vectors, partition selection and quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.domains import Categories, Domain, Queries, Records
from attacklab.model.targets import Target
from corpus.common.specimen import Rng, Specimen, broken, sound
from corpus.held_out.inputs import (
    ADD_REMOVE,
    SUBSTITUTE,
    added,
    categories,
    counts,
    integer_queries,
    noise,
    replaced,
    whole,
)

GROUP = "thresholds"
NAMES = ("ash", "birch")
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
        {name: count for name, count, kept in zip(NAMES, row, flags, strict=True) if kept}
        for row, flags in zip(np.asarray(rows).tolist(), np.asarray(keep).tolist(), strict=True)
    ]


def _partitions(records: Any, least: int, trials: int, rng: Rng) -> list[dict[str, int]]:
    true = np.array(counts(records, NAMES))
    noisy = true + noise(1.0, trials, rng, size=2)
    return _kept(noisy, (true > 0) & (noisy >= least))


def threshold_before_the_noise(records: Any, trials: int, rng: Rng) -> list[dict[str, int]]:
    true = np.array(counts(records, NAMES))
    return _kept(true + noise(1.0, trials, rng, size=2), np.broadcast_to(true >= 3, (trials, 2)))


def _small_counts_hidden(records: Any, trials: int, rng: Rng) -> list[int | None]:
    count = int(np.sum(records))
    return [None] * trials if count < 5 else list((count + noise(0.5, trials, rng)).tolist())


def _small_noisy_counts_hidden(records: Any, trials: int, rng: Rng) -> list[int | None]:
    return [noisy if noisy >= 5 else None for noisy in (int(np.sum(records)) + noise(0.5, trials, rng)).tolist()]


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
BITS = Domain(integers=True, bounds=(0, 1), shape=Records())
# fmt: off
SPECIMENS: tuple[Specimen, ...] = (
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
        domain=categories(*NAMES)
    ),
    broken(
        "threshold_before_the_noise", Target.dataset, "names are kept by their true counts", threshold_before_the_noise,
        added(["birch"] * 2, "birch"), lambda output: "birch" in output, epsilon=1.0, delta=1e-5, relation=ADD_REMOVE,
        domain=Domain(shape=Categories(names=NAMES))
    ),
    broken(
        "small_counts_hidden", Target.dataset, "true counts below 5 are not answered", _small_counts_hidden,
        added([1] * 4, 1), lambda output: output is None, epsilon=0.5, relation=ADD_REMOVE, domain=BITS
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
        domain=categories(*NAMES)
    ),
    sound(
        "small_noisy_counts_hidden", Target.dataset, "what is hidden follows from the noisy count",
        _small_noisy_counts_hidden, epsilon=0.5, relation=ADD_REMOVE, domain=BITS
    ),
)
# fmt: on

"""Flaws that show on the right pair only: each is found by a default audit, and its sound twin is not accused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab.auditing.referee import audit
from attacklab.model.domains import Categories, Domain, Queries, Records, Streams
from attacklab.model.findings import Finding, Verdict
from attacklab.model.targets import Target
from tests.unit.attacklab.ideal import two_sided_geometric

TRIALS, FEWER = 20_000, 5_000
"""For a flaw, and for a sound twin: a pair or an event that is wrong for it shows in few trials."""

ALPHA = 1e-9
GRID = 2.0**-10
"""Sound noise is a multiple of this, and answers are rounded to it, so that nothing shows but sensitivity."""

Random = np.random.Generator
Records_ = NDArray[Any]


def gridded(rng: Random, scale: float, shape: Any) -> NDArray[Any]:
    """Two-sided geometric noise on the grid, of a scale that pays for rounding an answer to it as well."""
    return GRID * two_sided_geometric(rng, shape, GRID / (scale + GRID / 2))


def noisy(statistic: Callable[[Records_], float], scale: float) -> Callable[..., NDArray[np.float64]]:
    """The statistic, rounded to the grid, with noise."""

    def release(input_: Any, trials: int, rng: Random) -> NDArray[np.float64]:
        return float(np.rint(statistic(input_) / GRID)) * GRID + gridded(rng, scale * (1 + 2 * GRID), trials)

    return release


def clipped(low: float, high: float) -> Callable[[Records_], float]:
    return lambda records: math.fsum(np.clip(np.nan_to_num(records), low, high))


def sum_of(statistic: Callable[[Records_], float], scale: float, low: float, high: float, relation: str) -> Target:
    return Target.sum(noisy(statistic, scale), epsilon=1.0, bounds=(low, high), relation=relation, name="sum")


def tens(records: Records_) -> float:
    return 10 * round(clipped(0, 1)(records) / 10)


def whole(records: Records_) -> float:
    return float(round(clipped(0, 1)(records)))


def from_above_only(records: Records_) -> float:
    return math.fsum(np.minimum(np.nan_to_num(records, neginf=-1e300), 1.0))


def first_twice(records: Records_) -> float:
    return clipped(0, 1)(records) + 2 * clipped(0, 1)(records[:1])


def without_the_last(records: Records_) -> float:
    """The last record weighs as much as all, as where a loop ends one too early and a remainder is added."""
    return clipped(0, 1)(records[:-1]) + (3 * clipped(0, 1)(records[-1:]) if len(records) else 0)


def many_are_doubled(records: Records_) -> float:
    total = clipped(0, 1)(records)
    return total if total <= 12 else total + 6


def distinct(records: Records_) -> float:
    return 4.0 * len(set(records.tolist()))


def count_of(name: str) -> Callable[[Records_], float]:
    return lambda names: float(sum(one == name for one in names))


def histogram(threshold: float) -> Callable[..., list[Any]]:
    """Counts by category, of those whose count reaches a threshold: without noise in the threshold, presence shows."""

    def release(names: Records_, trials: int, rng: Random) -> list[Any]:
        counts = {name: count_of(name)(names) for name in sorted(set(names.tolist()))}
        kept = [name for name, count in counts.items() if count >= threshold]
        noise = gridded(rng, 2.0, (trials, len(kept)))
        return [
            dict(zip(kept, (float(counts[name]) + one for name, one in zip(kept, row, strict=True)), strict=True))
            for row in noise
        ]

    return release


NAMES = ("common", "rare", "other")
CATEGORIES = Domain(shape=Categories(names=NAMES))


def queried(scale: float) -> Callable[..., NDArray[np.float64]]:
    def release(answers: NDArray[np.float64], trials: int, rng: Random) -> NDArray[np.float64]:
        return np.rint(answers / GRID) * GRID + gridded(rng, scale, (trials, len(answers)))

    return release


def all_names(names: Records_, trials: int, rng: Random) -> list[Any]:
    counts = [count_of(name)(names) for name in NAMES]
    return [dict(zip(NAMES, row, strict=True)) for row in (counts + gridded(rng, 2.0, (trials, len(NAMES)))).tolist()]


def dataset(release: Any, domain: Domain, relation: str | None = None) -> Target:
    return Target.dataset(release, epsilon=1.0, domain=domain, relation=relation, name="dataset")


def one_after_another(dtype: type) -> Callable[[Records_], float]:
    """A sum that is rounded to a format after each record."""

    def statistic(records: Records_) -> float:
        total = dtype(0)
        for record in np.clip(np.nan_to_num(records), 0, 1).astype(dtype):
            total = dtype(total + record)
        return float(total)

    return statistic


def clipped_among_many(records: Records_) -> float:
    return clipped(0, 1)(records) if len(records) not in {2, 3} else clipped(-1e300, 1e300)(records)


def largest_in(dtype: type) -> Callable[..., NDArray[np.int64]]:
    """Report noisy max with exponential noise, on utilities that are held in a format."""

    def release(utilities: Records_, trials: int, rng: Random) -> NDArray[np.int64]:
        held = np.asarray(utilities).astype(dtype).astype(np.float64)
        return np.argmax(held + rng.exponential(2.0, (trials, len(held))), axis=1)

    return release


def halves(bits: Records_) -> float:
    return float(bits[:4].sum() - bits[4:].sum())


BITS = Domain(shape=Queries(size=8), integers=True, bounds=(0, 1))
ADD, SUBSTITUTE = "add-remove", "substitute"
UP_TO_TEN = Domain(shape=Records(), bounds=(0, 10))
BROKEN = {
    "a sum rounded to integers": sum_of(whole, 1.0, 0, 1, ADD),
    "a sum rounded to tens": sum_of(tens, 1.0, 0, 1, ADD),
    "a sum rounded to tens, under substitute": sum_of(tens, 1.0, 0, 1, SUBSTITUTE),
    "an answer rounded to tens": Target.noise(
        noisy(lambda answer: 10.0 * round(float(answer) / 10), 1.0), epsilon=1.0, name="answer"
    ),
    "an answer rounded to integers": Target.noise(
        noisy(lambda answer: float(round(float(answer))), 0.5), epsilon=1.0, sensitivity=0.5, name="answer"
    ),
    "records that are clipped from above only": sum_of(from_above_only, 1.0, 0, 1, ADD),
    "the upper bound taken for the sensitivity": sum_of(clipped(-3, 1), 1.0, -3, 1, ADD),
    "the width of the bounds taken for the sensitivity of added records": sum_of(clipped(-3, -1), 2.0, -3, -1, ADD),
    "the larger bound taken for the sensitivity of replaced records": sum_of(clipped(-2, 2), 2.0, -2, 2, SUBSTITUTE),
    "the larger bound taken for that of either": Target.sum(
        noisy(clipped(-2, 2), 2.0), epsilon=1.0, bounds=(-2, 2), name="sum"
    ),
    "a last record of more weight": sum_of(without_the_last, 1.0, 0, 1, SUBSTITUTE),
    "a first record of more weight": sum_of(first_twice, 1.0, 0, 1, ADD),
    "a jump at a dozen": sum_of(many_are_doubled, 1.0, 0, 1, ADD),
    "a count of distinct records": dataset(noisy(distinct, 1.0), UP_TO_TEN, ADD),
    "a jump at a dozen records": dataset(noisy(lambda one: 5.0 * (len(one) > 12), 1.0), UP_TO_TEN, ADD),
    "keys that appear with their first record": dataset(histogram(1), CATEGORIES, ADD),
    "keys that appear with their fourth record": dataset(histogram(4), CATEGORIES, ADD),
    "two counts of a replaced record with noise for one": dataset(
        noisy(lambda names: count_of("rare")(names) - count_of("common")(names), 1.0), CATEGORIES, SUBSTITUTE
    ),
    "noise for one of many answers": dataset(queried(1.0), Domain(shape=Queries(size=5))),
    "a sum in binary16": sum_of(one_after_another(np.float16), 1.0, 0, 1, ADD),
    "utilities in binary16": Target.selection(largest_in(np.float16), epsilon=1.0, name="largest"),
    "bits of which only half are taken to differ": dataset(noisy(halves, 4.0), BITS),
    "records of two or three that are not clipped": sum_of(clipped_among_many, 1.0, 0, 1, SUBSTITUTE),
    "a stream of which the last step counts twice": dataset(
        noisy(lambda stream: float(stream.sum() + 2 * stream[-1]), 1.0), Domain(shape=Streams(length=8), bounds=(0, 1))
    ),
}
SOUND = {
    "a sum": sum_of(clipped(0, 1), 1.0, 0, 1, ADD),
    "a sum rounded to integers with noise for that": sum_of(whole, 2.0, 0, 1, ADD),
    "a sum rounded to tens with noise for that": sum_of(tens, 10.0, 0, 1, SUBSTITUTE),
    "an answer rounded to tens with noise for that": Target.noise(
        noisy(lambda answer: 10.0 * round(float(answer) / 10), 10.0),
        epsilon=1.0,
        domain=Domain(bounds=(-1e9, 1e9)),
        name="answer",
    ),
    "a whole answer": Target.noise(
        noisy(lambda answer: float(round(float(answer))), 1.0),
        epsilon=1.0,
        domain=Domain(integers=True, bounds=(-1000, 1000)),
        name="answer",
    ),
    "the width of bounds around 0 for added records": sum_of(clipped(-3, 1), 4.0, -3, 1, ADD),
    "the larger bound": sum_of(clipped(-3, -1), 3.0, -3, -1, ADD),
    "the width": sum_of(clipped(-2, 2), 4.0, -2, 2, SUBSTITUTE),
    "the larger of both": Target.sum(noisy(clipped(-3, 1), 4.0), epsilon=1.0, bounds=(-3, 1), name="sum"),
    "a count of distinct records": dataset(noisy(lambda one: float(len(set(one.tolist()))), 1.0), UP_TO_TEN, ADD),
    "all keys": dataset(all_names, CATEGORIES, SUBSTITUTE),
    "noise for all answers": dataset(queried(5.0), Domain(shape=Queries(size=5))),
    "bits that all may differ": dataset(noisy(halves, 8.0), BITS),
    "a stream": dataset(noisy(lambda stream: float(stream.sum()), 1.0), Domain(shape=Streams(length=8), bounds=(0, 1))),
}


def refuted(findings: list[Finding]) -> bool:
    assert not [finding for finding in findings if finding.verdict is Verdict.ERROR], findings
    return any(finding.refutes for finding in findings)


@pytest.mark.parametrize("flaw", BROKEN)
def test_a_flaw_that_shows_on_the_right_pair_only_is_found_by_default(flaw: str) -> None:
    assert refuted(audit(BROKEN[flaw], trials=TRIALS, until_refuted=True))


@pytest.mark.parametrize("twin", SOUND)
def test_a_sound_twin_is_not_accused(twin: str) -> None:
    """A false alarm has probability 1e-9."""
    assert not refuted(audit(SOUND[twin], trials=FEWER, alpha=ALPHA))

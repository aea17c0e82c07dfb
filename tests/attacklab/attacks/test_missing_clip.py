"""Missing clip: caught on the side where it is missing, and not on the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab.attacks.missing_clip import MissingClip
from attacklab.findings import Verdict
from attacklab.neighbours import Relation
from attacklab.targets import Target
from mechanisms.core.grid import Grid
from mechanisms.local_sensitivity.naive import naive_sum_over_count
from mechanisms.summation.exact import exact_bounded_mean, exact_bounded_sum
from tests.attacklab.attacks.making import exactly
from tests.attacklab.attacks.means import (
    BOUNDS,
    SOUND,
    judged,
    mean_target,
    mirrored,
    moves_by_one_record_at_most,
    verdicts,
)


def test_a_sum_clipped_from_above_only_is_caught_from_below() -> None:
    below, above = judged(mean_target(naive_sum_over_count, upper=BOUNDS[1]), MissingClip())
    assert below.verdict is Verdict.VIOLATED
    assert above.verdict is Verdict.NOT_DETECTED
    assert below.pair is not None
    assert below.pair["relation"] == str(Relation.SUBSTITUTE)


def unclipped_sum(records: NDArray[np.float64], trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return np.sum(records) + rng.laplace(0.0, 100.0, trials)


def test_a_sum_without_any_clip_is_caught_on_both_sides() -> None:
    target = Target.sum(unclipped_sum, bounds=BOUNDS, epsilon=1.0)
    assert verdicts(target, MissingClip()) == [Verdict.VIOLATED] * 2


RANGE: dict[str, Any] = {"epsilon": 1, "lower": BOUNDS[0], "upper": BOUNDS[1], "grid": Grid(-20)}
CLIPPED = {
    "sum": Target.sum(exactly(exact_bounded_sum(**RANGE).many), bounds=BOUNDS, epsilon=1.0),
    "mean, n public": Target.mean(
        exactly(exact_bounded_mean(relation="substitute", **RANGE).many), bounds=BOUNDS, epsilon=1.0
    ),
    "mean, n private": SOUND,
}


@pytest.mark.parametrize("name", CLIPPED)
def test_records_beyond_the_bounds_leave_no_trace_where_they_are_clipped(name: str) -> None:
    """The laws are equal; with 0.1 for 4000 trials each of the two differs with probability below 1e-16."""
    for finding in judged(CLIPPED[name], MissingClip()):
        assert finding.verdict is Verdict.NOT_DETECTED
        assert finding.advantage is not None
        assert abs(finding.advantage.estimate) < 0.1


def test_a_mirrored_mean_is_caught_without_its_upper_clip() -> None:
    assert verdicts(mirrored(), MissingClip()) == [Verdict.NOT_DETECTED, Verdict.VIOLATED]


def test_it_applies_to_sums_and_means() -> None:
    assert all(MissingClip().applies_to(target) for target in CLIPPED.values())
    assert not MissingClip().applies_to(Target.noise(lambda *_: np.empty(0), epsilon=1.0))


def test_its_pairs_move_the_real_clipped_sum_by_no_more_than_one_record_can() -> None:
    assert moves_by_one_record_at_most(MissingClip(size=40))

"""Pace: as many trials as there is time for, whatever a target's speed."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from attacklab.attacks import GeneratorSeed, Precision, ZeroRounding
from attacklab.findings import Verdict
from attacklab.pace import FEWEST_TRIALS, MOST_TRIALS, pace_of, paced_audit, rounded_down
from attacklab.referee import audit
from attacklab.targets import Target

ANSWERS = Precision((0.0, 1.0))


def laplace(answer: float, trials: int, rng: np.random.Generator) -> Any:
    return answer + rng.laplace(0.0, 1.0, trials)


def slow(answer: float, trials: int, rng: np.random.Generator) -> Any:
    time.sleep(0.005 * trials)
    return laplace(answer, trials, rng)


def failing(answer: float, trials: int, rng: np.random.Generator) -> Any:  # noqa: ARG001
    raise ArithmeticError("no")


@pytest.mark.parametrize(
    ("number", "rounded"), [(1.0, 1), (1.99, 1), (2.0, 2), (4.99, 2), (9.99, 5), (10.0, 10), (70_000.0, 50_000)]
)
def test_numbers_are_rounded_down_to_1_2_or_5_times_a_power_of_ten(number: float, rounded: int) -> None:
    assert rounded_down(number) == rounded


def test_a_slow_target_is_given_the_trials_that_its_speed_allows() -> None:
    # Two sides of 5 ms each: at most 100 trials a second, and no less than a quarter of it on a busy machine.
    pace = pace_of(Target.noise(slow, epsilon=1.0), ANSWERS, seconds=1.0)
    assert pace is not None
    assert 25 <= pace.trials_per_second <= 100
    assert pace.trials in (20, 50, 100)


def test_trials_have_bounds_at_either_end() -> None:
    target = Target.noise(laplace, epsilon=1.0)
    fewest, most = (pace_of(target, ANSWERS, seconds=seconds) for seconds in (1e-9, 1e9))
    assert fewest is not None
    assert most is not None
    assert (fewest.trials, most.trials) == (FEWEST_TRIALS, MOST_TRIALS)


def test_a_target_that_fails_has_no_pace_and_its_findings_are_errors() -> None:
    target = Target.noise(failing, epsilon=1.0)
    assert pace_of(target, ANSWERS, seconds=1.0) is None
    (finding,) = paced_audit(target, [ANSWERS], seconds=1.0)
    assert finding.verdict is Verdict.ERROR


def test_findings_are_those_of_an_audit_with_the_same_trials_and_share_of_alpha() -> None:
    target = Target.noise(laplace, epsilon=1.0)
    said: list[str] = []
    paced = paced_audit(target, [ZeroRounding(), ANSWERS, GeneratorSeed()], seconds=0.01, seed=3, say=said.append)
    assert len(said) == 2
    assert "precision" in said[0]
    trials = int(said[0].rpartition(" ")[2])
    (alone,) = audit(target, [ANSWERS], trials=trials, alpha=1e-6 / 2, seed=3)
    (ours,) = [one for one in paced if one.attack == "precision"]
    assert (ours.verdict, ours.counts, ours.alpha) == (alone.verdict, alone.counts, alone.alpha)
    assert paced[0].verdict is Verdict.NOT_APPLICABLE


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_seconds_out_of_range_are_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="seconds must be finite and greater than 0"):
        paced_audit(Target.noise(laplace, epsilon=1.0), seconds=seconds)

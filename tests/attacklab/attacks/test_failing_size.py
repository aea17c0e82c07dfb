"""Failing size: the border between sizes for which a target answers and sizes for which it fails."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attacklab.attacks.failing_size import FailingSize
from attacklab.findings import Finding, Verdict
from attacklab.referee import audit
from attacklab.targets import Target
from mechanisms.local_sensitivity.naive import naive_smooth_mean


def mean_that(fails: Callable[[int], bool], *, by_nan: bool = False, **parameters: Any) -> Target:
    def release(records: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
        if not fails(len(records)):
            return rng.laplace(0.0, 1.0, trials)
        if by_nan:
            return np.full(trials, math.nan)
        raise ZeroDivisionError("too few records")

    return Target.mean(release, epsilon=1.0, bounds=(0.0, 1.0), name="stub", **parameters)


def judged(target: Target) -> list[Finding]:
    return audit(target, [FailingSize()], trials=1_000)


def sizes(finding: Finding) -> tuple[int, int]:
    assert finding.pair is not None
    return finding.pair["first"]["shape"][0], finding.pair["second"]["shape"][0]


@pytest.mark.parametrize("border", [1, 2, 3, 64, 199, 4096])
@pytest.mark.parametrize("by_nan", [False, True])
def test_the_first_size_that_a_target_answers_for_is_found_and_refutes_it(border: int, by_nan: bool) -> None:
    (finding,) = judged(mean_that(lambda size: size < border, by_nan=by_nan))
    assert finding.verdict is Verdict.VIOLATED
    assert finding.event == "the target fails"
    assert sizes(finding) == (border - 1, border)
    assert finding.counts is not None
    assert finding.counts.first == finding.counts.trials
    assert finding.counts.second == 0


def test_every_border_is_tried_whichever_side_fails() -> None:
    findings = judged(mean_that(lambda size: size < 3 or size > 100))
    assert [sizes(finding) for finding in findings] == [(2, 3), (100, 101)]
    assert {finding.verdict for finding in findings} == {Verdict.VIOLATED}


def test_a_target_that_answers_for_every_size_gives_nothing_to_try() -> None:
    (finding,) = judged(mean_that(lambda _size: False))
    assert finding.verdict is Verdict.NOT_APPLICABLE


def test_a_target_that_fails_for_every_size_is_an_error_and_leaks_nothing() -> None:
    (finding,) = judged(mean_that(lambda _size: True))
    assert (finding.verdict, finding.reason) == (Verdict.ERROR, "stub raised ZeroDivisionError: too few records")


def test_a_target_whose_size_is_public_is_not_accused_of_failing() -> None:
    (finding,) = judged(mean_that(lambda size: size < 10, relation="substitute"))
    assert finding.verdict is Verdict.NOT_APPLICABLE


def test_the_smooth_sensitivity_of_a_textbook_fails_below_199_records() -> None:
    def release(records: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
        return naive_smooth_mean(records, trials, rng, upper=100.0, epsilon=1.0, delta=1e-9)

    (finding,) = judged(Target.mean(release, epsilon=1.0, delta=1e-9, bounds=(0.0, 100.0)))
    assert finding.verdict is Verdict.VIOLATED
    assert sizes(finding) == (198, 199)

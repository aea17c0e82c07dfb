"""Failures on the pairs of attacks that look for something else; if they always occur there is nothing to try."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from attacklab.attacks.base import Attack
from attacklab.attacks.double_budget import DoubleBudget
from attacklab.attacks.local_sensitivity import LocalSensitivity
from attacklab.attacks.missing_clip import MissingClip
from attacklab.attacks.position_chunks import PositionChunks
from attacklab.findings import Finding, Verdict
from attacklab.referee import audit
from attacklab.targets import Target

Records = np.ndarray


def judged(attack: Attack, fails: Callable[[Records, np.random.Generator], bool]) -> list[Finding]:
    def release(records: Records, trials: int, rng: np.random.Generator) -> np.ndarray:
        if fails(records, rng):
            raise ZeroDivisionError("no")
        return np.clip(records, 0.0, 1.0).mean() + rng.laplace(0.0, 1.0, trials)

    return audit(Target.mean(release, epsilon=1.0, bounds=(0.0, 1.0), name="stub"), [attack], trials=1_000)


@pytest.mark.parametrize(
    ("attack", "size"),
    [(LocalSensitivity(sizes=(5,), answers=(1,)), 5), (DoubleBudget(), 2), (PositionChunks(), 600)],
)
def test_a_failure_on_one_input_only_refutes_the_claim(attack: Attack, size: int) -> None:
    findings = judged(attack, lambda records, _rng: len(records) <= size)
    (refuted,) = (finding for finding in findings if finding.verdict is Verdict.VIOLATED)
    assert refuted.event == "the target fails"
    assert refuted.advantage is not None
    assert abs(refuted.advantage.estimate) == 1.0


def test_a_record_outside_the_bounds_that_makes_a_target_raise_refutes_its_claim() -> None:
    findings = judged(MissingClip(size=8), lambda records, _rng: bool((np.abs(records) > 1).any()))
    assert [finding.verdict for finding in findings] == [Verdict.VIOLATED] * 2
    assert {finding.event for finding in findings} == {"the target fails"}


def test_the_pair_of_sizes_on_which_a_target_always_fails_is_passed_over() -> None:
    findings = judged(LocalSensitivity(sizes=(1, 256), answers=(1,)), lambda records, _rng: len(records) < 100)
    (finding,) = findings
    assert "n seems to be 256" in finding.event
    assert finding.verdict is Verdict.NOT_DETECTED


def test_an_attack_whose_only_pair_always_fails_finds_nothing_to_try() -> None:
    (finding,) = judged(DoubleBudget(), lambda records, _rng: len(records) < 100)
    assert finding.verdict is Verdict.NOT_APPLICABLE


def test_a_pair_of_half_lines_that_always_fails_is_an_error() -> None:
    (finding,) = judged(PositionChunks(), lambda _records, _rng: True)
    assert (finding.verdict, finding.reason) == (Verdict.ERROR, "stub raised ZeroDivisionError: no")


def test_failures_equally_frequent_on_both_inputs_are_bet_on_and_refute_nothing() -> None:
    """A false alarm has probability at most 1e-6, and the seed is fixed."""
    (finding,) = judged(DoubleBudget(), lambda _records, rng: bool(rng.random() < 0.9))
    assert finding.event == "the target fails"
    assert finding.verdict is Verdict.NOT_DETECTED

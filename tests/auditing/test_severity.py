"""What fails beyond a claim is noted, and does not refute it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from attacklab.attacks import SPECIAL_VALUES
from attacklab.auditing.referee import audit
from attacklab.cli.messages import Status
from attacklab.cli.output import status_of
from attacklab.model.domains import Domain
from attacklab.model.findings import Finding, Verdict
from attacklab.model.targets import Target
from attacklab.pytest_plugin.report import AuditedTest
from attacklab.reporting.sarif import Place, sarif_log


def failing_on_nan(utilities: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
    if not np.isfinite(utilities).all():
        raise ValueError("not a number")
    return rng.integers(0, len(utilities), trials)


def audited(domain: Domain | None = None) -> list[Finding]:
    return audit(Target.selection(failing_on_nan, epsilon=1.0, domain=domain), [SPECIAL_VALUES], trials=1_000)


def test_a_failure_on_nan_among_utilities_is_a_note_unless_the_domain_has_it() -> None:
    notes = audited()
    assert {one.verdict for one in notes} == {Verdict.NOT_APPLICABLE}
    assert all(one.is_note for one in notes)
    assert all("beyond the claim" in one.reason for one in notes)
    assert any(one.refutes for one in audited(Domain(special=True)))
    assert {one.verdict for one in audited(Domain())} == {Verdict.NOT_APPLICABLE}


def test_a_failure_on_nan_among_records_refutes_the_claim_unless_the_domain_excludes_it() -> None:
    def release(records: Any, trials: int, rng: np.random.Generator) -> np.ndarray:
        if np.isnan(records).any():
            raise ValueError("not a number")
        return np.clip(np.nan_to_num(records), 0, 1).sum() + rng.laplace(size=trials) * 8

    def refuted(domain: Domain | None) -> bool:
        target = Target.sum(release, bounds=(0, 1), epsilon=1.0, domain=domain)
        return any(one.refutes for one in audit(target, [SPECIAL_VALUES], trials=1_000))

    assert refuted(None)
    assert refuted(Domain())
    assert not refuted(Domain(special=False))


def test_notes_decide_nothing_and_are_no_result_in_sarif() -> None:
    notes = audited()
    assert status_of(notes) is Status.FAILED
    (run,) = sarif_log([(note, None) for note in notes])["runs"]
    assert run["results"] == []


@pytest.mark.parametrize("others", [0, 1])
def test_a_test_does_not_fail_by_notes_nor_pass_by_notes_alone(others: int) -> None:
    quiet = [one for one in audit(Target.noise(grid, epsilon=1.0), [SPECIAL_VALUES], trials=2_000) if one.counts]
    assert {one.verdict for one in quiet} == {Verdict.NOT_DETECTED}
    findings = (*audited(), *quiet[:others])
    test = AuditedTest(test="t", place=Place("t.py"), alpha=1e-6, trials=1_000, seed=0, findings=findings)
    assert test.failed is (others == 0)
    assert "notes: special values" in test.failure()


def grid(answer: float, trials: int, rng: np.random.Generator) -> np.ndarray:
    return (math.floor(answer * 8) + rng.geometric(0.1, trials) - rng.geometric(0.1, trials)) / 8

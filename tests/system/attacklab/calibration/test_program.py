"""Formulas in processes of their own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from attacklab.calibration import CalibrationFinding, ProgramFormula, calibrate
from attacklab.model.findings import Verdict

PROGRAM = str(Path(__file__).parent / "program.py")
GRID = [{"scale": scale, "sensitivity": 1.0} for scale in (2.0, 3.0, 7.0)]


def found(how: str) -> list[CalibrationFinding]:
    formula = ProgramFormula([sys.executable, PROGRAM, how], "laplace_epsilon")
    try:
        return calibrate("laplace_epsilon", formula, name=how, grid=GRID)
    finally:
        formula.close()


def test_a_program_is_judged_as_a_function_is() -> None:
    findings = found("answer")
    assert [one.returned for one in findings] == [1 / 2, 1 / 3, 1 / 7]
    assert [one.verdict for one in findings] == [Verdict.PROVED, Verdict.VIOLATED, Verdict.VIOLATED]
    assert {one.verdict for one in found("integer")} == {Verdict.PROVED}


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("decimal", "0.5 is not exact: write floats as hex strings"),
        ("text", "value must be a hex float"),
        ("wide", "is not a binary64 number"),
        ("other", "an answer holds value or error, not outputs"),
    ],
)
def test_an_answer_that_breaks_the_protocol_is_an_error(how: str, message: str) -> None:
    for finding in found(how):
        assert finding.verdict is Verdict.ERROR
        assert message in finding.reason


def test_a_refusal_is_no_error() -> None:
    assert {one.verdict for one in found("refuse")} == {Verdict.NOT_APPLICABLE}
    assert "not for this" in found("refuse")[0].reason


def test_a_program_that_crashes_is_started_again() -> None:
    findings = found("crash once")
    assert [one.verdict for one in findings] == [Verdict.PROVED, Verdict.ERROR, Verdict.VIOLATED]
    assert "status 3" in findings[1].reason

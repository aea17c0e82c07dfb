"""Summaries of CI jobs: each verdict with its reason and its replay, and no name that is markup."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from attacklab.model.claims import PrivacyClaim
from attacklab.model.findings import Counts, Finding, Severity, Verdict, record, to_text
from attacklab.reporting.job_summary import MOST_REPLAYS, job_summary

VIOLATED = Finding(
    target="my_laplace",
    target_version="1.2",
    attack="precision",
    verdict=Verdict.VIOLATED,
    reason="P[E] is too large",
    claim=PrivacyClaim(1.0),
    counts=Counts(50, 0, 100),
    replay="attacklab audit noisy.py:my_laplace --seed 0",
)


def _summary(folder: Path, *findings: Finding) -> str:
    (folder / "findings.json").write_text(to_text(record(findings)), "utf-8")
    return job_summary(folder / "findings.json", "attacklab audit noisy.py:my_laplace", 1)


@pytest.mark.parametrize(
    ("finding", "lines"),
    [
        (VIOLATED, ["### violated: my\\_laplace", "    attacklab audit noisy.py:my_laplace --seed 0"]),
        (replace(VIOLATED, severity=Severity.ROBUSTNESS), ["### note (robustness): my\\_laplace"]),
        (replace(VIOLATED, verdict=Verdict.ERROR), ["### error: my\\_laplace", "- precision: P\\[E\\] is too large"]),
        (replace(VIOLATED, verdict=Verdict.UNTESTABLE), ["### untestable: my\\_laplace"]),
        (replace(VIOLATED, verdict=Verdict.NOT_APPLICABLE, replay=""), ["### not applicable: my\\_laplace"]),
    ],
)
def test_each_verdict_has_its_heading_and_what_explains_it(tmp_path: Path, finding: Finding, lines: list[str]) -> None:
    summary = _summary(tmp_path, finding)
    assert summary.startswith("## attacklab\n\n`attacklab audit noisy.py:my_laplace` ended with status 1.\n\n")
    assert set(lines) <= set(summary.splitlines())


def test_a_sound_target_is_shown_with_its_power(tmp_path: Path) -> None:
    sound = replace(VIOLATED, verdict=Verdict.NOT_DETECTED, smallest_detectable=0.25, ceiling=0.5)
    assert "an advantage of 0.25, by event, would have been detected \\(power 95%\\)" in _summary(tmp_path, sound)


def test_each_target_has_a_part_and_a_few_replays(tmp_path: Path) -> None:
    many = [replace(VIOLATED, attack=f"attack{number}", replay=f"replay {number}") for number in range(9)]
    summary = _summary(tmp_path, *many, replace(VIOLATED, target="another"))
    assert [line for line in summary.splitlines() if line.startswith("### ")] == [
        "### violated: my\\_laplace",
        "### violated: another",
    ]
    assert summary.count("    replay ") == MOST_REPLAYS


def test_what_a_target_is_called_is_no_markup(tmp_path: Path) -> None:
    summary = _summary(tmp_path, replace(VIOLATED, target="<script>[a](b)\n# `x`\x1b", replay="a\n\n<b>"))
    assert "### violated: \\<script\\>\\[a\\]\\(b\\) \\# \\`x\\`\\\\x1b" in summary
    assert "\n    a  <b>\n" in summary


def test_a_run_that_left_no_record_says_where_to_look(tmp_path: Path) -> None:
    summary = job_summary(tmp_path / "none.json", "attacklab audit `x`", 2)
    assert "`attacklab audit  x ` ended with status 2 before it had findings; the log of the step says why." in summary

"""Findings on standard output: figures in one line, words below, at any width; and the status they end in."""

from __future__ import annotations

from dataclasses import replace

import pytest

from attacklab.auditing.flaws import catalogue
from attacklab.cli.output import show, status_of
from attacklab.cli.status import Status
from attacklab.model.claims import PrivacyClaim, ZeroConcentrated
from attacklab.model.findings import FAILURE, Counts, Estimate, Finding, Verdict
from attacklab.reporting.wording import WHAT_TO_DECLARE

REASON = "E happened in 27 of 32 trials on the first input and in 0 on the second, whatever anyone [at all] knows"


def finding(verdict: Verdict, **rest: object) -> Finding:
    common: dict[str, object] = {"target": "noisy", "target_version": "1", "attack": "bits", "verdict": verdict}
    common |= {"reason": REASON, "claim": PrivacyClaim(1.0), "replay": "attacklab audit x.py:noisy"}
    return Finding(**{**common, **rest})


VIOLATED = finding(Verdict.VIOLATED, event="an even number", advantage=Estimate(-0.25, -0.5, -0.125), ceiling=0.4621)
QUIET = replace(VIOLATED, verdict=Verdict.NOT_DETECTED, attack="longer_name", reason="not refuted", event="")
QUIET = replace(QUIET, advantage=Estimate(0.0, -0.1, 0.1))
FAILED = finding(Verdict.ERROR, attack="failing", reason="it raised ValueError")
ELSEWHERE = finding(Verdict.NOT_APPLICABLE, attack="cast")


def shown(capsys: pytest.CaptureFixture[str], *findings: Finding) -> list[str]:
    show(findings)
    return capsys.readouterr().out.splitlines()


def test_figures_stand_in_one_line_and_words_below_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert shown(capsys, VIOLATED, QUIET, FAILED, ELSEWHERE) == [
        "The claim of noisy, ε = 1.0, is refuted by bits.",
        "attack       verdict       advantage  allowed",
        "bits         violated          -0.25    0.462",
        "    event: an even number",
        f"    {REASON}",
        "longer_name  not detected          0    0.462",
        "    not refuted",
        "failing      error",
        "    it raised ValueError",
        f"    {WHAT_TO_DECLARE}",
        "do not apply to this target: cast",
        "replay: attacklab audit x.py:noisy",
    ]


def test_a_claim_of_another_kind_is_said_with_the_point_at_which_it_was_judged(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    judged = {"claim": ZeroConcentrated(0.5), "judged_at": PrivacyClaim(1.23411, 0.101234)}
    together = {**judged, "claim": ZeroConcentrated(1.0), "answers": 2}
    assert shown(capsys, replace(VIOLATED, **judged), replace(QUIET, **together))[:9] == [
        "The claim of noisy, ρ-zCDP with ρ = 0.5, is refuted by bits.",
        "attack       verdict       advantage  allowed",
        "bits         violated          -0.25    0.462",
        "    event: an even number",
        "    judged at ε = 1.235, δ = 0.102",
        f"    {REASON}",
        "longer_name  not detected          0    0.462",
        "    claim: ρ-zCDP with ρ = 1.0 of 2 answers together",
        "    judged at ε = 1.235, δ = 0.102",
    ]


@pytest.mark.parametrize("width", [60, 80, 200])
def test_words_are_wrapped_at_the_width_of_the_terminal_and_none_is_lost(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    told = shown(capsys, VIOLATED)
    lines = told[told.index("    event: an even number") + 1 : -1]
    assert all(line.startswith("    ") and len(line) <= width for line in lines)
    assert " ".join(line.strip() for line in lines) == REASON
    assert (len(lines) == 1) is (width >= 4 + len(REASON))


def test_a_line_that_replays_a_finding_is_never_wrapped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    replay = f"attacklab audit {'deep/' * 30}x.py:noisy"
    assert shown(capsys, finding(Verdict.VIOLATED, replay=replay))[-1] == f"replay: {replay}"


def test_all_is_said_in_one_sentence_and_the_flaw_it_names_is_not_told_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)  # workers of pytest-xdist have it
    known = replace(VIOLATED, attack="precision", flaw="some floats", counts=Counts(27, 0, 32), repair_code="f(2)")
    other = replace(VIOLATED, attack="black_box", flaw="they differ")
    flaw = catalogue()["precision"]
    lines = shown(capsys, other, known, replace(known, event="another event"))
    assert lines[0] == (
        "The claim of noisy, ε = 1.0, is refuted by precision (odds of 490 to 1 against it): some floats; "
        f"to repair it, {flaw.repair}; with exactdp: f(2)."
    )
    assert not any("some floats" in line or flaw.repair in line for line in lines[1:])
    assert lines.count(f"    read: attacklab explain precision; {flaw.read[0].title}, {flaw.read[0].url}") == 1
    assert lines.count("    flaw: they differ") == 1
    assert lines.count(f"    usual repair: {catalogue()['black_box'].repair}") == 1
    assert lines.count(f"    {REASON}") == 1
    assert not any("flaw" in line for line in shown(capsys, replace(QUIET, flaw="it fails on one")))


def test_a_flaw_that_an_attack_came_across_is_named_before_the_attack(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)  # workers of pytest-xdist have it
    lines = shown(capsys, replace(VIOLATED, attack="precision", flaw=FAILURE, event="the target fails"))
    assert any(line.startswith("fails (by precision)  violated") for line in lines)
    assert catalogue()["fails"].repair in lines[0]


def test_nothing_but_what_does_not_apply_has_no_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)  # workers of pytest-xdist have it
    assert shown(capsys, ELSEWHERE) == [
        "There is no verdict on the claim of noisy, ε = 1.0: none of the attacks applies to it.",
        "do not apply to this target: cast",
    ]


@pytest.mark.parametrize(
    ("findings", "status"),
    [
        ((VIOLATED, QUIET, ELSEWHERE), Status.REFUTED),
        ((VIOLATED, FAILED), Status.REFUTED),
        ((QUIET, FAILED), Status.FAILED),
        ((finding(Verdict.PROVED), finding(Verdict.INCONCLUSIVE, attack="exact_law")), Status.FAILED),
        ((QUIET, ELSEWHERE), Status.OK),
        ((finding(Verdict.PROVED),), Status.OK),
        ((ELSEWHERE, ELSEWHERE), Status.FAILED),
        ((finding(Verdict.INCONCLUSIVE), ELSEWHERE), Status.FAILED),
        ((finding(Verdict.UNTESTABLE),), Status.FAILED),
        ((finding(Verdict.UNTESTABLE), finding(Verdict.INCONCLUSIVE)), Status.FAILED),
        ((finding(Verdict.UNTESTABLE), QUIET, finding(Verdict.INCONCLUSIVE)), Status.OK),
    ],
)
def test_the_status_tells_refuted_from_failed_and_both_from_neither(
    findings: tuple[Finding, ...], status: Status
) -> None:
    assert status_of(findings) is status

"""Findings in words: what is said once though many attacks met it."""

from __future__ import annotations

from attacklab.model.claims import PrivacyClaim
from attacklab.model.findings import SO_DID_EVERY_CALL, Finding, Verdict
from attacklab.reporting.wording import WHAT_TO_DECLARE, told_once


def finding(attack: str, reason: str, verdict: Verdict = Verdict.ERROR) -> Finding:
    claim = PrivacyClaim(1.0)
    return Finding(
        target="f",
        target_version="",
        attack=attack,
        verdict=verdict,
        reason=reason,
        claim=claim,
        ceiling=claim.ceiling,
        seed=0,
    )


def test_attacks_that_fail_with_one_message_are_told_once_with_what_to_declare() -> None:
    message, other = "f raised TypeError: no", "f gave 3 outputs for 2 trials"
    findings = [
        finding("a", message),
        finding("b", "fine", Verdict.NOT_DETECTED),
        finding("c", message + SO_DID_EVERY_CALL),
        finding("c", message),
        finding("d", other),
    ]
    told = told_once(findings)
    assert [one.attack for one, _ in told] == ["a", "b", "d"]
    assert [besides for _, besides in told] == [["the same in c", WHAT_TO_DECLARE], [], []]

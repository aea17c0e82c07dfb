"""What an audited test says, from findings made by hand."""

from __future__ import annotations

import math

import pytest

from attacklab.auditing.flaws import catalogue
from attacklab.model.claims import GaussianDP, PrivacyClaim
from attacklab.model.findings import Counts, Finding, Verdict
from attacklab.pytest_plugin.report import AuditedTest
from attacklab.reporting.sarif import Place


def finding(verdict: Verdict, **rest: object) -> Finding:
    common: dict[str, object] = {"target": "noisy", "target_version": "1", "attack": str(verdict).replace(" ", "_")}
    common |= {"reason": f"because it is {verdict}", "claim": PrivacyClaim(1.0), "counts": Counts(1, 1, 9)}
    return Finding(**{**common, "verdict": verdict, **rest})


REFUTED = finding(Verdict.VIOLATED, epsilon_lower=2.5, alpha=1e-7, replay="pytest test_it.py")
QUIET = finding(Verdict.NOT_DETECTED, smallest_detectable=0.125)
TOO_FEW = finding(Verdict.INCONCLUSIVE)
UNDECIDABLE = finding(Verdict.INCONCLUSIVE, counts=None)
FAILED = finding(Verdict.ERROR, counts=None)
UNTESTABLE = finding(Verdict.UNTESTABLE, counts=None)
ELSEWHERE = finding(Verdict.NOT_APPLICABLE, counts=None)


def audited(*findings: Finding) -> AuditedTest:
    place = Place("test_it.py", 3)
    return AuditedTest(test="test_it.py::test_it", place=place, alpha=1e-6, trials=9, seed=0, findings=findings)


@pytest.mark.parametrize(
    ("findings", "verdict"),
    [
        ((QUIET, TOO_FEW, FAILED, REFUTED), Verdict.VIOLATED),
        ((QUIET, FAILED, TOO_FEW), Verdict.ERROR),
        ((QUIET, TOO_FEW, ELSEWHERE), Verdict.INCONCLUSIVE),
        ((ELSEWHERE, QUIET, UNDECIDABLE), Verdict.NOT_DETECTED),
        ((ELSEWHERE, UNDECIDABLE), Verdict.INCONCLUSIVE),
        ((ELSEWHERE, QUIET, UNTESTABLE), Verdict.NOT_DETECTED),
        ((UNTESTABLE, TOO_FEW), Verdict.INCONCLUSIVE),
        ((ELSEWHERE,), Verdict.INCONCLUSIVE),
    ],
)
def test_the_worst_finding_that_decides_anything_is_the_verdict(
    findings: tuple[Finding, ...], verdict: Verdict
) -> None:
    test = audited(*findings)
    assert test.verdict is verdict
    assert test.failed is (verdict is not Verdict.NOT_DETECTED)


def test_a_test_that_nothing_but_untestable_findings_speaks_of_is_skipped_with_their_reason() -> None:
    test = audited(UNTESTABLE, ELSEWHERE)
    assert (test.verdict, test.skipped, test.failed) == (Verdict.UNTESTABLE, True, False)
    assert test.why_skipped() == "noisy: untestable by sampling: because it is untestable"
    assert test.summary() == "because it is untestable"
    assert not audited(UNTESTABLE, QUIET).skipped


def test_a_failure_says_which_flaw_the_event_shows() -> None:
    assert "  flaw: it fails on one" in audited(finding(Verdict.VIOLATED, flaw="it fails on one")).failure()


def test_a_failure_says_how_its_flaw_is_repaired_and_where_to_read() -> None:
    lines = audited(finding(Verdict.VIOLATED, attack="precision", flaw="some floats")).failure().splitlines()
    flaw = catalogue()["precision"]
    at = lines.index("  flaw: some floats")
    assert lines[at + 1] == f"  usual repair: {flaw.repair}"
    assert lines[at + 2] == f"  read: attacklab explain precision; {flaw.read[0].title}, {flaw.read[0].url}"


def test_what_a_target_says_steers_neither_a_terminal_nor_a_log() -> None:
    text = "\x1b[2J\n::error::hacked"
    test = audited(finding(Verdict.VIOLATED, target=text, event=text, reason=text, replay=text))
    for line in [*test.failure().splitlines(), test.summary()]:
        assert line.isprintable()
        assert "::error" not in line.split()
        assert not line.lstrip().startswith("::")


def test_a_failure_shows_the_findings_of_the_verdict_and_no_others() -> None:
    said = audited(QUIET, REFUTED, TOO_FEW).failure()
    assert "because it is violated" in said
    assert "not detected" not in said
    assert "inconclusive" not in said


def test_a_failure_without_anything_decided_gives_the_reason_of_every_attack() -> None:
    said = audited(ELSEWHERE, UNDECIDABLE).failure()
    assert "because it is not applicable" in said
    assert "because it is inconclusive" in said


def test_a_long_input_is_shown_by_its_digest() -> None:
    short = {"shape": [2], "dtype": "float64", "hex": ["0x0.0p+0", "0x1.0p+0"], "readable": ["0.0", "1.0"]}
    long = {"shape": [1000], "dtype": "float64", "sha256": "ab" * 32}
    one = finding(Verdict.VIOLATED, epsilon_lower=math.inf, alpha=1e-7, pair={"relation": "substitute", "first": short})
    one.pair.update(second=long)
    said = audited(one).failure()
    assert f"pair (substitute): [0.0, 1.0] and float64 of shape [1000], sha256 {'ab' * 32}" in said


def test_the_summary_states_the_largest_bound_and_the_power() -> None:
    weaker = finding(Verdict.VIOLATED, epsilon_lower=1.5, attack="other")
    assert audited(weaker, REFUTED).summary() == "ε ≥ 2.5 by other, violated"
    blunter = finding(Verdict.NOT_DETECTED, smallest_detectable=0.5)
    assert audited(QUIET, blunter).summary() == (
        "advantages of 0.12 (best event) to 0.5 (worst event) would have been detected by not_detected"
    )
    assert audited(QUIET, FAILED).summary() == "because it is error"


def test_a_bound_on_epsilon_is_told_with_the_delta_at_which_it_holds_rounded_down() -> None:
    claim = PrivacyClaim(1.0, 0.00123456)
    said = audited(finding(Verdict.VIOLATED, claim=claim, epsilon_lower=2.5, alpha=1e-7, attack="bits"))
    assert said.summary() == "ε ≥ 2.5 at δ = 0.00123 by bits"
    judged = finding(Verdict.VIOLATED, claim=GaussianDP(1.0), judged_at=PrivacyClaim(0.5, 0.2388), epsilon_lower=0.75)
    assert audited(judged).summary() == "ε ≥ 0.75 at δ = 0.238 by violated"


def test_a_bound_leads_with_the_delta_that_is_shown_and_never_reads_as_the_claim() -> None:
    shown = finding(
        Verdict.VIOLATED, claim=PrivacyClaim(1.0, 1e-5), epsilon_lower=1.0, delta_lower=0.0312, attack="bits"
    )
    assert audited(shown).summary() == "δ ≥ 0.0312 at ε = 1 by bits"
    barely = finding(Verdict.VIOLATED, claim=PrivacyClaim(0.5), epsilon_lower=0.50004, attack="bits")
    assert audited(barely).summary() == "ε ≥ 0.50004 by bits"


def test_a_failure_of_several_answers_together_says_so() -> None:
    together = finding(Verdict.VIOLATED, claim=GaussianDP(2.0), answers=4, epsilon_lower=2.5, alpha=1e-7)
    said = audited(together).failure().splitlines()[0]
    assert said == "noisy does not keep its claim (μ-GDP with μ = 2.0 of 4 answers together)"


def test_a_test_travels_between_processes_unchanged() -> None:
    test = audited(QUIET, REFUTED, finding(Verdict.VIOLATED, epsilon_lower=math.inf))
    assert AuditedTest.from_text(test.to_text()) == test


def proof(verdict: Verdict) -> AuditedTest:
    found = finding(verdict, attack="exact_law", counts=None, reason=f"laws that are {verdict}")
    return AuditedTest(test="test_it.py::test_it", place=Place("test_it.py", 3), findings=(found,))


@pytest.mark.parametrize(
    ("verdict", "failed"),
    [
        (Verdict.PROVED, False),
        (Verdict.PROVED_WITH_SLACK, False),
        (Verdict.VIOLATED, True),
        (Verdict.INCONCLUSIVE, True),
        (Verdict.ERROR, True),
    ],
)
def test_a_proof_that_was_not_found_fails_its_test(verdict: Verdict, failed: bool) -> None:
    test = proof(verdict)
    assert (test.verdict, test.failed, test.is_proof) == (verdict, failed, True)
    assert test.summary() == f"laws that are {verdict}"
    assert not audited(QUIET).is_proof


def test_the_text_of_a_proof_is_read_back() -> None:
    test = proof(Verdict.PROVED_WITH_SLACK)
    assert AuditedTest.from_text(test.to_text()) == test

"""An audit or a proof in one sentence: the verdict, the best evidence for it, the flaw and its repair."""

from __future__ import annotations

from collections.abc import Sequence

from attacklab.auditing.ordinary import best
from attacklab.auditing.statistics.betting import evidence
from attacklab.auditing.statistics.power import POWER
from attacklab.auditing.statistics.reasons import odds_text
from attacklab.model.findings import Finding, Verdict, upper_text
from attacklab.reporting.wording import claim_text, inputs_text, repair_text

UNDECIDED = (Verdict.INCONCLUSIVE, Verdict.UNTESTABLE)

LONGEST_INPUTS = 60
"""Inputs whose text is longer are left to the finding."""


def summary(findings: Sequence[Finding]) -> str:
    """The sentence.

    Args:
        findings: of one target; at least one.
    """
    strongest = best(findings)
    if strongest is not None:
        return f"The claim of {_claim(findings)}, is refuted by {'; '.join(_evidence(strongest))}."
    verdicts = {finding.verdict for finding in findings} - {Verdict.NOT_APPLICABLE}
    if Verdict.ERROR in verdicts:
        return f"There is no verdict on the claim of {_claim(findings)}: there was an error."
    if not verdicts:
        return f"There is no verdict on the claim of {_claim(findings)}: none of the attacks applies to it."
    if verdicts <= set(UNDECIDED):
        return f"There is no verdict on the claim of {_claim(findings)}: nothing that was tested could have decided."
    if verdicts <= {Verdict.PROVED, Verdict.PROVED_WITH_SLACK}:
        return f"The claim of {_claim(findings)}, is proved within the scope that each finding names."
    return f"Nothing was found against the claim of {_claim(findings)}, which is no proof of it{_power(findings)}."


def detectable(findings: Sequence[Finding]) -> str:
    """Which advantages would have been detected, from the least to the most; nothing where that is not known."""
    known = [finding.smallest_detectable for finding in findings if finding.smallest_detectable is not None]
    ends = [upper_text(end(known)) for end in (min, max)] if known else []
    return " to ".join(dict.fromkeys(ends))


def _claim(findings: Sequence[Finding]) -> str:
    of_one_answer = next((finding for finding in findings if finding.answers == 1), findings[0])
    return f"{findings[0].target}, {claim_text(of_one_answer)}"


def _evidence(finding: Finding) -> list[str]:
    """Who refutes it, on which inputs, how surely, the flaw, and its repair."""
    inputs = inputs_text(finding)
    on = f" on the inputs {inputs}" if 0 < len(inputs) <= LONGEST_INPUTS else ""
    odds = "" if finding.counts is None else f"{odds_text(evidence(finding.judged, finding.counts))} to 1 against it"
    surely = "exact laws" if finding.laws else odds and f"odds of {odds}"
    shown = f"{finding.attack}{on}{surely and f' ({surely})'}"
    repair = repair_text(finding) if finding.flaw else ""
    return [
        f"{shown}: {finding.flaw}" if finding.flaw else shown,
        *([f"to repair it, {repair}"] if repair else []),
    ]


def _power(findings: Sequence[Finding]) -> str:
    shown = detectable(findings)
    if not shown:
        return ""
    allowed = max(finding.ceiling for finding in findings)
    seen = f"an advantage of {shown}, by event, would have been detected (power {POWER:.0%})"
    return f"; {seen}, and the claim allows {allowed:.3g}"

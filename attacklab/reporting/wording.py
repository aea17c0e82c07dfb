"""A claim, a pair and a flaw in words, as every text for people says them."""

from collections.abc import Iterator, Mapping
from typing import Any

from attacklab.auditing.flaws import NAMES, Flaw, flaw_of
from attacklab.model.findings import Finding, upper_text

EXAMPLE = "An example"
"""The title of the only part of an explanation that is code."""


def claim_text(finding: Finding) -> str:
    """Return the claim as text, with the number of answers that the adversary sees in one trial if it is above 1."""
    answers = finding.samples.answers if finding.samples else 1
    together = f" of {answers} answers together" if answers > 1 else ""
    return f"{finding.claim}{together}"


def judged_text(finding: Finding) -> str:
    """Return the point (ε, δ) of the privacy profile at which a claim was judged; empty for a claim of one ε and δ.

    ε and δ are rounded up, so that the claim promises what is shown.
    """
    judged_at = finding.shown.judged_at
    if judged_at is None:
        return ""
    return f"judged at ε = {upper_text(judged_at.epsilon, 4)}, δ = {upper_text(judged_at.delta)}"


def detail_lines(finding: Finding) -> Iterator[str]:
    """Yield lines on a finding: a proof's scope and inputs, the event, a composed claim, and `judged_text`."""
    if finding.is_proof and finding.verdict_in_scope != finding.verdict:
        yield f"scope: {finding.scope}"
    if finding.is_proof and finding.pair is not None:
        relation = f" ({finding.pair['relation']})" if finding.pair["relation"] else ""
        yield f"pair{relation}: {inputs_text(finding)}"
    if finding.shown.event:
        yield f"event: {finding.shown.event}"
    if claim_text(finding) != str(finding.claim):
        yield f"claim: {claim_text(finding)}"
    yield judged_text(finding)


def inputs_text(finding: Finding) -> str:
    """Return the two inputs of a finding as text; empty if it has none."""
    return "" if finding.pair is None else " and ".join(_input_text(finding.pair[side]) for side in ("first", "second"))


def _input_text(described: Mapping[str, Any]) -> str:
    """Return an input of a pair as text, from the form that `described_pair` gives it."""
    if "readable" not in described:
        kept = "; the record has its values" if "runs" in described or "literal" in described else ""
        return f"{described['dtype']} of shape {described['shape']}, sha256 {described['sha256']}{kept}"
    text = ", ".join(described["readable"])
    return f"[{text}]" if described["shape"] else text


def shown_by(finding: Finding) -> str:
    """Return the attack's name. If the attack found another flaw than its own, the flaw's name comes first."""
    name = NAMES.get(finding.flaw) if finding.refutes else None
    return f"{name} (by {finding.attack})" if name else finding.attack


def code_of(finding: Finding) -> str:
    """Return the code of the flaw that a refuted claim shows; the attack's name if no flaw is known."""
    flaw = flaw_of(finding)
    return flaw.code if flaw else finding.attack


def flaw_lines(finding: Finding) -> list[str]:
    """Return lines on the flaw that a refuted claim shows, its repair and where to read; [] if nothing is refuted."""
    if not finding.refutes or not finding.flaw:
        return []
    known, lines = flaw_of(finding), [f"flaw: {finding.flaw}"]
    if known is not None:
        lines += [f"usual repair: {repair_text(finding)}", f"read: attacklab list {known.code}; {known.read[0]}"]
    return lines


def repair_text(finding: Finding) -> str:
    """Return the usual repair of a refuted claim's flaw, and a call that does it; empty if no flaw is known."""
    known = flaw_of(finding) if finding.refutes else None
    if known is None:
        return ""
    return f"{known.repair}; with exactdp: {finding.repair_code}" if finding.repair_code else known.repair


def explanation(flaw: Flaw) -> list[tuple[str, str]]:
    """Return the page about a flaw as pairs of a title and a paragraph; the example has a title of its own."""
    shown = "attacklab poc FINDINGS.json writes it as one script."
    return [
        ("What it is", flaw.what),
        (EXAMPLE, flaw.example),
        ("Why it leaks", flaw.leak),
        ("Usual repair", f"{flaw.repair[0].upper()}{flaw.repair[1:]}."),
        ("Weakness", f"{flaw.weakness}, {flaw.weakness.url}"),
        ("Read", "; ".join(map(str, flaw.read))),
        ("To show a finding to a maintainer", shown),
    ]

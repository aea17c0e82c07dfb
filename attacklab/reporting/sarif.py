"""Findings as a SARIF log, which code-scanning pages show beside the source.

A refuted claim is a result of level error, and a failure beyond the claim is a result of level note. A rule is a flaw,
named by its code, or else an attack, named by its name. A result points to the line that an alignment found, if that is
in the target's file, or else to the target's definition. An undecided finding is a notification of the tool. A run with
an error is unsuccessful, so that its log does not read as a clean one. Proved claims are left out, and so are
NOT_DETECTED findings: SARIF's word for them would be 'pass', and no claim passes on samples alone.

Source: OASIS, 'Static Analysis Results Interchange Format (SARIF) Version 2.1.0'.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from attacklab.auditing.flaws import flaw_of
from attacklab.model.findings import Alignment, Counterexample, Finding, Verdict, environment
from attacklab.model.plain_text import plain
from attacklab.reporting.wording import EXAMPLE, claim_text, code_of, explanation, judged_text, repair_text

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

LEVELS = {Verdict.ERROR: "error", Verdict.INCONCLUSIVE: "warning"}
"""Levels of notifications, for the verdicts that do not decide the claim."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place in the source where a finding is shown.

    Attributes:
        path: path of the file, relative to the repository's root, with forward slashes.
        line: line number, from 1.
    """

    path: str
    line: int = 1

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


def sarif_log(findings: Sequence[tuple[Finding, Place | None]]) -> dict[str, Any]:
    """Return a SARIF 2.1.0 log of one run, as plain JSON values.

    Args:
        findings: pairs of a finding and its place in the source, or None if it has no source file.
    """
    violated = [(finding, place) for finding, place in findings if finding.verdict is Verdict.VIOLATED]
    undecided = [(finding, place) for finding, place in findings if finding.verdict in LEVELS]
    rules = {code_of(finding): finding for finding, _ in violated}
    driver = {
        "name": "attacklab",
        "version": environment()["attacklab"],
        "rules": [_described(rule, finding) for rule, finding in rules.items()],
    }
    invocation = {
        "executionSuccessful": all(finding.verdict is not Verdict.ERROR for finding, _ in undecided),
        "toolExecutionNotifications": [_notification(*entry) for entry in undecided],
    }
    results = [_result(*entry, list(rules)) for entry in violated]
    run = {"tool": {"driver": driver}, "invocations": [invocation], "results": results}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _described(rule: str, finding: Finding) -> dict[str, Any]:
    flaw = flaw_of(finding)
    if flaw is None:
        return {"id": rule, "shortDescription": {"text": finding.flaw or rule}}
    parts = explanation(flaw)
    marked = [(title, f"```python\n{part}\n```" if title == EXAMPLE else part) for title, part in parts]
    return {
        "id": rule,
        "name": flaw.name,
        "shortDescription": {"text": flaw.sentence},
        "fullDescription": {"text": flaw.what},
        "help": {
            "text": "\n\n".join(f"{title}\n\n{part}" for title, part in parts),
            "markdown": "\n\n".join(f"## {title}\n\n{part}" for title, part in marked),
        },
        "helpUri": flaw.read[0].url,
        "properties": {"tags": ["security", f"external/cwe/cwe-{flaw.weakness.number}"]},
    }


def _result(finding: Finding, place: Place | None, rules: Sequence[str]) -> dict[str, Any]:
    rule = code_of(finding)
    text = f"{finding.target} does not keep its claim ({claim_text(finding)})"
    text += f" on the event '{finding.shown.event}'" if finding.shown.event else ""
    text += f", {judged_text(finding)}: {finding.reason}" if judged_text(finding) else f": {finding.reason}"
    text += f"; usual repair: {repair_text(finding)}" if repair_text(finding) else ""
    return {
        "ruleId": rule,
        "ruleIndex": rules.index(rule),
        "level": "error",
        "message": {"text": plain(text)},
        "locations": _locations(finding, place),
        "partialFingerprints": {"finding/v1": _fingerprint(finding)},
        "properties": finding.to_json(),
    }


def _notification(finding: Finding, place: Place | None) -> dict[str, Any]:
    text = plain(f"{finding.attack} on {finding.target}: {finding.verdict_in_scope}: {finding.reason}")
    return {"level": LEVELS[finding.verdict], "message": {"text": text}, "locations": _locations(finding, place)}


def _locations(finding: Finding, place: Place | None) -> list[dict[str, Any]]:
    located: dict[str, Any] = {"logicalLocations": [{"name": plain(finding.target), "kind": "function"}]}
    if place is not None:
        line, evidence = place.line, finding.evidence
        if isinstance(evidence, Alignment | Counterexample) and Path(place.path).name == Path(evidence.file).name:
            line = evidence.line
        located["physicalLocation"] = {
            "artifactLocation": {"uri": quote(place.path), "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": line},
        }
    return [located]


def _fingerprint(finding: Finding) -> str:
    """Return a digest of target, attack and pair, so that each run that finds the flaw gives it the same one."""
    identity = json.dumps([finding.target, finding.attack, finding.pair], sort_keys=True)
    return hashlib.sha256(identity.encode()).hexdigest()

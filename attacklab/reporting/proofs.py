"""The page of certificates, written from the record of what their checker said and the record of the times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attacklab.model.errors import UsageError
from attacklab.model.findings import Certificate, Finding, Verdict, read_record
from attacklab.reporting.rendering import render
from attacklab.reporting.wording import claim_text

PROOFS = "proofs"
"""The folder of certificates in the reports."""

RECORD, TIMES = "checked/findings.json", "checked/times.json"
"""The records in that folder: what the checker said, which the sources determine, and what the machine took."""


def proofs_page(reports: Path) -> str:
    """The page; empty if there is no record of certificates.

    Raises:
        UsageError: a record cannot be read, or one of the two lacks what the page shows.
    """
    path, times_path = reports / PROOFS / RECORD, reports / PROOFS / TIMES
    if not path.is_file():
        return ""
    record, times = read_record(path), read_record(times_path)
    try:
        return _rendered(record, times)
    except (AttributeError, KeyError, TypeError) as error:
        raise UsageError(f"{path} or {times_path} lacks {error}; run make prove again") from error


def index_line(reports: Path) -> str:
    """The line of the index that leads to the page; empty where there is none."""
    path = reports / PROOFS / RECORD
    if not path.is_file():
        return ""
    findings = read_record(path)["findings"]
    return (
        f"Certificates for every pair of neighbours that a separate program accepts: {_accepted(findings)} of "
        f"{len(findings)} ([certificates]({PROOFS}/index.md))."
    )


def _rendered(record: dict[str, Any], times: dict[str, Any]) -> str:
    findings: list[Finding] = record["findings"]
    took = {entry["mechanism"]: (entry["write_seconds"], entry["check_seconds"]) for entry in times["times"]}
    return render(
        "proofs.md",
        {"claim": claim_text},
        rows=[(finding, finding.evidence, *took[finding.target]) for finding in findings],
        accepted=_accepted(findings),
        lemmas=record["lemmas"],
        uses=Counter(
            name
            for finding in findings
            if isinstance(finding.evidence, Certificate)
            for name in finding.evidence.readings
        ),
        environment={key: times["environment"][key] for key in ("date", "system", "machine", "python", "numpy")},
        write=sum(seconds for seconds, _ in took.values()),
        check=sum(seconds for _, seconds in took.values()),
    )


def _accepted(findings: Sequence[Finding]) -> int:
    return sum(finding.verdict is Verdict.PROVED for finding in findings)

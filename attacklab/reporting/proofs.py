"""The page of certificates, written from the record of what their checker said and the record of the times."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import jinja2

from attacklab.model.errors import UsageError
from attacklab.model.findings import Finding, Verdict, read_record
from attacklab.reporting.wording import claim_text

PROOFS = "proofs"
"""The folder of certificates in the reports."""

RECORD, TIMES = "checked/findings.json", "checked/times.json"
"""The records in that folder: what the checker said, which the sources determine, and what the machine took."""

PAGE = jinja2.Environment(autoescape=False, keep_trailing_newline=True).from_string(  # noqa: S701 - Markdown, ours
    """\
# Certificates

{{ proved | length }} of {{ findings | length }} certificates were accepted. Each link leads to a certificate, a JSON \
file with the mechanism as a term, its claim, which inputs are neighbours, and the SHA-256 of the tables that it draws \
noise from. A program that shares no code with the mechanisms, and imports none of it, derives the claim anew: \
`python checker/check.py reports/proofs/NAME.json`. What it says stands below, word for word; nothing else here is \
evidence. What that means, and what has to be trusted: \
[what a proof means](../../docs/explanations/what_a_proof_means.md). Written by `make prove`; not to be edited by hand.

| certificate | claim | what the checker says it shows | checked | bytes | write, s | check, s |
|---|---|---|---|---:|---:|---:|
{% for row in rows -%}
| [{{ row.name }}]({{ row.file }}) | {{ row.claim }} | {{ row.statement }} | {{ row.checked }} | \
{{ "{:,}".format(row.size) }} | {{ row.write }} | {{ row.check }} |
{% endfor %}
Written and checked on {{ environment.date }} on {{ environment.system }} {{ environment.machine }} with Python \
{{ environment.python }} and numpy {{ environment.numpy }}: {{ "%.0f" | format(write) }} s of writing and \
{{ "%.0f" | format(check) }} s of checking, two at a time. Another machine takes other times.

## What somebody has read

What the checker does not compute is that the lines of these files do what their docstrings say, for data of every \
size and type. A certificate is refused if one of them has changed since it was read.

| file | used by | what it is |
|---|---:|---|
{% for name, statement in lemmas.items() -%}
| {{ name }} | {{ uses[name] }} | {{ statement }} |
{% endfor %}
[All experiments](../index.md).
"""
)


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
    accepted = sum(finding.verdict is Verdict.PROVED for finding in findings)
    return (
        f"Certificates for every pair of neighbours that a separate program accepts: {accepted} of "
        f"{len(findings)} ([certificates]({PROOFS}/index.md))."
    )


def _rendered(record: dict[str, Any], times: dict[str, Any]) -> str:
    findings: list[Finding] = record["findings"]
    took = {entry["mechanism"]: entry for entry in times["times"]}
    uses = Counter(lemma for finding in findings if finding.certificate for lemma in finding.certificate.lemmas)
    return PAGE.render(
        findings=findings,
        proved=[finding for finding in findings if finding.verdict is Verdict.PROVED],
        rows=[_row(finding, took[finding.target]) for finding in findings],
        lemmas={name: _cell(statement) for name, statement in record["lemmas"].items()},
        uses=uses,
        environment={key: times["environment"][key] for key in ("date", "system", "machine", "python", "numpy")},
        write=sum(entry["write_seconds"] for entry in took.values()),
        check=sum(entry["check_seconds"] for entry in took.values()),
    )


def _row(finding: Finding, took: dict[str, Any]) -> dict[str, Any]:
    certificate = finding.certificate
    assert certificate is not None  # noqa: S101 - a record of certificates
    is_proved = finding.verdict is Verdict.PROVED
    return {
        "name": finding.target,
        "file": certificate.file,
        "claim": _cell(claim_text(finding)),
        "statement": _cell(certificate.statement if is_proved else f"**{finding.verdict}**: {finding.reason}"),
        "size": certificate.size,
        "write": f"{took['write_seconds']:.2f}",
        "check": f"{took['check_seconds']:.2f}",
        "checked": _cell(certificate.checked) or "nothing",
    }


def _cell(text: str) -> str:
    return text.replace("|", r"\|")

"""The page of certificates, written from the record of what their checker said and the record of the times."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

import jinja2

from attacklab.errors import UsageError
from attacklab.findings import Finding, Reach, Verdict, read_record
from attacklab.reporting.wording import claim_text

PROOFS = "proofs"
"""The folder of certificates in the reports."""

RECORD, TIMES = "checked/findings.json", "checked/times.json"
"""The records in that folder: what the checker said, which the sources determine, and what the machine took."""

PAGE = jinja2.Environment(autoescape=False, keep_trailing_newline=True).from_string(  # noqa: S701 - Markdown, ours
    """\
# Certificates

{{ proved | length }} of {{ findings | length }} certificates were accepted. Each link leads to a certificate, a JSON \
file that names the functions, their public parameters, the claim, the SHA-256 of every source file and the evidence. \
A program that shares no code with what wrote it reads it and drives the named functions: `python checker/check.py \
reports/proofs/NAME.json`. What it says stands below, word for word; nothing else here is evidence. "Every pair" and \
"any number" rest on reading the source where values, sizes or parameters go beyond those that were tried: \
[what was tried](../../docs/explanations/what_a_proof_means.md#what-was-tried) lists them, and the kinds of harmful \
edits of which an outside review had 34 of 113 accepted. Written by `make prove`; not to be edited by hand.

{% for group in groups -%}
| certificate | claim | scope | what the checker says it shows | bytes | write, s | check, s |
|---|---|---|---|---:|---:|---:|
{% for row in group -%}
| [{{ row.name }}]({{ row.file }}) | {{ row.claim }} | {{ row.scope }} | {{ row.statement }} | \
{{ "{:,}".format(row.size) }} | \
{{ row.write }} | {{ row.check }} |
{% endfor %}
{% endfor -%}
The statement says what neighbours are. Written and checked on {{ environment.date }} on \
{{ environment.system }} {{ environment.machine }} with Python \
{{ environment.python }} and numpy {{ environment.numpy }}: {{ "%.0f" | format(write) }} s of writing and \
{{ "%.0f" | format(check) }} s of checking, two at a time. Another machine takes other times.

## What is checked and what is trusted

{% for group in groups -%}
| certificate | checked | lemmas |
|---|---|---|
{% for row in group -%}
| {{ row.name }} | {{ row.checked }} | {{ row.lemmas }} |
{% endfor %}
{% endfor -%}
All of them trust Python's integers and rationals, and that doubles are rounded to nearest, which the checker probes. \
They say nothing of time, of memory, of the source of random bits or of Python itself. A lemma is what the checker \
does not compute:

{% for name, statement in lemmas.items() -%}
- **{{ name }}** (used by {{ uses[name] }}): {{ statement }}
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
    found = read_record(path)["findings"]
    findings = [one for one in found if one.scope is not None and one.scope.reach is Reach.NEIGHBOURS]
    accepted = sum(finding.verdict is Verdict.PROVED for finding in findings)
    return (
        f"Certificates for every pair of neighbours that a separate program accepts: {accepted} of "
        f"{len(findings)} ([certificates]({PROOFS}/index.md))."
    )


def _rendered(record: dict[str, Any], times: dict[str, Any]) -> str:
    findings: list[Finding] = record["findings"]
    took = {one["mechanism"]: one for one in times["times"]}
    uses = Counter(lemma for one in findings if one.certificate for lemma in one.certificate.lemmas)
    return PAGE.render(
        findings=findings,
        proved=[one for one in findings if one.verdict is Verdict.PROVED],
        groups=[
            [_row(finding, took[finding.target]) for finding in group]
            for _, group in groupby(findings, lambda finding: finding.target.partition("_")[0])
        ],
        lemmas=record["lemmas"],
        uses=uses,
        environment={key: times["environment"][key] for key in ("date", "system", "machine", "python", "numpy")},
        write=sum(one["write_seconds"] for one in took.values()),
        check=sum(one["check_seconds"] for one in took.values()),
    )


def _row(finding: Finding, took: dict[str, Any]) -> dict[str, Any]:
    certificate = finding.certificate
    assert certificate is not None  # noqa: S101 - a record of certificates
    is_proved = finding.verdict is Verdict.PROVED
    return {
        "name": finding.target,
        "file": certificate.file,
        "claim": _cell(claim_text(finding)),
        "scope": finding.scope.reach if finding.scope else "",
        "statement": _cell(certificate.statement if is_proved else f"**{finding.verdict}**: {finding.reason}"),
        "size": certificate.size,
        "write": f"{took['write_seconds']:.2f}",
        "check": f"{took['check_seconds']:.2f}",
        "checked": _cell(certificate.checked) or "nothing",
        "lemmas": ", ".join(certificate.lemmas) or "none",
    }


def _cell(text: str) -> str:
    return text.replace("|", r"\|")

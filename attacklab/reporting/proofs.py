"""The page of certificates, written from the record of their checker's verdicts and the record of the times."""

from collections import Counter
from pathlib import Path

from attacklab.model.errors import UsageError
from attacklab.model.findings import Certificate, Finding, Verdict, read_record
from attacklab.reporting.rendering import render
from attacklab.reporting.wording import claim_text

PROOFS = "proofs"
"""The folder of certificates in the reports."""

RECORD, TIMES = "checked/findings.json", "checked/times.json"
"""Records beside the certificates: the checker's verdicts, which the sources determine, and times on this machine."""


def proofs_page(reports: Path) -> tuple[str, str]:
    """Return the page, and the index's line that links to it; both are empty if there is no record of certificates.

    Raises:
        UsageError: a record cannot be read, or one of the two lacks what the page shows.
    """
    path, times_path = reports / PROOFS / RECORD, reports / PROOFS / TIMES
    if not path.is_file():
        return "", ""
    record, times = read_record(path), read_record(times_path)
    findings: list[Finding] = record["findings"]
    accepted = sum(finding.verdict is Verdict.PROVED for finding in findings)
    line = f"Certificates for every pair of neighbours that a separate program accepts: {accepted} of {len(findings)}"
    certificates = [finding.evidence for finding in findings if isinstance(finding.evidence, Certificate)]
    try:
        took = {entry["mechanism"]: (entry["write_seconds"], entry["check_seconds"]) for entry in times["times"]}
        page = render(
            "proofs.md",
            {"claim": claim_text},
            rows=[(finding, finding.evidence, *took[finding.target]) for finding in findings],
            accepted=accepted,
            lemmas=record["lemmas"],
            uses=Counter(name for certificate in certificates for name in certificate.readings),
            environment={key: times["environment"][key] for key in ("date", "system", "machine", "python", "numpy")},
            write=sum(seconds for seconds, _ in took.values()),
            check=sum(seconds for _, seconds in took.values()),
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise UsageError(f"{path} or {times_path} lacks {error}; run make prove again") from error
    return page, f"{line} ([certificates]({PROOFS}/index.md))."

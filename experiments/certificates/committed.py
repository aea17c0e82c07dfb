"""What the checker said of the certificates in the lab's own reports."""

from __future__ import annotations

from pathlib import Path

from attacklab.findings import Finding, read_record
from attacklab.reporting.proofs import PROOFS, RECORD

ROOT = Path(__file__).resolve().parents[2]


def committed() -> list[Finding]:
    """Return a finding for each certificate; none where none were written."""
    path = ROOT / "reports" / PROOFS / RECORD
    return list(read_record(path)["findings"]) if path.is_file() else []

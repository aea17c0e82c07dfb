"""The page of certificates says what the records say, and no more."""

from pathlib import Path
from typing import Any

from attacklab.model.claims import PrivacyClaim
from attacklab.model.files import write_whole
from attacklab.model.findings import CERTIFICATE, SCHEMA, Certificate, Finding, Reach, Scope, Verdict, to_text
from attacklab.reporting.experiment import measured_here
from attacklab.reporting.pages import write_index
from attacklab.reporting.proofs import PROOFS, RECORD, TIMES, proofs_page


def finding(name: str, verdict: Verdict = Verdict.PROVED, **said: Any) -> Finding:
    told = {"statement": "1-DP for every pair | of answers", "readings": ("grid", "table"), "checked": "9 cells"}
    return Finding(
        target=name,
        target_version="1",
        attack=CERTIFICATE,
        verdict=verdict,
        reason="a cell is missing",
        claim=PrivacyClaim(1.0),
        scope=Scope(Reach.NEIGHBOURS, neighbours="answers at most 1 apart"),
        evidence=Certificate(file=f"{name}.json", sha256="ab", size=12_345, **(said or told)),
    )


def write(reports: Path, *findings: Finding, **times: Any) -> None:
    lemmas = {"grid": "A grid of |n| points.", "table": "A sampler."}
    took = [{"mechanism": one.target, "write_seconds": 1.5, "check_seconds": 0.25} for one in findings]
    record = {"schema": SCHEMA, "findings": [one.to_json() for one in findings], "lemmas": lemmas}
    machine = {"schema": SCHEMA, "environment": measured_here(), "findings": [], "times": took, **times}
    write_whole(reports / PROOFS / RECORD, to_text(record))
    write_whole(reports / PROOFS / TIMES, to_text(machine))


def test_the_page_shows_each_certificate_its_statement_size_times_and_readings(tmp_path: Path) -> None:
    write(tmp_path, finding("one"), finding("two"))
    write_index(tmp_path)
    page = (tmp_path / PROOFS / "index.md").read_text("utf-8")
    assert "2 of 2 certificates were accepted." in page
    what = r"1-DP for every pair \| of answers | 9 cells"
    row = f"| [one](one.json) | ε = 1.0 | {what} | 12,345 | 1.50 | 0.25 |"
    assert row in page.splitlines()
    assert r"| grid | 2 | A grid of \|n\| points. |" in page.splitlines()
    assert ": 3 s of writing and 0 s of checking, two at a time." in page
    index = (tmp_path / "index.md").read_text("utf-8")
    assert "accepts: 2 of 2 ([certificates](proofs/index.md))." in " ".join(index.split())


def test_a_certificate_that_was_not_accepted_is_shown_as_such(tmp_path: Path) -> None:
    refused = finding("two", Verdict.INCONCLUSIVE, statement="", readings=(), checked="")
    write(tmp_path, finding("one"), refused)
    page, _ = proofs_page(tmp_path)
    assert "1 of 2 certificates were accepted." in page
    assert "| [two](two.json) | ε = 1.0 | **inconclusive**: a cell is missing | nothing | 12,345 |" in page
    assert r"| grid | 1 | A grid of \|n\| points. |" in page.splitlines()


def test_reports_without_certificates_have_no_such_page(tmp_path: Path) -> None:
    write_index(tmp_path)
    assert not (tmp_path / PROOFS).exists()
    assert "proofs" not in (tmp_path / "index.md").read_text("utf-8")

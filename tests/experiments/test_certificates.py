"""`make prove` writes certificates, the checker's word on each, and the pages; the committed ones are up to date."""

import hashlib
from pathlib import Path

import pytest

from attacklab.laws.proof.certificates import TABLES, require_same_claim, write_certificate
from attacklab.model.findings import Certificate, Finding, Verdict, read_record
from attacklab.model.targets import Target
from attacklab.reporting.proofs import PROOFS, RECORD, TIMES
from checker.forms import read
from experiments import certificates, targets
from experiments.certificates import NAMES, ROOT

pytestmark = pytest.mark.slow

COMMITTED = ROOT / "reports" / PROOFS
FEW = ("exact_discrete_laplace", "exact_randomized_response")
NAME = FEW[1]


def target(name: str) -> Target:
    made = getattr(targets, name)()
    assert isinstance(made, Target)
    return made


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("reports")
    (made / PROOFS / TABLES).mkdir(parents=True)
    for path in (made / PROOFS / "of_yesterday.json", made / PROOFS / TABLES / f"{'0' * 64}.json"):
        path.write_text("{}")
    done = certificates.write_all(made, FEW)
    assert [one.finding.verdict for one in done] == [Verdict.PROVED] * 2
    return made


def test_the_folder_holds_the_certificates_and_tables_that_were_written_and_no_others(reports: Path) -> None:
    assert sorted(path.stem for path in (reports / PROOFS).glob("*.json")) == sorted(FEW)
    named = {table["sha256"] for name in FEW for table in read(reports / PROOFS / f"{name}.json")["tables"]}
    assert {path.stem for path in (reports / PROOFS / TABLES).iterdir()} == named != set()


def test_what_the_checker_refuses_is_recorded_as_not_proved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    true = target(NAME)
    assert true.certificate is not None
    stronger = {"claim": {"is": "ApproximateDP", "epsilon": {"rational": "1/2"}, "delta": {"rational": "0"}}}
    false = true.certified(lambda: {**dict(true.certificate()), **stronger})  # type: ignore[misc] # it is there
    monkeypatch.setattr(targets, NAME, lambda: false)
    found = certificates.write_one(tmp_path, NAME).finding
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "not seen to keep 1/2-DP" in found.reason


def test_there_is_one_committed_certificate_for_each_exact_target() -> None:
    assert {path.stem for path in COMMITTED.glob("*.json")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_target_brings_a_certificate_of_what_it_claims_whose_bytes_are_committed(name: str, tmp_path: Path) -> None:
    made = target(name)
    assert made.certificate is not None
    stated = made.certificate()
    require_same_claim(made, stated)
    assert stated["name"] == name
    for path in (tmp_path / f"{name}.json", *write_certificate(stated, tmp_path / f"{name}.json")):
        assert path.read_bytes() == (COMMITTED / path.relative_to(tmp_path)).read_bytes()


def test_the_committed_record_says_of_each_committed_certificate_that_it_was_accepted() -> None:
    findings: list[Finding] = read_record(COMMITTED / RECORD)["findings"]
    assert [finding.target for finding in findings] == sorted(NAMES)
    for finding in findings:
        assert finding.verdict is Verdict.PROVED
        assert isinstance(finding.evidence, Certificate)
        content = (COMMITTED / f"{finding.target}.json").read_bytes()
        assert finding.evidence.size == len(content)
        assert finding.evidence.sha256 == hashlib.sha256(content).hexdigest()
    assert {one["mechanism"] for one in read_record(COMMITTED / TIMES)["times"]} == set(NAMES)

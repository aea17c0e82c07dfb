"""`make prove` writes certificates, the checker's word on each, and the pages; the committed ones are up to date."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from attacklab.laws.proof.certificates import TABLES, require_same_claim, write_certificate
from attacklab.model.claims import PrivacyClaim
from attacklab.model.errors import UsageError
from attacklab.model.findings import CERTIFICATE, EXACT_LAW, Finding, Verdict, read_record
from attacklab.model.targets import Target
from attacklab.reporting.experiment import load_experiments, replace_findings, shown_data
from attacklab.reporting.proofs import PROOFS, RECORD, TIMES
from checker.check import check
from checker.forms import read
from experiments import certificates, matrix, targets
from experiments.certificates import NAMES, ROOT

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


def test_the_record_says_what_the_checker_said_and_nothing_of_the_machine(reports: Path) -> None:
    record = json.loads((reports / PROOFS / RECORD).read_text("utf-8"))
    assert set(record) == {"schema", "findings", "lemmas"}
    finding = record["findings"][1]
    assert "seconds" not in finding
    assert finding["certificate"]["file"] == f"{NAME}.json"
    assert set(record["lemmas"]) == set(finding["certificate"]["lemmas"])
    assert record["lemmas"]["grid"].startswith("A public grid of doubles")
    for took in read_record(reports / PROOFS / TIMES)["times"]:
        assert 0 < took["check_seconds"] < certificates.SECONDS


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda made: replace(made, claim=PrivacyClaim(0.5)), "and the target claims ε = 0.5; claim what is proved"),
        (lambda made: replace(made, certificate=None), "has no certificate; make its target of a term"),
    ],
)
def test_a_certificate_that_does_not_state_the_claim_is_not_written(
    change: Any, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = change(target(NAME))
    monkeypatch.setattr(targets, NAME, lambda: changed)
    with pytest.raises(UsageError, match=said):
        certificates.write_one(tmp_path, NAME)
    assert not list(tmp_path.iterdir())


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


@pytest.mark.parametrize("name", FEW)
def test_a_committed_certificate_is_accepted(name: str) -> None:
    assert check(read(COMMITTED / f"{name}.json"), COMMITTED / TABLES).statement


def test_the_committed_record_says_of_each_committed_certificate_that_it_was_accepted() -> None:
    findings: list[Finding] = read_record(COMMITTED / RECORD)["findings"]
    assert [finding.target for finding in findings] == sorted(NAMES)
    for finding in findings:
        assert finding.verdict is Verdict.PROVED
        assert finding.certificate is not None
        content = (COMMITTED / f"{finding.target}.json").read_bytes()
        assert finding.certificate.size == len(content)
        assert finding.certificate.sha256 == hashlib.sha256(content).hexdigest()
    assert {one["mechanism"] for one in read_record(COMMITTED / TIMES)["times"]} == set(NAMES)


def test_the_committed_certificates_and_tables_are_small() -> None:
    assert sum(path.stat().st_size for path in COMMITTED.rglob("*.json")) < 6e6


def test_the_matrix_takes_over_certificates_and_keeps_all_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("data", "measured"):
        (tmp_path / folder).mkdir()
        shutil.copy(ROOT / "reports" / folder / "matrix.json", tmp_path / folder)
    drawn: list[str] = []
    monkeypatch.setattr("attacklab.reporting.plots.save", lambda figure, _: drawn.append(figure.name))
    experiment = load_experiments(ROOT)["matrix"]
    before = of(tmp_path)
    replace_findings(experiment, tmp_path, CERTIFICATE, [])
    without = of(tmp_path)
    assert not [one for one in without["findings"] if one["attack"] == CERTIFICATE]
    assert "0 of" in without["experiment"]["paragraph"]
    replace_findings(experiment, tmp_path, CERTIFICATE, [one for one in matrix.committed() if one.target == NAME])
    after = of(tmp_path)
    assert len([one for one in after["findings"] if one["attack"] == CERTIFICATE]) == 1
    kept = [[one for one in data["findings"] if one["attack"] != CERTIFICATE] for data in (before, without, after)]
    assert kept[0] == kept[1] == kept[2]
    assert any(one["attack"] == EXACT_LAW for one in kept[0])
    measured = json.loads((tmp_path / "measured" / "matrix.json").read_text("utf-8"))
    assert len(measured["finding_seconds"]) == len(after["findings"])
    assert drawn == ["matrix_naive", "matrix_exact"] * 2


def of(reports: Path) -> Mapping[str, Any]:
    return shown_data(reports / "data" / "matrix.json")

"""`make prove` writes certificates, the checker's word on each, and the pages."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from checker.lemmas import LEMMAS

from attacklab.certificates import Draft
from attacklab.claims import PrivacyClaim
from attacklab.errors import UsageError
from attacklab.findings import CERTIFICATE, EXACT_LAW, Verdict, read_record
from attacklab.reporting.experiment import load_experiments, replace_findings
from attacklab.reporting.proofs import PROOFS, RECORD, TIMES
from experiments.certificates import DRAFTS, writing
from experiments.certificates.committed import ROOT, committed

NAME = "exact_randomized_response"


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("reports")
    (made / PROOFS).mkdir()
    (made / PROOFS / "of_yesterday.json").write_text("{}")
    (done,) = writing.write_all(made, [NAME])
    assert done.finding.verdict is Verdict.PROVED
    return made


def test_the_folder_holds_the_certificates_that_were_written_and_no_others(reports: Path) -> None:
    assert [path.name for path in (reports / PROOFS).glob("*.json")] == [f"{NAME}.json"]
    assert (reports / PROOFS / f"{NAME}.json").read_bytes() == (ROOT / "reports" / PROOFS / f"{NAME}.json").read_bytes()


def test_the_record_says_what_the_checker_said_and_nothing_of_the_machine(reports: Path) -> None:
    record = json.loads((reports / PROOFS / RECORD).read_text("utf-8"))
    assert set(record) == {"schema", "findings", "lemmas"}
    (finding,) = record["findings"]
    assert "seconds" not in finding
    assert finding["certificate"]["file"] == f"{NAME}.json"
    assert record["lemmas"] == {name: LEMMAS[name] for name in LEMMAS if name in finding["certificate"]["lemmas"]}
    (took,) = read_record(reports / PROOFS / TIMES)["times"]
    assert 0 < took["check_seconds"] < writing.SECONDS


def false_claim() -> Draft:
    true = DRAFTS[NAME]()
    return Draft(true.theorem, true.functions, {**true.parameters, "epsilon": 2}, true.neighbours, true.claim)


def other_claim() -> Draft:
    true = DRAFTS[NAME]()
    return Draft(true.theorem, true.functions, true.parameters, true.neighbours, {"kind": "pure", "epsilon": "2"})


def test_what_the_checker_refuses_is_recorded_as_not_proved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "DRAFTS", {NAME: false_claim})
    found = writing.write_one(tmp_path, NAME).finding
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "change by e^2, more than e^1" in found.reason


@pytest.mark.ci
def test_a_certificate_that_is_of_no_target_has_the_scope_of_its_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "DRAFTS", {"small_laplace": DRAFTS["exact_discrete_laplace"]})
    found = writing.write_one(tmp_path, "small_laplace").finding
    assert (found.target, found.verdict, found.claim) == ("small_laplace", Verdict.PROVED, PrivacyClaim(1.0))
    assert str(found.scope) == "every pair among given inputs (answers at most the sensitivity apart)"


def test_a_certificate_at_other_parameters_than_the_targets_is_of_every_pair(tmp_path: Path) -> None:
    found = writing.write_one(tmp_path, "unlike_randomized_response").finding
    assert (found.verdict, found.claim) == (
        Verdict.PROVED,
        PrivacyClaim(math.nextafter(3 / 7, 1.0)),
    )  # the double above 3/7
    assert str(found.scope) == "every pair of neighbours (either answer)"


def test_a_draft_that_claims_less_than_its_target_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "DRAFTS", {NAME: other_claim})
    with pytest.raises(UsageError, match=r"claims .*'2'}, and the target ε = 1"):
        writing.write_one(tmp_path, NAME)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
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
    assert f"[{NAME}]" not in without["experiment"]["paragraph"]
    replace_findings(experiment, tmp_path, CERTIFICATE, [one for one in committed() if one.target == NAME])
    after = of(tmp_path)
    assert f"[{NAME}](proofs/{NAME}.json)" in after["experiment"]["paragraph"]
    kept = [[one for one in data["findings"] if one["attack"] != CERTIFICATE] for data in (before, without, after)]
    assert kept[0] == kept[1] == kept[2]
    assert any(one["attack"] == EXACT_LAW for one in kept[0])
    measured = json.loads((tmp_path / "measured" / "matrix.json").read_text("utf-8"))
    assert len(measured["finding_seconds"]) == len(after["findings"])
    assert drawn == ["matrix_naive", "matrix_exact"] * 2


def of(reports: Path) -> Mapping[str, Any]:
    data: dict[str, Any] = json.loads((reports / "data" / "matrix.json").read_text("utf-8"))
    return data

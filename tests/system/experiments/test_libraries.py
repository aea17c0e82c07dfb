"""The scoreboard of libraries: what is expected, what is withheld, and that the page says both."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attacklab import audit
from attacklab.auditing.attacks import Precision
from attacklab.libraries import library
from attacklab.model.findings import Finding, Verdict, environment, read_record
from attacklab.processes.targets import ProcessRelease
from attacklab.reporting.experiment import Settings, load_experiments, run_experiment
from attacklab.reporting.figures import Cell, Matrix
from experiments import libraries
from experiments.common import expected_failures
from experiments.common.expected_failures import ExpectedFailure, Status, expected, status
from tests.system.experiments.records import quick_record

ROOT = Path(__file__).parents[3]

ENTRY = {
    "library": "numpy",
    "mechanisms": ["laplace"],
    "attack": "precision",
    "reason": "known",
    "link": "https://example.org/known",
}


def _counted(*args: Any, seconds: float, **settings: Any) -> list[Finding]:
    """An audit of a number of trials, whatever the machine draws in a second."""
    del seconds
    return audit(*args, trials=20_000, **settings)


@pytest.fixture
def only_numpys_laplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[ExpectedFailure]:
    """A scoreboard of one mechanism under one attack, in an empty folder; the failures that are expected of it."""
    monkeypatch.chdir(tmp_path)
    (case,) = [one for one in libraries.audited_here() if one.spec == "numpy:laplace"]
    known: list[ExpectedFailure] = []
    monkeypatch.setattr(libraries, "audit", _counted)
    monkeypatch.setattr(libraries, "audited_here", lambda: [case])
    monkeypatch.setattr(libraries, "QUICK_ATTACKS", (Precision((0.0, 1.0)),))
    monkeypatch.setattr(libraries, "expected_failures", lambda: known)
    return known


def _collected_in(root: Path) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        cases = libraries.audited_here() + libraries.audited_in_environments(root)
        cases = [one for one in cases if one.spec in ("numpy:laplace", "pydp:laplace")]
        patch.setattr(libraries, "audit", _counted)
        patch.setattr(libraries, "audited_here", lambda: cases)
        patch.setattr(libraries, "QUICK_ATTACKS", (Precision((0.0, 1.0)),))
        return quick_record(libraries)


def test_what_this_interpreter_has_runs_in_a_process_of_its_own() -> None:
    (case,) = [one for one in libraries.audited_here() if one.spec == "numpy:laplace"]
    target = case.target()
    assert isinstance(target.release, ProcessRelease)
    assert target.release.pid != os.getpid()
    target.release.close()
    assert "--in-env" not in case.replay()


def failure(**changed: Any) -> ExpectedFailure:
    return ExpectedFailure(**{**ENTRY, "mechanisms": ("laplace",), **changed})


def test_the_expected_failures_name_mechanisms_and_attacks_that_there_are() -> None:
    known = expected_failures.expected_failures()
    assert expected(known, "diffprivlib", "0.6.6", "laplace", "precision")
    assert expected(known, "diffprivlib", "0.6.6", "snapping", "precision") is None
    assert expected(known, "opendp", "0.16.0", "laplace", "precision") is None


def test_a_failure_is_expected_of_the_versions_that_have_it() -> None:
    known = [failure(versions="<1.10")]
    assert expected(known, "numpy", "1.9", "laplace", "precision") == "https://example.org/known"
    assert expected(known, "numpy", "1.10", "laplace", "precision") is None


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"library": "nothing"}, "no library 'nothing'"),
        ({"mechanisms": ["laplacian"]}, "no mechanisms"),
        ({"mechanisms": []}, "no mechanisms"),
        ({"attack": "percussion"}, "no attack 'percussion'"),
        ({"reason": ""}, "needs a reason and a public link"),
        ({"link": "somewhere"}, "needs a reason and a public link"),
        ({"versions": "old"}, "Invalid specifier"),
        ({"since": 2012}, "since"),
    ],
)
def test_a_malformed_expected_failure_is_refused_with_the_name_of_its_file(
    tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    file = tmp_path / "expected.json"
    file.write_text(json.dumps([{**ENTRY, **changed}]))
    with pytest.raises(ValueError, match=message) as raised:
        expected_failures.expected_failures(file)
    assert str(file) in str(raised.value)


def test_a_verdict_is_compared_with_what_is_known() -> None:
    assert status(Verdict.VIOLATED, is_expected=True, too_few_trials=False) is Status.KNOWN
    assert status(Verdict.VIOLATED, is_expected=False, too_few_trials=False) is Status.NEW
    assert status(Verdict.NOT_DETECTED, is_expected=True, too_few_trials=False) is Status.PASSES
    assert status(Verdict.NOT_DETECTED, is_expected=True, too_few_trials=True) is Status.UNDECIDED
    assert status(Verdict.INCONCLUSIVE, is_expected=True, too_few_trials=False) is Status.UNDECIDED
    assert status(Verdict.ERROR, is_expected=True, too_few_trials=False) is Status.UNDECIDED
    assert status(Verdict.NOT_DETECTED, is_expected=False, too_few_trials=False) is Status.NOTHING


def test_a_known_flaw_is_published_with_its_link(only_numpys_laplace: list[ExpectedFailure]) -> None:
    only_numpys_laplace.append(failure())
    data = quick_record(libraries)
    (row,) = data["timings"]["rows"]
    assert (row["verdict"], row["status"], row["version"]) == ("violated", "known flaw", f"numpy {np.__version__}")
    assert row["epsilon_lower"] > libraries.EPSILON
    head, cells = libraries.timing_table(data)
    told = dict(zip(head, cells, strict=True))
    assert (told["status"], told["reported at"]) == ("known flaw", "https://example.org/known")
    assert told["measured"] == datetime.now(UTC).date().isoformat()
    assert "NEW FAILURES" not in libraries.explain_timings(data)
    assert not libraries.UNPUBLISHED.exists()


@pytest.mark.usefixtures("only_numpys_laplace")
def test_a_flaw_that_is_not_known_is_withheld_and_told_loudly() -> None:
    with pytest.warns(UserWarning, match=r"NEW FAILURES, withheld until the maintainers know of them: 1, in .*\.md"):
        data = quick_record(libraries)
    assert data["findings"] == []
    assert data["timings"]["rows"] == []
    assert libraries.timing_figures(data) == []
    assert "withheld" not in json.dumps(data) + libraries.explain_timings(data)
    assert len(libraries.timing_table(data)) == 1
    (finding,) = read_record(libraries.UNPUBLISHED / "libraries.json")["findings"]
    assert finding.verdict is Verdict.VIOLATED
    advisory = (libraries.UNPUBLISHED / "libraries.md").read_text()
    assert "numpy:laplace" in advisory
    assert "attacklab audit numpy:laplace --epsilon 1 --attack precision" in advisory


@pytest.mark.parametrize("known", [True, False])
def test_of_a_refuted_mechanism_only_what_is_known_is_listed(
    known: bool, only_numpys_laplace: list[ExpectedFailure], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a page without a row is the same whether that attack was silent or its finding is withheld."""
    silent = Precision((1000.0, 1001.0), name="low_bit_laplace")  # these answers leave out nothing
    monkeypatch.setattr(libraries, "QUICK_ATTACKS", (Precision((0.0, 1.0)), silent))
    if known:
        only_numpys_laplace.append(failure())
        assert [row["attack"] for row in quick_record(libraries)["timings"]["rows"]] == ["precision"]
    else:
        with pytest.warns(UserWarning, match="NEW FAILURES"):
            assert quick_record(libraries)["timings"]["rows"] == []


def test_an_expected_failure_that_passes_is_told_as_loudly(
    only_numpys_laplace: list[ExpectedFailure], monkeypatch: pytest.MonkeyPatch
) -> None:
    only_numpys_laplace.append(failure())
    monkeypatch.setattr(libraries, "QUICK_ATTACKS", (Precision((1000.0, 1001.0)),))  # these answers leave out nothing
    data = quick_record(libraries)
    assert data["timings"]["rows"][0]["status"] == "UNEXPECTED PASS"
    assert f"UNEXPECTED PASSES: laplace of numpy {np.__version__} under precision" in libraries.explain_timings(data)


def test_the_samplers_of_this_interpreter_and_what_is_built_are_audited(tmp_path: Path) -> None:
    assert {one.library.name for one in libraries.audited_here()} == {"numpy", "scipy"}
    (tmp_path / "environments").mkdir()
    (tmp_path / "environments" / "opendp-0.16.0.txt").touch()
    assert libraries.audited_in_environments(tmp_path) == []
    ready = tmp_path / ".environments" / "opendp-0.16.0" / ".ready"
    ready.parent.mkdir(parents=True)
    ready.touch()
    (tmp_path / "environments" / "opendp-0.4.0.txt").touch()
    older = tmp_path / ".environments" / "opendp-0.4.0" / ".ready"
    older.parent.mkdir()
    older.touch()
    first, *added = libraries.audited_in_environments(tmp_path)
    assert (first.mechanism, first.environment) == ("laplace", "opendp-0.4.0")
    assert {one.python for one in added} == {str(ready.parent / "bin" / "python")}
    assert added[0].replay() == "opendp:laplace --epsilon 1 --in-env opendp-0.16.0"


def test_what_is_not_built_is_named_on_the_page(only_numpys_laplace: list[ExpectedFailure]) -> None:
    only_numpys_laplace.append(failure())
    Path("environments").mkdir()
    Path("environments/opendp-0.16.0.txt").touch()
    page = libraries.explain_timings(quick_record(libraries))
    assert "opendp-0.16.0 (`make .environments/opendp-0.16.0/.ready`)" in page


def test_an_environment_that_is_broken_is_told_of_and_hides_no_other(tmp_path: Path) -> None:
    (tmp_path / "environments").mkdir()
    (tmp_path / "environments" / "pydp-1.0.txt").touch()
    broken = tmp_path / ".environments" / "pydp-1.0"
    broken.mkdir(parents=True)
    (broken / ".ready").touch()
    data = _collected_in(tmp_path)
    assert [row["mechanism"] for row in data["timings"]["rows"]] == ["laplace"]
    assert "**Could not be loaded**: pydp:laplace in pydp-1.0: there is no program" in libraries.explain_timings(data)


def test_the_figure_shows_the_gravest_verdict_and_the_most_that_is_proved_of_each_mechanism(
    only_numpys_laplace: list[ExpectedFailure],
) -> None:
    only_numpys_laplace.append(failure())
    data = quick_record(libraries)
    (row,) = data["timings"]["rows"]
    weaker = {**row, "attack": "weaker", "epsilon_lower": 0.59, "verdict": "not detected"}
    undecided = {**row, "attack": "undecided", "epsilon_lower": 0.9, "verdict": "inconclusive"}
    data["timings"]["rows"] = [
        {**weaker, "epsilon_lower": 20.0},
        {**row, "epsilon_lower": 1.5},
        {**row, "epsilon_lower": 6.28},
        {**weaker, "mechanism": "gaussian"},
        {**undecided, "mechanism": "gaussian"},
        {**undecided, "version": "other 1", "mechanism": "laplace_legacy"},
    ]
    (figure,) = libraries.timing_figures(data)
    (matrix,) = figure.panels
    assert isinstance(matrix, Matrix)
    assert matrix.column_names == [row["version"], "other 1"]
    assert matrix.row_names == ["laplace", "laplace_legacy", "gaussian"]
    empty = Cell(verdict=Verdict.NOT_APPLICABLE)
    assert matrix.cells == [
        [Cell(verdict=Verdict.VIOLATED, text="6.2"), empty],
        [empty, Cell(verdict=Verdict.INCONCLUSIVE)],
        [Cell(verdict=Verdict.INCONCLUSIVE), empty],
    ]


# What was measured elsewhere

ELSEWHERE = {"date": "2025-05-06", **environment(), "machine": "riscv64", "python": "3.12.1"}
KNOWN_ELSEWHERE = failure(library="opendp", link="https://example.org/opendp")


def measured_elsewhere(folder: Path, *attacks: str) -> list[Finding]:
    """A record in the reports with numpy's Laplace, measured here, as if it were OpenDP's, measured elsewhere.

    Returns:
        Its findings.
    """
    Path("environments").mkdir(exist_ok=True)
    Path("environments/opendp-0.4.0.txt").touch()
    written = folder / "measured" / "libraries.json"
    run_experiment(load_experiments(ROOT)["libraries"], Settings(share=0), folder)
    data = json.loads(written.read_text("utf-8"))
    rows, findings = data["timings"]["rows"], data["findings"]
    assert rows
    assert findings
    named = {"library": "opendp", "version": "opendp 0.4.0", "environment": "opendp-0.4.0", "measured": ELSEWHERE}
    data["timings"]["rows"] = [
        {**row, **named, "attack": attack, "link": KNOWN_ELSEWHERE.link} for row in rows for attack in attacks
    ]
    data["findings"] = [
        {**finding, "target": "opendp:laplace", "target_version": "opendp 0.4.0", "attack": attack}
        for attack in attacks
        for finding in findings
    ]
    written.write_text(json.dumps(data), "utf-8")
    return [Finding.from_json(finding) for finding in data["findings"]]


def run_again(folder: Path) -> dict[str, Any]:
    """What a run into the same reports writes."""
    run_experiment(load_experiments(ROOT)["libraries"], Settings(share=0), folder)
    written: dict[str, Any] = json.loads((folder / "measured" / "libraries.json").read_text("utf-8"))
    return written


def of_opendp(data: dict[str, Any]) -> str:
    """The rows and findings of OpenDP as text."""
    rows = [row for row in data["timings"]["rows"] if row["library"] == "opendp"]
    return json.dumps([rows, [one for one in data["findings"] if one["target"] == "opendp:laplace"]])


def test_what_no_environment_is_built_for_stays_byte_for_byte_and_is_told_of(
    only_numpys_laplace: list[ExpectedFailure], tmp_path: Path
) -> None:
    only_numpys_laplace += [failure(), KNOWN_ELSEWHERE]
    findings = measured_elsewhere(tmp_path, "precision")
    before = json.loads((tmp_path / "measured" / "libraries.json").read_text("utf-8"))
    after = run_again(tmp_path)
    assert of_opendp(after) == of_opendp(before)
    assert len(findings) == len([one for one in after["findings"] if one["target"] == "opendp:laplace"]) > 0
    here, kept = after["timings"]["rows"]
    assert (here["version"], here["measured"]["machine"]) == (f"numpy {np.__version__}", environment()["machine"])
    assert kept["measured"] == ELSEWHERE
    said = after["experiment"]["paragraph"]
    assert "Not measured in this run, but earlier, when and where the table says: opendp-0.4.0." in said
    assert "| 2025-05-06 | linux riscv64, Python 3.12.1 |" in said
    assert "Not audited" not in said
    assert ["2025-05-06", "linux riscv64, Python 3.12.1"] in [row[-2:] for row in after["experiment"]["table"]]


def test_the_committed_scoreboard_stays_where_no_environment_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a fresh clone; the rows of this interpreter are left out, which every run measures anew."""
    monkeypatch.setattr(libraries, "audited_here", list)
    monkeypatch.setattr(libraries, "audited_in_environments", lambda _root: [])
    monkeypatch.chdir(ROOT)
    committed = ROOT / "reports" / "measured" / "libraries.json"
    previous = read_record(committed)
    collected = libraries.collect(Settings(previous=previous))
    data = json.loads(committed.read_text("utf-8"))
    rows = [row for row in data["timings"]["rows"] if row["environment"]]
    assert len(rows) > 100
    assert json.dumps(collected.timings["rows"]) == json.dumps(rows)
    mine = {row["version"] for row in data["timings"]["rows"] if not row["environment"]}
    assert list(collected.timed_findings) == [one for one in previous["findings"] if one.target_version not in mine]


def test_what_is_measured_here_replaces_what_was_measured_before(
    only_numpys_laplace: list[ExpectedFailure], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_numpys_laplace += [failure(), KNOWN_ELSEWHERE]
    measured_elsewhere(tmp_path, "precision")
    (case,) = libraries.audited_here()
    built = replace(case, environment="opendp-0.4.0", library=library("opendp"))

    def findings(audited: libraries.Audited, *_: Any) -> list[Finding]:
        version = "opendp 0.4.0" if audited is built else f"numpy {np.__version__}"
        previous = read_record(tmp_path / "measured" / "libraries.json")["findings"]
        return [replace(one, target=audited.spec, target_version=version, trials=77) for one in previous[:1]]

    monkeypatch.setattr(libraries, "audited_here", lambda: [case, built])
    monkeypatch.setattr(libraries, "_findings", findings)
    after = run_again(tmp_path)
    assert [(row["library"], row["trials"]) for row in after["timings"]["rows"]] == [("numpy", 77), ("opendp", 77)]
    assert "2025-05-06" not in json.dumps(after)
    assert after["timings"]["kept"] == []


def test_what_was_measured_elsewhere_is_withheld_once_its_flaw_is_not_listed_as_public(
    only_numpys_laplace: list[ExpectedFailure], tmp_path: Path
) -> None:
    """Its other findings go too, as they do for a refuted mechanism that is measured here."""
    only_numpys_laplace += [failure(), KNOWN_ELSEWHERE]
    measured_elsewhere(tmp_path, "precision", "low_bit_laplace")
    with pytest.warns(UserWarning, match=r"NEW FAILURES, withheld until the maintainers know of them: 1, in .*\.md"):
        after = run_again(tmp_path)
    assert [row["attack"] for row in after["timings"]["rows"] if row["library"] == "opendp"] == ["precision"]
    withheld = read_record(libraries.UNPUBLISHED / "libraries.json")["findings"]
    assert {(one.target, one.attack) for one in withheld} == {("opendp:laplace", "low_bit_laplace")}
    assert not [one for one in after["findings"] if one["attack"] == "low_bit_laplace"]
    only_numpys_laplace.remove(KNOWN_ELSEWHERE)
    with pytest.warns(UserWarning, match="NEW FAILURES"):
        nothing = run_again(tmp_path)
    assert "Not audited: opendp-0.4.0 (" in nothing["experiment"]["paragraph"]
    assert "low_bit_laplace" not in json.dumps(nothing)
    assert of_opendp(nothing) == "[[], []]"


def test_what_an_earlier_run_withheld_is_not_lost_by_a_run_that_cannot_measure_it(
    only_numpys_laplace: list[ExpectedFailure], tmp_path: Path
) -> None:
    only_numpys_laplace.append(failure())
    (finding, *_) = measured_elsewhere(tmp_path, "precision")
    with pytest.warns(UserWarning, match=": 1, in "):
        run_again(tmp_path)
    only_numpys_laplace.clear()
    with pytest.warns(UserWarning, match=": 2, in "):
        run_again(tmp_path)
    withheld = read_record(libraries.UNPUBLISHED / "libraries.json")["findings"]
    assert {one.target for one in withheld} == {"numpy:laplace", finding.target}


def test_rows_of_an_environment_that_nothing_describes_any_more_are_dropped(
    only_numpys_laplace: list[ExpectedFailure], tmp_path: Path
) -> None:
    only_numpys_laplace += [failure(), KNOWN_ELSEWHERE]
    measured_elsewhere(tmp_path, "precision")
    Path("environments/opendp-0.4.0.txt").unlink()
    assert of_opendp(run_again(tmp_path)) == "[[], []]"


def test_an_environment_that_is_broken_keeps_what_was_measured_in_it(
    only_numpys_laplace: list[ExpectedFailure], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_numpys_laplace += [failure(), KNOWN_ELSEWHERE]
    measured_elsewhere(tmp_path, "precision")
    before = json.loads((tmp_path / "measured" / "libraries.json").read_text("utf-8"))
    (case,) = libraries.audited_here()
    broken = replace(case, library=library("opendp"), environment="opendp-0.4.0", python=str(tmp_path / "no-python"))
    monkeypatch.setattr(libraries, "audited_here", lambda: [case, broken])
    after = run_again(tmp_path)
    assert of_opendp(after) == of_opendp(before)
    assert "**Could not be loaded**: opendp:laplace in opendp-0.4.0" in after["experiment"]["paragraph"]

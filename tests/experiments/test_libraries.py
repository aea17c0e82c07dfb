"""The scoreboard of libraries: what is expected, what is withheld, and that the page says both."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attacklab.attacks import Precision
from attacklab.findings import Verdict, read_record
from attacklab.isolation.targets import ProcessRelease
from attacklab.reporting.figures import Cell, Matrix
from experiments import expected_failures, libraries
from experiments.expected_failures import ExpectedFailure, Status, expected, status
from tests.experiments.records import quick_record

ENTRY = {
    "library": "numpy",
    "mechanisms": ["laplace"],
    "attack": "precision",
    "reason": "known",
    "link": "https://example.org/known",
}


@pytest.fixture
def only_numpys_laplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[ExpectedFailure]:
    """A scoreboard of one mechanism under one attack, in an empty folder; the failures that are expected of it."""
    monkeypatch.chdir(tmp_path)
    (case,) = [one for one in libraries.audited_here() if one.spec == "numpy:laplace"]
    known: list[ExpectedFailure] = []
    monkeypatch.setattr(libraries, "audited_here", lambda: [case])
    monkeypatch.setattr(libraries, "QUICK_ATTACKS", (Precision((0.0, 1.0)),))
    monkeypatch.setattr(libraries, "expected_failures", lambda: known)
    return known


def _collected_in(root: Path) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        cases = libraries.audited_here() + libraries.audited_in_environments(root)
        cases = [one for one in cases if one.spec in ("numpy:laplace", "pydp:laplace")]
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
    (row,) = data["measured"]["rows"]
    assert (row["verdict"], row["status"], row["version"]) == ("violated", "known flaw", f"numpy {np.__version__}")
    assert row["epsilon_lower"] > 5
    page = libraries.explain(data)
    assert "[known flaw](https://example.org/known)" in page
    assert "NEW FAILURES" not in page
    assert not libraries.UNPUBLISHED.exists()


@pytest.mark.usefixtures("only_numpys_laplace")
def test_a_flaw_that_is_not_known_is_withheld_and_told_loudly() -> None:
    with pytest.warns(UserWarning, match=r"NEW FAILURES, withheld until the maintainers know of them: 1, in .*\.md"):
        data = quick_record(libraries)
    assert data["findings"] == []
    assert data["measured"]["rows"] == []
    assert libraries.figures(data) == []
    assert "withheld" not in json.dumps(data) + libraries.explain(data)
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
        assert [row["attack"] for row in quick_record(libraries)["measured"]["rows"]] == ["precision"]
    else:
        with pytest.warns(UserWarning, match="NEW FAILURES"):
            assert quick_record(libraries)["measured"]["rows"] == []


def test_an_expected_failure_that_passes_is_told_as_loudly(
    only_numpys_laplace: list[ExpectedFailure], monkeypatch: pytest.MonkeyPatch
) -> None:
    only_numpys_laplace.append(failure())
    monkeypatch.setattr(libraries, "QUICK_ATTACKS", (Precision((1000.0, 1001.0)),))  # these answers leave out nothing
    data = quick_record(libraries)
    assert data["measured"]["rows"][0]["status"] == "UNEXPECTED PASS"
    assert f"UNEXPECTED PASSES: laplace of numpy {np.__version__} under precision" in libraries.explain(data)


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
    page = libraries.explain(quick_record(libraries))
    assert "opendp-0.16.0 (`make .environments/opendp-0.16.0/.ready`)" in page


def test_an_environment_that_is_broken_is_told_of_and_hides_no_other(tmp_path: Path) -> None:
    (tmp_path / "environments").mkdir()
    (tmp_path / "environments" / "pydp-1.0.txt").touch()
    broken = tmp_path / ".environments" / "pydp-1.0"
    broken.mkdir(parents=True)
    (broken / ".ready").touch()
    data = _collected_in(tmp_path)
    assert [row["mechanism"] for row in data["measured"]["rows"]] == ["laplace"]
    assert "**Could not be loaded**: pydp:laplace in pydp-1.0: there is no program" in libraries.explain(data)


def test_the_figure_shows_the_gravest_verdict_and_the_most_that_is_proved_of_each_mechanism(
    only_numpys_laplace: list[ExpectedFailure],
) -> None:
    only_numpys_laplace.append(failure())
    data = quick_record(libraries)
    (row,) = data["measured"]["rows"]
    weaker = {**row, "attack": "weaker", "epsilon_lower": 0.59, "verdict": "not detected"}
    undecided = {**row, "attack": "undecided", "epsilon_lower": 0.9, "verdict": "inconclusive"}
    data["measured"]["rows"] = [
        {**weaker, "epsilon_lower": 20.0},
        {**row, "epsilon_lower": 1.5},
        {**row, "epsilon_lower": 6.28},
        {**weaker, "mechanism": "gaussian"},
        {**undecided, "mechanism": "gaussian"},
        {**undecided, "version": "other 1", "mechanism": "laplace_legacy"},
    ]
    (figure,) = libraries.figures(data)
    (matrix,) = figure.panels
    assert isinstance(matrix, Matrix)
    assert matrix.column_names == [row["version"], "other 1"]
    assert matrix.row_names == ["laplace", "laplace_legacy", "gaussian"]
    empty = Cell(verdict=Verdict.NOT_APPLICABLE)
    assert matrix.cells == [
        [Cell(verdict=Verdict.VIOLATED, text="6.2"), empty],
        [empty, Cell(verdict=Verdict.INCONCLUSIVE)],
        [Cell(verdict=Verdict.NOT_DETECTED, text="0.5"), empty],
    ]

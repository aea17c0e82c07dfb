"""The scoreboard of libraries: what is expected, what is withheld, and what stays of earlier runs."""

from pathlib import Path
from typing import Any

import pytest

from attacklab import audit
from attacklab.attacks import Precision
from attacklab.model.findings import Finding, Verdict, read_record
from experiments import libraries
from experiments.common.expected_failures import ExpectedFailure, Status, expected, expected_failures, status
from tests.experiments.records import quick_record

pytestmark = pytest.mark.slow

KNOWN = ExpectedFailure("numpy", ("laplace",), "precision", "known", "https://example.org/known")


def _counted(*args: Any, seconds: float, **settings: Any) -> list[Finding]:
    """An audit of a number of trials, whatever the machine draws in a second."""
    del seconds
    return audit(*args, trials=20_000, **settings)


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[ExpectedFailure]:
    """The failures that are expected of numpy's Laplace, which alone is audited, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    (case,) = [case for case in libraries.all_cases(tmp_path) if case.spec == "numpy:laplace"]
    failures: list[ExpectedFailure] = []
    monkeypatch.setattr(libraries, "audit", _counted)
    monkeypatch.setattr(libraries, "all_cases", lambda *_, **__: [case, case._replace(python="/nowhere/python")])
    monkeypatch.setattr(libraries, "QUICK_ATTACKS", (Precision((0.0, 1.0)), Precision(name="low_bit_laplace")))
    monkeypatch.setattr(libraries, "expected_failures", lambda: failures)
    return failures


def test_only_known_flaws_of_a_refuted_mechanism_are_published(known: list[ExpectedFailure]) -> None:
    with pytest.warns(UserWarning, match="NEW FAILURE, withheld"):
        data = quick_record(libraries)
    assert (data["findings"], data["timings"]["rows"], libraries.timing_figures(data)) == ([], [], [])
    withheld = [finding for file in libraries.UNPUBLISHED.iterdir() for finding in read_record(file)["findings"]]
    assert Verdict.VIOLATED in {finding.verdict for finding in withheld}
    known.append(KNOWN)
    with pytest.warns(UserWarning, match=r"laplace low_bit_laplace\.json"):
        data = quick_record(libraries)
    (row,) = data["timings"]["rows"]
    wanted = ["precision", "violated", "known flaw", KNOWN.link]
    assert [row[field] for field in ("attack", "verdict", "status", "link")] == wanted
    assert libraries.timing_figures(data)[0].panels[0].cells[0][0].verdict is Verdict.VIOLATED
    said = libraries.explain_timings(data)
    assert "found 1 known flaws again" in " ".join(said.split())
    assert "**Could not be loaded**: numpy:laplace in None: there is no program" in said


def test_a_verdict_is_compared_with_what_is_known() -> None:
    flaws = expected_failures()
    assert expected(flaws, "diffprivlib", "0.6.6", "laplace", "precision")
    assert expected(flaws, "opendp", "0.16.0", "laplace", "precision") is None
    for verdict, is_expected, few, wanted in (
        (Verdict.VIOLATED, True, False, Status.KNOWN),
        (Verdict.VIOLATED, False, False, Status.NEW),
        (Verdict.NOT_DETECTED, True, False, Status.PASSES),
        (Verdict.NOT_DETECTED, True, True, Status.UNDECIDED),
        (Verdict.NOT_DETECTED, False, False, Status.NOTHING),
    ):
        assert status(verdict, is_expected=is_expected, too_few_trials=few) is wanted
    with pytest.raises(ValueError, match="no mechanisms"):
        ExpectedFailure("numpy", ("laplacian",), "precision", "known", KNOWN.link)

"""The matrix of attacks and targets: what its record holds, and that figures and paragraph say no more than that."""

from typing import Any

import pytest

from attacklab.model.findings import EXACT_LAW, Estimate, Finding, Samples, Verdict
from attacklab.reporting.figures import Cell, Matrix
from experiments import matrix, targets
from tests.experiments.records import Data, committed_record, quick_record

pytestmark = pytest.mark.slow

Cells = dict[tuple[str, str], Cell]

UNSEEN = {*targets.TOO_RARE}


@pytest.fixture(scope="module")
def data() -> Data:
    """What a full run found."""
    return committed_record("matrix")


@pytest.fixture(scope="module")
def cells(data: Data) -> Cells:
    shown: Cells = {}
    for figure in matrix.figures(data):
        (panel,) = figure.panels
        assert isinstance(panel, Matrix)
        for row, name in enumerate(panel.row_names):
            for column, attack in enumerate(panel.column_names):
                shown[name, attack] = panel.cells[row][column]
    return shown


def test_every_target_has_a_row_and_every_attack_that_ran_and_the_law_a_column(cells: Cells, data: Data) -> None:
    rows, columns = ({key[side] for key in cells} for side in (0, 1))
    assert rows == set(matrix.NAMES)
    assert columns == {name.replace("_", " ") for name in data["measured"]["attacks"]} | {"exact law", "proved"}
    assert len(cells) == len(rows) * len(columns)


def test_a_quick_run_refutes_the_naive_coin_by_its_law_and_finds_nothing_of_the_exact_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A false alarm has probability at most 1e-6, and the seed is fixed."""
    names = ("naive_randomized_response", "exact_randomized_response")
    monkeypatch.setattr(matrix, "NAMES", names)
    findings = quick_record(matrix)["findings"]
    assert {row["target"] for row in findings} == set(names)
    assert {(row["target"], row["attack"]) for row in findings if row["verdict"] == "violated"} == {
        (names[0], EXACT_LAW)
    }


def test_no_exact_target_is_refuted_by_anything(cells: Cells) -> None:
    """In all runs together a false alarm has probability at most 1e-6, and the seed is fixed."""
    refuted = [key for key, cell in cells.items() if key[0].startswith("exact") and cell.verdict is Verdict.VIOLATED]
    assert refuted == []


def refuted_by(cells: Cells, *ignored: str) -> set[str]:
    """The targets with a red cell in any column but these."""
    return {row for (row, column), cell in cells.items() if cell.verdict is Verdict.VIOLATED and column not in ignored}


def test_every_naive_target_has_a_red_cell_and_no_target_an_error(data: Data, cells: Cells) -> None:
    assert Verdict.ERROR not in {cell.verdict for cell in cells.values()}
    assert refuted_by(cells) == {name for name in matrix.NAMES if name.startswith("naive")} - UNSEEN
    paragraph = " ".join(matrix.explain(data).split())
    assert f"| not refuted | {', '.join(name for name in matrix.NAMES if name in UNSEEN)} |" in paragraph
    assert not {"{", "}", "nan"} & set(paragraph)


def finding(verdict: Verdict, **rest: Any) -> Finding:
    claim = targets.exact_exponential(1.0).claim
    return Finding(target="t", target_version="1", attack="a", verdict=verdict, reason="", claim=claim, **rest)


def test_a_cell_shows_the_gravest_verdict() -> None:
    missed = [finding(Verdict.NOT_DETECTED, evidence=Samples(smallest_detectable=power)) for power in (0.25, 0.5)]
    assert matrix.cell([]) == matrix.NOT_RUN
    assert matrix.cell([finding(Verdict.NOT_APPLICABLE)]) == matrix.NOTHING_TO_RUN
    assert matrix.cell(missed) == Cell(verdict=Verdict.NOT_DETECTED, text="0.50")
    assert matrix.cell([*missed, finding(Verdict.ERROR)]).verdict is Verdict.ERROR
    assert matrix.cell([finding(Verdict.INCONCLUSIVE)]).verdict is Verdict.INCONCLUSIVE
    breach = finding(Verdict.VIOLATED, evidence=Samples(advantage=Estimate(-0.9, -1.0, -0.8)))
    assert matrix.cell([*missed, finding(Verdict.ERROR), breach]) == Cell(verdict=Verdict.VIOLATED, text="0.90")

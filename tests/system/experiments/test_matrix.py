"""The matrix of attacks and targets: what its record holds, and that figures and paragraph say no more than that."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from attacklab.laws import LawError
from attacklab.model.findings import CERTIFICATE, EXACT_LAW, Estimate, Finding, Reach, Scope, Verdict
from attacklab.reporting.experiment import Settings
from attacklab.reporting.figures import Cell, Matrix
from experiments import matrix, targets
from experiments.common import laws_of_targets
from tests.system.experiments.records import Data, committed_record, quick_record
from tests.unit.attacklab.test_findings import BARE

Cells = dict[tuple[str, str], Cell]


FLAWS = [
    ("naive_exponential", "zero rounding"),
    ("naive_exponential_stabilised", "exact law"),
    ("naive_exponential_bfloat16", "truncated addition"),
    ("naive_local_sensitivity_mean", "local sensitivity"),
    ("naive_laplace_numpy", "low bit laplace"),
    ("naive_laplace_numpy", "integer cast"),
    ("naive_gaussian_polar", "low bit gaussian"),
    ("naive_histogram", "generator state"),
    ("naive_age_sum_int16", "sum sensitivity"),
    ("naive_ptr_mean", "missing clip"),
    ("naive_randomized_response", "exact law"),
    ("naive_smooth_mean", "failing size"),
]
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


def test_every_target_of_the_lab_has_a_row() -> None:
    assert set(matrix.NAMES) == set(targets.__all__)


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


def test_a_cell_that_was_not_run_differs_from_one_that_does_not_apply_and_what_ran_has_a_column(data: Data) -> None:
    """Whatever the code has by now: rows, columns and numbers are those of the record."""
    measured = {
        **data["measured"],
        "attacks": [*data["measured"]["attacks"], "older"],
        "targets": [*data["measured"]["targets"], "naive_older"],
    }
    naive, _ = matrix.figures({**data, "measured": measured})
    (panel,) = naive.panels
    assert isinstance(panel, Matrix)
    assert "older" in panel.column_names
    assert {row[panel.column_names.index("older")] for row in panel.cells} == {matrix.NOT_RUN}
    older = dict(zip(panel.column_names, panel.cells[panel.row_names.index("naive_older")], strict=True))
    assert older.pop("proved") == matrix.NOTHING_TO_RUN != matrix.NOT_RUN
    assert set(older.values()) == {matrix.NOT_RUN}
    shorter = {
        **data["measured"],
        "attacks": data["measured"]["attacks"][1:],
        "targets": data["measured"]["targets"][:2],
    }
    paragraph = matrix.explain({**data, "measured": shorter, "findings": []})
    assert paragraph.startswith(f"{len(shorter['attacks'])} attacks were run against 2 naive and 0 exact targets")


def test_no_exact_target_is_refuted_by_anything(cells: Cells) -> None:
    """In all runs together a false alarm has probability at most 1e-6, and the seed is fixed."""
    refuted = [key for key, cell in cells.items() if key[0].startswith("exact") and cell.verdict is Verdict.VIOLATED]
    assert refuted == []


def test_known_flaws_are_red(cells: Cells) -> None:
    assert [flaw for flaw in FLAWS if cells[flaw].verdict is not Verdict.VIOLATED] == []


def refuted_by(cells: Cells, *ignored: str) -> set[str]:
    """The targets with a red cell in any column but these."""
    return {row for (row, column), cell in cells.items() if cell.verdict is Verdict.VIOLATED and column not in ignored}


def test_every_naive_target_has_a_red_cell_and_no_target_an_error(data: Data, cells: Cells) -> None:
    assert Verdict.ERROR not in {cell.verdict for cell in cells.values()}
    assert refuted_by(cells) == {name for name in matrix.NAMES if name.startswith("naive")} - UNSEEN
    paragraph = " ".join(matrix.explain(data).split())
    assert f"Not refuted here: {', '.join(name for name in matrix.NAMES if name in UNSEEN)}." in paragraph
    assert not {"{", "}", "nan"} & set(paragraph)


def test_a_target_that_only_a_law_refutes_is_named_with_what_it_needs(data: Data, cells: Cells) -> None:
    paragraph = " ".join(matrix.explain(data).split())
    assert "naive_randomized_response (δ = 6.2e-17)" in paragraph
    assert "naive_discrete_gaussian_gdp (δ(0) = 0.08234, where 0.0822 is allowed)" in paragraph
    seen = {**data, "findings": [row for row in data["findings"] if row["attack"] != EXACT_LAW]}
    left = {name for name in matrix.NAMES if name.startswith("naive")} - refuted_by(cells, "exact law")
    assert left > UNSEEN
    unseen = ", ".join(name for name in matrix.NAMES if name in left)
    assert f"Not refuted here: {unseen}." in " ".join(matrix.explain(seen).split())


def test_the_advantage_of_too_little_gaussian_noise_is_what_its_weights_give() -> None:
    """δ(0) of discrete Gaussian noise for μ = 0.2064 at answers one apart, by its weights; N(0, 1) allows erf."""
    (row,) = (
        row
        for row in committed_record("matrix")["findings"]
        if (row["target"], row["attack"]) == ("naive_discrete_gaussian_gdp", EXACT_LAW)
    )
    mu = row["claim"]["mu"]
    weights = [math.exp(-((n * mu) ** 2) / 2) for n in range(-200, 201)]
    assert row["advantage"]["lower"] == pytest.approx(1 / sum(weights), rel=1e-3)
    assert row["ceiling"] == pytest.approx(math.erf(mu / 2 / math.sqrt(2)), rel=1e-9)


def test_an_exact_law_shows_the_delta_it_needs_and_not_the_advantage_that_is_allowed(cells: Cells) -> None:
    """The naive coin keeps with e/(1 + e) rounded to binary64, which is less than 2^-54 too much."""
    assert 0 < float(cells["naive_randomized_response", "exact law"].text) < 2**-53


def test_grey_cells_tell_their_power(cells: Cells) -> None:
    grey = [cell for cell in cells.values() if cell.verdict is Verdict.NOT_DETECTED]
    assert grey
    assert all(0 < float(cell.text) <= 1 for cell in grey)


def finding(verdict: Verdict, **rest: Any) -> Finding:
    claim = targets.exact_exponential(1.0).claim
    return Finding(target="t", target_version="1", attack="a", verdict=verdict, reason="", claim=claim, **rest)


def test_a_full_run_gives_every_target_thousands_of_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, int] = {}

    def told(name: str, trials: int, _alpha: float, _seed: int) -> list[Finding]:
        given[name] = trials
        return []

    monkeypatch.setattr(matrix, "findings_of", told)
    monkeypatch.setattr(matrix, "law_finding", lambda *_: BARE)
    measured = matrix.collect(Settings()).measured
    assert set(given) == set(matrix.NAMES)
    assert min(given.values()) >= 2_000
    assert {name for name, trials in given.items() if trials < measured["trials"]} == set(measured["spared"])


def test_the_last_column_shows_the_committed_certificates_and_the_paragraph_links_them(
    cells: Cells, data: Data
) -> None:
    accepted = {one.target for one in matrix.committed() if one.verdict is Verdict.PROVED}
    shown = {row for (row, column), cell in cells.items() if column == "proved" and cell.verdict is Verdict.PROVED}
    assert shown == accepted & set(matrix.NAMES)
    assert shown
    assert {cells[row, "proved"].text for row in shown} == {matrix.EVERY_PAIR}
    paragraph = " ".join(matrix.explain(data).split())
    exact = sum(name.startswith("exact") for name in matrix.NAMES)
    assert (
        f"[certificates](../reports/proofs/index.md) that a separate program accepts: {len(shown)} of {exact}"
        in paragraph
    )


def test_a_refused_certificate_shows_no_proof() -> None:
    refused = replace(finding(Verdict.INCONCLUSIVE), attack=CERTIFICATE, scope=Scope(Reach.NEIGHBOURS))
    assert matrix.cell([refused]) == Cell(verdict=Verdict.INCONCLUSIVE)
    assert matrix.cell([replace(refused, verdict=Verdict.PROVED)]).text == matrix.EVERY_PAIR
    of_a_pair = replace(finding(Verdict.PROVED), attack=EXACT_LAW)
    assert matrix.cell([of_a_pair]) == Cell(verdict=Verdict.PROVED)


def test_a_cell_shows_the_gravest_verdict() -> None:
    missed = [finding(Verdict.NOT_DETECTED, smallest_detectable=power) for power in (0.25, 0.5)]
    assert matrix.cell([]) == matrix.NOT_RUN
    assert matrix.cell([finding(Verdict.NOT_APPLICABLE)]) == matrix.NOTHING_TO_RUN
    assert matrix.cell(missed) == Cell(verdict=Verdict.NOT_DETECTED, text="0.50")
    assert matrix.cell([*missed, finding(Verdict.ERROR)]).verdict is Verdict.ERROR
    assert matrix.cell([finding(Verdict.INCONCLUSIVE)]).verdict is Verdict.INCONCLUSIVE
    breach = finding(Verdict.VIOLATED, advantage=Estimate(-0.9, -1.0, -0.8))
    assert matrix.cell([*missed, finding(Verdict.ERROR), breach]) == Cell(verdict=Verdict.VIOLATED, text="0.90")


def test_the_last_outcome_drawn_is_the_last_whose_weight_a_double_sum_still_sees() -> None:
    """Beside a weight of 1 that is e^(−d/2) > 2^−53, half a unit in the last place."""
    assert laws_of_targets.last_drawn(targets.naive_exponential_stabilised(1.0)) == math.floor(2 * 53 * math.log(2))
    assert laws_of_targets.last_drawn(targets.naive_exponential_bfloat16(1.0)) == math.floor(2 * 8 * math.log(2))


def test_a_mechanism_of_more_than_one_uniform_number_has_no_such_law() -> None:
    with pytest.raises(LawError):
        laws_of_targets.last_drawn(targets.naive_gumbel_noisy_max(1.0))

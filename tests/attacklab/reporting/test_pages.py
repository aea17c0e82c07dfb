"""The index page: every record is on it, and a file that is no record is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from attacklab.findings import Estimate, Finding, Verdict, record, to_text, write_whole
from attacklab.reporting.pages import write_index
from tests.attacklab.test_findings import BARE, FULL

ERROR = replace(BARE, verdict=Verdict.ERROR, reason="broke raised ValueError: a | b", target="broken", attack="x")


def written(folder: Path, name: str, findings: list[Finding], **rest: Any) -> None:
    experiment = {
        "name": name,
        "question": f"What of {name}?",
        "seed": 3,
        "quick": True,
        "seconds": 1.5,
        "paragraph": f"Seen in {name}.",
        "figures": [{"name": f"{name}_figure", "caption": f"Caption of {name}"}],
    }
    data = record(findings, experiment=experiment, measured={}, **rest)
    write_whole(folder / "data" / f"{name}.json", to_text(data))


def test_the_page_lists_every_experiment_with_its_figures_findings_and_data(tmp_path: Path) -> None:
    names = ["alpha", "beta", "gamma"]
    for name in names:
        written(tmp_path, name, [FULL, replace(FULL, verdict=Verdict.NOT_DETECTED), BARE, ERROR])
    index = write_index(tmp_path)
    assert index == tmp_path / "index.md"
    page = index.read_text(encoding="utf-8")
    for name in names:
        for piece in (
            f"(#{name})",
            f"## {name}",
            f"*What of {name}?*",
            f"Seen in {name}.",
            f"(figures/{name}_figure.png)",
            f"(figures/{name}_figure.svg)",
            f"Caption of {name}",
            f"(data/{name}.json)",
        ):
            assert piece in page, piece
    positions = [page.index(f"\n## {name}") for name in names]
    assert positions == sorted(positions)
    assert "1 **violated**, 1 **not detected**" in page
    assert "0.59 [0.4, 0.7]" in page
    assert "1 **error**" in page


def test_every_row_of_the_table_has_as_many_cells_as_its_head(tmp_path: Path) -> None:
    written(tmp_path, "one", [FULL, BARE, ERROR])
    rows = [line for line in write_index(tmp_path).read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    assert len(rows) == 2 + 3
    assert {row.replace("\\|", "").count("|") for row in rows} == {8}


def test_the_clearest_finding_is_shown_whichever_side_the_advantage_is_on(tmp_path: Path) -> None:
    opposite = replace(FULL, advantage=Estimate(-0.8, -0.9, -0.7), epsilon_lower=3.21)
    written(tmp_path, "one", [FULL, opposite])
    assert "| -0.8 [-0.9, -0.7] | 0.05 | 3.21 |" in write_index(tmp_path).read_text(encoding="utf-8")


def test_an_experiment_without_findings_has_no_table(tmp_path: Path) -> None:
    written(tmp_path, "one", [])
    assert "|---" not in write_index(tmp_path).read_text(encoding="utf-8")


def test_the_same_records_give_the_same_page(tmp_path: Path) -> None:
    written(tmp_path, "one", [FULL])
    first = write_index(tmp_path).read_bytes()
    assert write_index(tmp_path).read_bytes() == first


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": "attacklab/0"}', to_text(record([FULL]))])
def test_a_file_that_is_no_experiments_record_is_refused_and_named_and_the_old_page_stays(
    text: str, tmp_path: Path
) -> None:
    written(tmp_path, "one", [FULL])
    page = write_index(tmp_path).read_bytes()
    (tmp_path / "data" / "two.json").write_text(text)
    with pytest.raises(ValueError, match=r"two\.json"):
        write_index(tmp_path)
    assert (tmp_path / "index.md").read_bytes() == page

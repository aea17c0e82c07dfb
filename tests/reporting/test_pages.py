"""The pages: every record has one and is in the index, long tables are files, and what is not a record is refused."""

import csv
import re
from dataclasses import replace
from pathlib import Path

import pytest

from attacklab.model.errors import UsageError
from attacklab.model.files import write_whole
from attacklab.model.findings import CERTIFICATE, EXACT_LAW, Verdict, record, to_text
from attacklab.reporting.lab_page import lab_page, scoreboard
from attacklab.reporting.pages import LONGEST_TABLE, rendered, require_index, write_index
from attacklab.reporting.sources import digests
from tests.model.test_findings import BARE, FULL
from tests.reporting.golden_files import measured, written


def page_of(reports: Path, name: str) -> str:
    write_index(reports)
    return (reports / f"{name}.md").read_text(encoding="utf-8")


def test_a_table_of_more_than_40_rows_is_a_file_beside_the_data_and_a_shorter_one_is_not(tmp_path: Path) -> None:
    assert LONGEST_TABLE == 40
    findings = [replace(FULL, target=f"target | {number}") for number in range(41)]
    written(tmp_path, "one", findings)
    page = page_of(tmp_path, "one")
    assert "|" not in page
    assert "The table has 41 rows: [one.csv](data/one.csv)." in page
    with (tmp_path / "data" / "one.csv").open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    assert head == ["target", "attack", "findings", "clearest at ε", "advantage", "claim allows", "ε at least"]
    assert [row[0] for row in rows] == [finding.target for finding in findings]
    assert rows[0][2] == "1 violated"
    written(tmp_path, "one", findings[:40])
    assert page_of(tmp_path, "one").count("\n| target") == 1 + 40
    assert not (tmp_path / "data" / "one.csv").exists()


def test_every_link_of_the_pages_leads_somewhere(tmp_path: Path) -> None:
    for name in ("one", "two"):
        written(tmp_path, name, [replace(FULL, target=f"{number}") for number in range(41)])
        measured(tmp_path, name)
    write_index(tmp_path)
    assert not (tmp_path / "proofs").exists()
    for page in tmp_path.rglob("*.md"):
        links = re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
        assert links
        for link in links:
            assert (page.parent / link).is_file(), link


@pytest.mark.parametrize("folder", ["data", "measured"])
@pytest.mark.parametrize("text", ["{", "[]", '{"schema": "attacklab/0"}', to_text(record([FULL]))])
def test_a_file_that_is_no_experiments_record_is_refused_and_named_and_the_old_pages_stay(
    text: str, folder: str, tmp_path: Path
) -> None:
    written(tmp_path, "one", [FULL])
    written(tmp_path, "two", [FULL])
    write_index(tmp_path)
    pages = {path: path.read_bytes() for path in tmp_path.rglob("*.md")}
    written(tmp_path, "one", [])
    write_whole(tmp_path / folder / "two.json", text)
    with pytest.raises(ValueError, match=rf"{folder}/two\.json"):
        write_index(tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.md")} == pages


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    for name in ("one", "two"):
        write_whole(tmp_path / "lab" / "experiments" / f"{name}.py", "X = 1\n")
    return tmp_path / "lab"


def test_a_page_says_at_its_top_that_other_code_made_it_and_when_and_where(tmp_path: Path, lab: Path) -> None:
    for name in ("one", "two"):
        written(tmp_path, name, [FULL], sources=dict(digests(lab, f"experiments.{name}")))
        measured(tmp_path, name)
    index = write_index(tmp_path, lab)
    assert "Older" not in (tmp_path / "one.md").read_text("utf-8")
    (lab / "experiments" / "one.py").write_text("X = 2\n")
    texts = rendered(tmp_path, lab)
    differing = [path for path, text in texts.items() if path.is_file() and text != path.read_text("utf-8")]
    assert {path.relative_to(tmp_path).as_posix() for path in differing} == {"one.md", "measured/one.md", "index.md"}
    write_index(tmp_path, lab)
    for page in ("one.md", "measured/one.md"):
        head = (tmp_path / page).read_text("utf-8").split("\n\n")[2]
        assert head.startswith("> **Older than the code.** This was measured on 2026-02-03 on ")
        assert "`attacklab run one --output reports`" in head
    assert "What of one? *(older)*" in index.read_text("utf-8")
    assert "Older" not in (tmp_path / "two.md").read_text("utf-8")


def test_one_page_of_html_has_all_pages_and_every_link_and_picture_is_there(tmp_path: Path) -> None:
    for name in ("one", "two"):
        written(tmp_path, name, [FULL] * 41)
        measured(tmp_path, name)
    html = lab_page(tmp_path, write_index(tmp_path))
    anchors = set(re.findall(r'<section id="([^"]+)"', html))
    assert anchors == {"index", "one", "two", "measured/one", "measured/two"}
    for address in re.findall(r'(?:href|src)="([^"]+)"', html):
        if address.startswith("#"):
            assert address[1:] in anchors
        else:
            assert (tmp_path / address).is_file(), address


def test_the_scoreboard_counts_what_samples_break_what_laws_break_and_what_is_certified() -> None:
    law, certificate = (replace(BARE, attack=attack, verdict=Verdict.VIOLATED) for attack in (EXACT_LAW, CERTIFICATE))
    findings = [
        replace(FULL, target="naive_one"),
        replace(law, target="naive_two"),
        replace(FULL, target="naive_three", verdict=Verdict.NOT_DETECTED),
        replace(certificate, target="exact_one", verdict=Verdict.PROVED),
    ]
    board = scoreboard(
        findings, {"one": ["naive_one", "exact_one", "exact_unrun"], "rest": ["naive_two", "naive_three"]}
    )
    told = "1 of 3 naive mechanisms broken by samples, 1 by exact laws; 1 of 1 exact ones certified."
    assert board["summary"] == told
    colours = {
        row: [[entry["colour"] for entry in entries] for entries in twins] for row, twins in board["rows"].items()
    }
    assert colours == {"one": [["red"], ["green"]], "rest": [["red", "grey"], []]}


def test_an_index_of_somebody_else_is_kept(tmp_path: Path) -> None:
    require_index(tmp_path)
    (tmp_path / "index.md").write_text("Ours")
    with pytest.raises(UsageError, match="not written by attacklab, so it is kept"):
        require_index(tmp_path)

"""The committed reports: a record and a page for each experiment, times kept apart, tables that fit on a page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attacklab.model.findings import read_record
from attacklab.reporting.experiment import load_experiments
from attacklab.reporting.pages import LONGEST_TABLE, rendered

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
REPORTS = ROOT / "reports"
EXPERIMENTS = load_experiments(ROOT)
MEASURED_ONLY = {"accountants", "libraries", "speed"}
OF_A_MACHINE = re.compile("seconds|megabyte|_ns$|machine|system|environment|processor|^(date|python|numpy)$")


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from keys(part)


def test_every_experiment_has_a_record_of_the_seed_one_of_the_machine_and_a_page() -> None:
    for folder in ("data", "measured"):
        assert {path.stem for path in (REPORTS / folder).glob("*.json")} == set(EXPERIMENTS)
        for path in (REPORTS / folder).glob("*.json"):
            assert read_record(path)["experiment"]["name"] == path.stem
    assert {path.stem for path in REPORTS.glob("*.md")} == {*EXPERIMENTS, "index"} - MEASURED_ONLY
    assert {path.stem for path in (REPORTS / "measured").glob("*.md")} >= MEASURED_ONLY
    index = (REPORTS / "index.md").read_text("utf-8")
    assert len(index) < 8_000
    for name in EXPERIMENTS:
        assert f"**{name}**" in index
        (path, *_) = REPORTS.glob(f"[dm]*a*/{name}.json")
        assert read_record(path)["experiment"]["question"] in index


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_nothing_of_a_machine_stands_in_the_record_of_the_seed(name: str) -> None:
    found = set(keys(json.loads((REPORTS / "data" / f"{name}.json").read_text("utf-8"))))
    assert {"schema", "findings", "experiment", "measured"} <= found
    assert not {key for key in found if OF_A_MACHINE.search(key)}


def test_no_page_is_longer_than_300_lines_and_no_table_than_40_rows() -> None:
    for path in REPORTS.rglob("*.md"):
        lines = path.read_text("utf-8").splitlines()
        assert len(lines) <= 300, path
        longest = run = 0
        for line in lines:
            run = run + 1 if line.startswith("|") else 0
            longest = max(longest, run)
        assert longest <= 2 + LONGEST_TABLE, path


def test_the_committed_pages_are_those_of_the_committed_records_and_say_where_the_code_is_newer() -> None:
    texts = rendered(REPORTS, ROOT)
    differing = [path for path, text in texts.items() if text != (path.read_text("utf-8") if path.is_file() else None)]
    assert not differing, "write them by `attacklab run --pages --output reports`"

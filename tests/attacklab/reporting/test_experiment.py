"""Experiments: what counts as one, what a run writes, and what a failed run leaves."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from attacklab.findings import read_record
from attacklab.reporting.experiment import Collected, Experiment, Settings, load_experiments, run_experiment
from attacklab.reporting.figures import Figure
from tests.attacklab.reporting.test_figures import FIGURE
from tests.attacklab.test_findings import BARE, FULL

COMPLETE = """
QUESTION = "What?"

def collect(settings): ...
def figures(data): ...
def explain(data): ...
"""


@pytest.fixture
def root(own_experiments: Path) -> Path:
    return own_experiments


def test_modules_that_ask_a_question_are_loaded_by_name_and_no_other_is_run(root: Path) -> None:
    (root / "experiments" / "first.py").write_text(COMPLETE)
    (root / "experiments" / "second.py").write_text(COMPLETE)
    (root / "experiments" / "helper.py").write_text("raise SystemExit('somebody else’s script')\n")
    loaded = load_experiments(root)
    assert list(loaded) == ["first", "second"]
    assert loaded["first"].question == "What?"


def test_an_experiment_that_lacks_a_name_is_refused_by_it(root: Path) -> None:
    (root / "experiments" / "partial.py").write_text('\nQUESTION = "What?"\n\ndef collect(settings): ...\n')
    with pytest.raises(ValueError, match="experiment partial lacks figures, explain"):
        load_experiments(root)


def test_a_folder_without_experiments_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no experiments/ in this folder; run it from a checkout of the lab"):
        load_experiments(tmp_path)


def experiment(measured: dict[str, Any], drawn: list[Figure] | None = None) -> Experiment:
    seen: dict[str, Any] = {}

    def explain(data: dict[str, Any]) -> str:
        seen.update(data)
        return f"Measured {data['measured']['x']}."

    return Experiment(
        name="some",
        question="What?",
        collect=lambda settings: Collected([FULL, BARE], {**measured, "budget": settings.budget(100, 7)}),
        figures=lambda data: [FIGURE] if drawn is None and data["findings"] else drawn or [],
        explain=explain,
    )


@pytest.mark.parametrize(("quick", "budget"), [(True, 7), (False, 100)])
def test_a_run_writes_its_record_and_figures_and_returns_the_record(quick: bool, budget: int, tmp_path: Path) -> None:
    data = run_experiment(experiment({"x": 0.1}), Settings(seed=4, quick=quick), tmp_path)
    written = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*"))
    assert written == ["data/some.json", "figures/some_figure.png", "figures/some_figure.svg"]
    assert json.loads((tmp_path / "data" / "some.json").read_text(encoding="utf-8")) == data
    read = read_record(tmp_path / "data" / "some.json")
    assert read["findings"] == [FULL, BARE]
    assert read["measured"] == {"x": 0.1, "budget": budget}
    entry = read["experiment"]
    assert (entry["name"], entry["seed"], entry["quick"]) == ("some", 4, quick)
    assert entry["paragraph"] == "Measured 0.1."
    assert entry["figures"] == [{"name": FIGURE.name, "caption": FIGURE.caption}]


def test_a_record_that_json_cannot_hold_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        run_experiment(experiment({"x": math.nan}), Settings(), tmp_path)
    assert list(tmp_path.iterdir()) == []

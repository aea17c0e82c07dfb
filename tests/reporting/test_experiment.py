"""Experiments: what counts as one, what a run writes, and what a failed run leaves."""

import itertools
import json
import math
import platform
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attacklab.model.findings import read_record
from attacklab.reporting import experiment as experiments
from attacklab.reporting.experiment import Collected, Experiment, Settings, load_experiments, run_experiment
from attacklab.reporting.figures import Figure
from attacklab.reporting.lab import is_lab
from attacklab.reporting.pages import write_index
from tests.model.test_findings import BARE, FULL
from tests.reporting.test_figures import FIGURE

COMPLETE = """
QUESTION = "What?"

def collect(settings): ...
def figures(data): ...
def explain(data): ...
"""
TIMED = """
QUESTION = "How long?"

def collect(settings): ...
def timing_figures(data): return ["a figure"]
def explain_timings(data): return "A second."
"""
HOSTILE = "raise SystemExit('somebody else’s script')\n"


@pytest.fixture
def root(own_experiments: Path) -> Path:
    return own_experiments


def test_every_module_is_an_experiment_and_no_package_is(root: Path) -> None:
    (root / "experiments" / "first.py").write_text(COMPLETE)
    (root / "experiments" / "second.py").write_text(TIMED)
    (root / "experiments" / "common").mkdir()
    (root / "experiments" / "common" / "__init__.py").write_text(HOSTILE)
    loaded = load_experiments(root)
    assert list(loaded) == ["first", "second"]
    assert loaded["first"].question == "What?"
    assert loaded["first"].explain_timings({}) == ""
    assert loaded["second"].explain_timings({}) == "A second."
    second: Any = loaded["second"]
    assert (second.figures({}), second.timing_figures({})) == ([], ["a figure"])


@pytest.mark.parametrize(
    ("source", "missing"),
    [
        ('QUESTION = "What?"\ndef collect(settings): ...\n', "explain"),
        (COMPLETE.replace("def explain", "def explained"), "explain"),
        (COMPLETE.replace("QUESTION", "QUESTIONS"), "QUESTION"),
        (TIMED.replace("explain_timings", "explained"), "explain"),
        ("def helper(): ...\n", "QUESTION, collect, explain"),
    ],
)
def test_a_module_that_lacks_a_name_is_refused_by_it(source: str, missing: str, root: Path) -> None:
    (root / "experiments" / "partial.py").write_text(source)
    message = f"experiment partial lacks {missing}; add what is missing, or move .* to experiments/common/"
    with pytest.raises(ValueError, match=f"^{message}$"):
        load_experiments(root)


@pytest.mark.parametrize("marker", [None, "[project]\nname = 'x'\n", "[tool.attacklab]\nexperiments = 'trials'\n"])
def test_a_folder_of_the_same_name_that_is_not_the_labs_is_refused_and_not_run(
    marker: str | None, tmp_path: Path
) -> None:
    (tmp_path / "experiments").mkdir()
    for name in ("__init__", "train"):
        (tmp_path / "experiments" / f"{name}.py").write_text(HOSTILE)
    if marker:
        (tmp_path / "pyproject.toml").write_text(marker)
    assert not is_lab(tmp_path)
    with pytest.raises(ValueError, match=r"experiments/ in this folder is not the lab's: no pyproject\.toml beside it"):
        load_experiments(tmp_path)
    assert str(tmp_path) not in sys.path


def experiment(measured: dict[str, Any], drawn: list[Figure] | None = None) -> Experiment:
    return Experiment(
        name="some",
        question="What?",
        collect=lambda settings: Collected([FULL, BARE], {**measured, "budget": settings.budget(100, 7)}),
        figures=lambda data: [FIGURE] if drawn is None and data["findings"] else drawn or [],
        explain=lambda data: f"Measured {data['measured']['x']}.",
    )


@pytest.mark.parametrize(("share", "budget"), [(0.0, 7), (0.5, 54), (1.0, 100)])
def test_a_run_writes_its_record_and_figures_and_returns_the_record(share: float, budget: int, tmp_path: Path) -> None:
    data = run_experiment(experiment({"x": 0.1}), Settings(seed=4, share=share), tmp_path)
    written = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*"))
    assert written == ["data/some.json", "figures/some_figure.svg", "measured/some.json"]
    seconds = data["experiment"].pop("seconds")
    assert json.loads((tmp_path / "data" / "some.json").read_text(encoding="utf-8")) == data
    read = read_record(tmp_path / "data" / "some.json")
    assert read["findings"] == [replace(finding, seconds=0.0) for finding in (FULL, BARE)]
    assert read["measured"] == {"x": 0.1, "budget": budget}
    entry = read["experiment"]
    assert (entry["name"], entry["seed"], entry["share"]) == ("some", 4, share)
    assert entry["paragraph"] == "Measured 0.1."
    assert entry["figures"] == [{"name": FIGURE.name, "caption": FIGURE.caption}]
    timed = read_record(tmp_path / "measured" / "some.json")
    assert timed["finding_seconds"] == [FULL.seconds, BARE.seconds]
    assert timed["experiment"]["seconds"] == seconds
    assert timed["environment"]["machine"] == platform.machine()
    assert timed["environment"]["numpy"] == np.__version__


def timing_experiment() -> Experiment:
    """Measures what the seed determines, times itself, and audits for as long as it has time."""

    def collect(settings: Settings) -> Collected:
        drawn = settings.generator(1).integers(1 << 30, size=3)
        started = time.perf_counter()
        taken = time.perf_counter() - started
        finding = replace(FULL, seconds=taken)
        return Collected([finding], {"drawn": drawn}, {"taken": taken}, [replace(finding, trials=int(taken) + 1)])

    return Experiment(
        name="timed",
        question="How long?",
        collect=collect,
        figures=lambda _: [FIGURE],
        explain=lambda data: f"Drawn: {data['measured']['drawn']}.",
        timing_figures=lambda data: [replace(FIGURE, name="taken", caption=f"{data['timings']['taken']:g} s")],
        explain_timings=lambda data: f"It took {data['timings']['taken']:g} s.",
    )


def _files(reports: Path) -> dict[str, bytes]:
    return {path.relative_to(reports).as_posix(): path.read_bytes() for path in reports.rglob("*") if path.is_file()}


def _run_on(reports: Path, machine: str, second: float, date: str) -> dict[str, bytes]:
    """The files of a run on a machine where the clock moves on by so many seconds whenever it is read."""
    clock = itertools.count(1)
    measured_here = experiments.measured_here
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "perf_counter", lambda: second * next(clock))
        patch.setattr(platform, "machine", lambda: machine)
        patch.setattr(experiments, "measured_here", lambda: {**measured_here(), "date": date})
        for one in (timing_experiment(), experiment({"x": 0.1})):
            run_experiment(one, Settings(seed=5), reports)
    write_index(reports)
    return _files(reports)


@pytest.mark.slow
def test_another_machine_changes_only_measured_files(tmp_path: Path) -> None:
    here = _run_on(tmp_path / "reports", "x86_64", 0.25, "2026-01-01")
    there = _run_on(tmp_path / "reports", "riscv64", 3.5, "2027-12-31")
    assert here.keys() == there.keys()
    changed = {name for name in here if here[name] != there[name]}
    assert changed == {"measured/timed.json", "measured/timed.md", "measured/some.json"}
    assert {"index.md", "timed.md", "data/timed.json", "figures/some_figure.svg"} <= set(here)
    assert b"riscv64" in there["measured/timed.json"]
    assert b"It took 3.5 s." in there["measured/timed.md"]
    again = _run_on(tmp_path / "again", "x86_64", 0.25, "2026-01-01")
    assert again == here


def test_a_record_that_json_cannot_hold_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        run_experiment(experiment({"x": math.nan}), Settings(), tmp_path)
    assert list(tmp_path.iterdir()) == []

"""Experiments: one question each, answered by data, figures and a paragraph.

An experiment is a module of the lab's package `experiments`, or of `corpus` where it is about the lab itself, with
these names in it:

- `QUESTION`: the question, one line;
- `collect(settings) -> Collected`: measures; nothing else runs mechanisms;
- `figures(data) -> list[Figure]`: what to draw, from the collected JSON alone;
- `explain(data) -> str`: what is seen and why, one paragraph of Markdown, from the collected JSON alone.

What the seed determines and what depends on the machine never share a file. `figures` and `explain` are not shown any
timing. An experiment that times something puts it in `Collected.timings` and has, beside those two or instead of them:

- `explain_timings(data) -> str`: a paragraph on the timings, which are in `data["timings"]`;
- `timing_figures(data) -> list[Figure]`, optional: what to draw of them.
"""

import importlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

from attacklab.model.errors import UsageError, from_extra
from attacklab.model.files import write_whole
from attacklab.model.findings import SCHEMA, Finding, Verdict, environment, read_record, to_text
from attacklab.reporting.figures import Figure
from attacklab.reporting.lab import CORPUS, FOLDER, enter_lab
from attacklab.reporting.sources import digests

Data: TypeAlias = dict[str, Any]

LARGEST_INDENTED = 30_000
"""A record of more characters is written compactly."""

DATA, MEASURED, FIGURES = "data", "measured", "figures"
"""Folders in the reports: for records that a seed determines, for all that depends on the machine, and for figures."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How much to measure.

    Attributes:
        seed: the seed of all randomness.
        share: the share of the full budgets to use, from 0 (the least, a rough picture) to 1.
        previous: the measured record of the last run into the same folder, with its findings as `Finding`. An
            experiment takes from it what cannot be measured here.
    """

    seed: int = 0
    share: float = 1.0
    previous: Mapping[str, Any] | None = None

    def budget(self, full: int, least: int) -> int:
        """Return a number of trials (or the like): `least` for a `share` of 0, `full` for 1."""
        return round(least + (full - least) * self.share)

    def generator(self, *key: int) -> np.random.Generator:
        """Return a generator for one part of this run. Different keys give independent generators."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))


@dataclass(frozen=True, slots=True)
class Collected:
    """What an experiment measured.

    Attributes:
        findings: findings that the seed determines, except for their seconds.
        measured: other JSON values that the seed determines.
        timings: JSON values that depend on the machine.
        timed_findings: findings of audits with a time limit. Their number of trials depends on the machine.
    """

    findings: Sequence[Finding] = ()
    measured: Mapping[str, Any] = field(default_factory=dict)
    timings: Mapping[str, Any] = field(default_factory=dict)
    timed_findings: Sequence[Finding] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """A loaded experiment: the names in its module, which is in `package` of the checkout at `root`."""

    name: str
    question: str
    collect: Callable[[Settings], Collected]
    package: str = FOLDER
    root: Path | None = None
    figures: Callable[[Data], list[Figure]] = lambda _: []
    explain: Callable[[Data], str] = lambda _: ""
    timing_figures: Callable[[Data], list[Figure]] = lambda _: []
    explain_timings: Callable[[Data], str] = lambda _: ""


OPTIONAL = ("figures", "explain", "timing_figures", "explain_timings")


def load_experiments(root: Path) -> dict[str, Experiment]:
    """Load every experiment of the lab at `root`, by name: all modules of its packages `experiments` and `corpus`.

    Packages inside these two hold what experiments share, and are not experiments.

    Raises:
        ValueError: there are no experiments here, or one of them lacks a required name or cannot be imported.
    """
    lab = enter_lab(root)
    files = [file for package in (FOLDER, CORPUS) for file in sorted((lab / package).glob("*.py")) if file.is_file()]
    loaded = {file.stem: _experiment(lab, file.parent.name, file.stem) for file in files if file.stem != "__init__"}
    if not loaded:
        raise UsageError(f"no experiment in {FOLDER}/; add a module NAME.py to it")
    return loaded


def _experiment(root: Path, package: str, name: str) -> Experiment:
    """Load one experiment of the lab at `root`, which is importable."""
    try:
        module = importlib.import_module(f"{package}.{name}")
    except ImportError as error:
        raise UsageError(
            f"{package}/{name}.py cannot be imported: {error}; run it in the environment of this checkout, "
            "which has what experiments need"
        ) from error
    extras = {attribute: getattr(module, attribute) for attribute in OPTIONAL if hasattr(module, attribute)}
    missing = [attribute for attribute in ("QUESTION", "collect") if not hasattr(module, attribute)]
    missing += [] if {"explain", "explain_timings"} & extras.keys() else ["explain"]
    if missing:
        raise UsageError(
            f"experiment {name} lacks {', '.join(missing)}; add what is missing, "
            f"or move a module that is not an experiment to {package}/common/"
        )
    return Experiment(name=name, question=module.QUESTION, collect=module.collect, package=package, root=root, **extras)


def measured_here() -> dict[str, str]:
    """Return when and where this process measures: the date (UTC), versions, system and processor."""
    return {"date": datetime.now(UTC).date().isoformat(), **environment()}


def run_experiment(experiment: Experiment, settings: Settings, reports: Path) -> Data:
    """Run an experiment: collect its data, draw the figures, and write the records.

    What the seed determines goes to `data/NAME.json` and `figures/`. What depends on the machine, including the seconds
    of each finding, goes to `measured/NAME.json` and `measured/figures/`.

    Args:
        experiment: the experiment to run.
        settings: how much to measure; `previous` is read from the reports.
        reports: the folder to write into.

    Returns:
        The record of what the seed determines, with all findings, timed ones too, and the seconds of the run.

    Raises:
        UsageError: matplotlib is not installed, or the measured record of the last run cannot be read.
        OSError: the folder cannot be written.
    """
    _plots()  # before anything is measured
    measured_path = reports / MEASURED / f"{experiment.name}.json"
    if measured_path.is_file():
        settings = replace(settings, previous=read_record(measured_path))
    sources = digests(experiment.root, f"{experiment.package}.{experiment.name}") if experiment.root else {}
    started = time.perf_counter()
    collected = experiment.collect(settings)
    seconds = round(time.perf_counter() - started, 1)
    seeded, timed = _write(experiment, reports, *_records(experiment, settings, collected, sources, seconds))
    shown = {**seeded["experiment"], "seconds": seconds}
    return {**seeded, "experiment": shown, "findings": seeded["findings"] + timed["findings"]}


def replace_findings(experiment: Experiment, reports: Path, attack: str, findings: Sequence[Finding]) -> None:
    """Replace the findings of one attack in the record of an experiment, and draw its figures again.

    This saves a run: the findings of other attacks might take minutes to find again.

    Raises:
        UsageError: a record cannot be read.
    """
    name = f"{experiment.name}.json"
    seeded, timed = shown_data(reports / DATA / name), read_record(reports / MEASURED / name)
    timed["findings"] = [finding.to_json() for finding in timed["findings"]]
    kept = zip(seeded["findings"], timed["finding_seconds"], strict=True)
    entries = [entry for entry in kept if entry[0]["attack"] != attack]
    entries += [(_shown_finding(finding), 0.0) for finding in findings]
    seeded["findings"], timed["finding_seconds"] = map(list, zip(*entries, strict=True))
    _write(experiment, reports, seeded, timed)


def _write(experiment: Experiment, reports: Path, seeded: Data, timed: Data) -> tuple[Data, Data]:
    """Add texts and figure names to the seeded and the timed record, draw the figures, write all, and return both."""
    seeded, timed = _plain(seeded), _plain(timed)
    shown = {**seeded, "timings": timed["timings"]}
    for record, folder, figures, paragraph in (
        (seeded, reports / FIGURES, experiment.figures(seeded), experiment.explain(seeded)),
        (timed, reports / MEASURED / FIGURES, experiment.timing_figures(shown), experiment.explain_timings(shown)),
    ):
        named = [{"name": figure.name, "caption": figure.caption} for figure in figures]
        record["experiment"] |= {"paragraph": paragraph, "figures": named}
        for figure in figures:
            _plots().save(figure, folder)
    for record, kind in ((timed, MEASURED), (seeded, DATA)):
        text = to_text(record)
        path = reports / kind / f"{experiment.name}.json"
        write_whole(path, text if len(text) <= LARGEST_INDENTED else to_text(record, indent=None))
    return seeded, timed


def _plots() -> ModuleType:
    """Return the module `plots`. It is imported late because matplotlib costs every other command half a second."""
    with from_extra("pages"):
        return importlib.import_module("attacklab.reporting.plots")


def shown_data(path: Path) -> Data:
    """Read a record and return it in the form that `figures` and `explain` take.

    Raises:
        ValueError: the file is not a record.
    """
    data = read_record(path)
    return _plain({**data, "findings": list(map(_shown_finding, data["findings"]))})


def _shown_finding(finding: Finding) -> Data:
    """Return a finding as JSON values, without its seconds, and without its replay if the attack does not apply."""
    left_out = {"seconds", "replay"} if finding.verdict is Verdict.NOT_APPLICABLE else {"seconds"}
    return {name: value for name, value in finding.to_json().items() if name not in left_out}


def _records(
    experiment: Experiment, settings: Settings, collected: Collected, sources: Mapping[str, str], seconds: float
) -> tuple[Data, Data]:
    """Return two records: what the seed determines, and what depends on the machine."""
    named: Data = {"name": experiment.name, "question": experiment.question, "package": experiment.package}
    named |= {"seed": settings.seed, "share": settings.share, "sources": sources}
    findings = list(map(_shown_finding, collected.findings))
    seeded = {"schema": SCHEMA, "findings": findings, "experiment": named, "measured": collected.measured}
    timed = {
        "schema": SCHEMA,
        "environment": measured_here(),
        "findings": [finding.to_json() for finding in collected.timed_findings],
        "experiment": {"name": experiment.name, "seconds": seconds},
        "finding_seconds": [finding.seconds for finding in collected.findings],
        "timings": collected.timings,
    }
    return seeded, timed


def _plain(data: Data) -> Data:
    """Return data after a round trip through JSON."""
    plain: Data = json.loads(to_text(data))
    return plain

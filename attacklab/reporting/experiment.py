"""Experiments: one question each, answered by data, figures and a paragraph.

An experiment is a module of the `experiments` package beside the lab's checkout, with these names in it:

- `QUESTION`: the question, one line;
- `collect(settings) -> Collected`: measures; nothing else runs mechanisms;
- `figures(data) -> list[Figure]`: what to draw, from the collected JSON alone;
- `explain(data) -> str`: what is seen and why, one paragraph of Markdown, from the collected JSON alone.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from attacklab.errors import UsageError
from attacklab.findings import Finding, record, to_text, write_whole
from attacklab.reporting.figures import Figure

Data: TypeAlias = dict[str, Any]

REQUIRED = ("QUESTION", "collect", "figures", "explain")
FOLDER = "experiments"


@dataclass(frozen=True, slots=True)
class Settings:
    """How much to measure.

    Attributes:
        seed: what all randomness is derived from.
        quick: whether a rough picture in seconds is wanted.
    """

    seed: int = 0
    quick: bool = False

    def budget(self, full: int, quick: int) -> int:
        """A number of trials (or the like) for this run."""
        return quick if self.quick else full

    def generator(self, *key: int) -> np.random.Generator:
        """The randomness of one part of this run, by its key; parts of other keys are independent."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))


@dataclass(frozen=True, slots=True)
class Collected:
    """What an experiment measured: findings, and any other JSON values that its figures need."""

    findings: Sequence[Finding] = ()
    measured: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Experiment:
    """A loaded experiment module."""

    name: str
    question: str
    collect: Callable[[Settings], Collected]
    figures: Callable[[Data], list[Figure]]
    explain: Callable[[Data], str]


def load_experiments(root: Path) -> dict[str, Experiment]:
    """Load every experiment of the checkout at `root`, by name.

    Raises:
        ValueError: there is no experiments folder, or an experiment lacks one of its names.
    """
    folder = root / FOLDER
    if not folder.is_dir():
        raise UsageError(f"no {FOLDER}/ in this folder; run it from a checkout of the lab")
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    loaded = {}
    for path in sorted(folder.glob("*.py")):
        # Many folders have this name: what does not say that it is an experiment is not run.
        if "\nQUESTION = " not in path.read_text(encoding="utf-8"):
            continue
        module = importlib.import_module(f"{FOLDER}.{path.stem}")
        missing = [name for name in REQUIRED if not hasattr(module, name)]
        if missing:
            raise UsageError(f"experiment {path.stem} lacks {', '.join(missing)}")
        loaded[path.stem] = Experiment(path.stem, module.QUESTION, module.collect, module.figures, module.explain)
    return loaded


def run_experiment(experiment: Experiment, settings: Settings, reports: Path) -> Data:
    """Collect, write the data, draw the figures from the written data.

    Args:
        experiment: which.
        settings: how much to measure.
        reports: the folder to write `data/NAME.json` and `figures/*.svg, *.png` into.

    Returns:
        The record as it was written.

    Raises:
        OSError: the folder cannot be written.
    """
    from attacklab.reporting import plots  # here, because matplotlib costs every other command half a second

    started = time.perf_counter()
    collected = experiment.collect(settings)
    text = to_text(
        record(
            collected.findings,
            experiment={
                "name": experiment.name,
                "question": experiment.question,
                "seed": settings.seed,
                "quick": settings.quick,
                "seconds": round(time.perf_counter() - started, 1),
            },
            measured=collected.measured,
        )
    )
    data: Data = json.loads(text)
    drawn = experiment.figures(data)
    entry = {
        **data["experiment"],
        "paragraph": experiment.explain(data),
        "figures": [{"name": figure.name, "caption": figure.caption} for figure in drawn],
    }
    data["experiment"] = entry
    for figure in drawn:
        plots.save(figure, reports / "figures")
    write_whole(reports / "data" / f"{experiment.name}.json", to_text(data))
    return data

"""What experiments write, for the tests of experiments."""

import json
import math
from pathlib import Path
from typing import Any, TypeAlias

from attacklab.model.findings import record, to_text
from attacklab.reporting.experiment import Experiment, Settings, shown_data
from attacklab.reporting.figures import Panel

Data: TypeAlias = dict[str, Any]


def quick_record(experiment: Any, seed: int = 0) -> Data:
    """What an experiment, or its module, writes in a quick run, read again; the timings among it."""
    once = experiment.collect(Settings(seed=seed, share=0))
    parts = record([*once.findings, *once.timed_findings], measured=once.measured, timings=once.timings)
    read: Data = json.loads(to_text(parts))
    return read


def committed_record(name: str) -> Data:
    """What a full run of an experiment wrote that the seed determines."""
    return shown_data(Path(__file__).parents[2] / "reports" / "data" / f"{name}.json")


def require_page(experiment: Experiment, data: Data) -> None:
    """Figures that can be drawn and a paragraph without gaps come from a record alone, which stays what it is."""
    before = json.dumps(data)
    figures = experiment.figures(data) + experiment.timing_figures(data)
    paragraph = experiment.explain(data) + experiment.explain_timings(data)
    assert json.dumps(data) == before
    assert len({figure.name for figure in figures}) == len(figures) > 0
    for figure in figures:
        assert figure.panels
        for panel in figure.panels:
            if isinstance(panel, Panel):
                assert all(math.isfinite(value) for series in panel.series for value in [*series.x, *series.y])
                assert panel.y_scale != "log" or all(y > 0 for series in panel.series for y in series.y)
    assert len(paragraph) > 200
    assert not {"{", "}"} & set(paragraph)
    assert "nan" not in paragraph.split()

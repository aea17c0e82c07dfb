"""The committed reports: each experiment has a record and a page, tables fit on it, and figures can be read."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure as Canvas
from matplotlib.legend import Legend
from matplotlib.text import Text

from attacklab.model.findings import read_record
from attacklab.reporting import plots
from attacklab.reporting.experiment import load_experiments, shown_data
from attacklab.reporting.figures import Figure
from attacklab.reporting.pages import rendered
from tests.experiments.records import Data, require_page

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


def test_the_committed_pages_are_those_of_the_committed_records_and_say_where_the_code_is_newer() -> None:
    texts = rendered(REPORTS, ROOT)
    differing = [path for path, text in texts.items() if text != (path.read_text("utf-8") if path.is_file() else None)]
    assert not differing, "write them by `attacklab run --pages --output reports`"


def texts(canvas: Canvas) -> Iterator[Text]:
    for text in canvas.findobj(Text):
        if text.get_text() and text.get_visible():
            yield text


def tick_labels(axis: Axis) -> list[Text]:
    """What is written at the ticks in view; there are others, which are not drawn."""
    low, high = sorted(axis.get_view_interval())
    ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    return [label for tick in ticks for label in (tick.label1, tick.label2) if label.get_visible() and label.get_text()]


def written_around(axes: Axes) -> list[Text]:
    single = [text for text in (axes.title, axes.xaxis.label, axes.yaxis.label) if text.get_text()]
    return [*single, *tick_labels(axes.xaxis), *tick_labels(axes.yaxis)]


def records_of(name: str) -> Data:
    """What an experiment committed: what the seed determines, and what was timed."""
    data, measured = (shown_data(ROOT / "reports" / folder / f"{name}.json") for folder in ("data", "measured"))
    return {**data, "timings": measured["timings"]}


def committed(name: str) -> list[Figure]:
    """The figures of an experiment's committed records."""
    data, experiment = records_of(name), EXPERIMENTS[name]
    return experiment.figures(data) + experiment.timing_figures(data)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_figures_and_paragraph_come_from_the_records_alone(name: str) -> None:
    require_page(EXPERIMENTS[name], records_of(name))


@pytest.fixture(scope="module", params=EXPERIMENTS)
def drawn(request: pytest.FixtureRequest) -> list[Canvas]:
    """What an experiment draws of its committed records."""
    canvases = [plots.draw(figure) for figure in committed(request.param)]
    assert canvases
    for canvas in canvases:
        canvas.draw_without_rendering()
    return canvases


def test_no_legend_covers_anything_and_nothing_written_is_cut_off_or_lies_in_another_panel(drawn: list[Canvas]) -> None:
    for canvas in drawn:
        legends = [legend.get_window_extent() for legend in canvas.findobj(Legend)]
        for axes in canvas.axes:
            assert not any(legend.overlaps(axes.get_window_extent()) for legend in legends)
            others = [*legends, *(other.get_window_extent() for other in canvas.axes if other is not axes)]
            for text in written_around(axes):
                place = text.get_window_extent()
                assert 0 <= place.x0 < place.x1 <= canvas.bbox.width, text
                assert 0 <= place.y0 < place.y1 <= canvas.bbox.height, text
                assert not any(place.overlaps(other) for other in others), text

"""Drawing: both files are made whole, the same data gives the same bytes, and only `plots` pays for matplotlib."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from attacklab.findings import Verdict
from attacklab.reporting import plots
from attacklab.reporting.figures import Figure, Panel, Role, Series
from tests.attacklab.reporting.test_figures import FIGURE, MATRIX


def test_svg_and_png_are_drawn_and_are_what_they_say(tmp_path: Path) -> None:
    written = plots.save(FIGURE, tmp_path / "new" / "folder")
    assert [path.name for path in written] == ["some_figure.svg", "some_figure.png"]
    assert ET.parse(written[0]).getroot().tag.endswith("svg")  # noqa: S314 - our own file
    assert written[1].read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert len(list(written[0].parent.iterdir())) == 2


def test_the_same_data_gives_the_same_bytes_and_other_data_others(tmp_path: Path) -> None:
    first = plots.save(FIGURE, tmp_path / "1")
    again = plots.save(Figure.from_json(FIGURE.to_json()), tmp_path / "2")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]
    panel = FIGURE.panels[0]
    moved = replace(panel, series=[replace(panel.series[0], y=[0.5, 0.71]), *panel.series[1:]])
    other = plots.save(replace(FIGURE, panels=[moved, FIGURE.panels[1]]), tmp_path / "3")
    assert all(one.read_bytes() != two.read_bytes() for one, two in zip(first, other, strict=True))


def test_what_is_drawn_has_the_labels_the_legend_and_the_bounds() -> None:
    panel = FIGURE.panels[0]
    axes = plots.Canvas().add_subplot()
    plots._draw(axes, panel)
    assert (axes.get_title(), axes.get_xlabel(), axes.get_ylabel()) == ("left", "ε", "advantage")
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "symlog")
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["n", "e", "i", "c"]
    assert [line.get_ydata().tolist() for line in axes.get_lines()] == [list(one.y) for one in panel.series]  # type: ignore[union-attr]
    assert len(axes.collections) == 1  # the one band of confidence bounds
    colours = {line.get_color() for line in axes.get_lines()}
    assert len(colours) == len(panel.series)


def test_many_series_of_one_role_and_zero_on_a_symlog_axis_are_drawn(tmp_path: Path) -> None:
    series = [Series(label=str(k), role=Role.NAIVE, x=[1, 2, 3], y=[0.0, 0.0, 0.0]) for k in range(9)]
    panel = Panel(title="t", x_label="x", y_label="y", x_scale="log", y_scale="symlog", series=series)
    assert len(plots.save(Figure(name="many", caption="", panels=[panel] * 3), tmp_path)) == 2


@pytest.mark.parametrize("heights", [[0.1 * k for k in range(11)], [1.0, 0.9], [0.0]])
@pytest.mark.parametrize("y_scale", ["linear", "symlog"])
def test_a_legend_covers_no_line(heights: list[float], y_scale: Any) -> None:
    """Where it stands, and where lines are, is asked of matplotlib, once everything is laid out."""
    series = [
        Series(label=f"a line of some length, {y}", role=Role.NAIVE, x=[1, 2, 3], y=[y, y, y]) for y in heights * 2
    ]
    panel = Panel(title="t", x_label="x", y_label="y", y_scale=y_scale, series=series[:8])
    with mpl.rc_context(plots.STYLE):
        canvas = plots.Canvas(figsize=plots.PANEL_INCHES, layout="tight")
        axes = canvas.add_subplot()
        plots._draw(axes, panel)
        canvas.draw_without_rendering()
    legend = axes.get_legend()
    assert legend is not None
    place = legend.get_window_extent()
    assert place.y1 <= axes.get_window_extent().y1
    for line in axes.get_lines():
        assert not line.get_transform().transform_path(line.get_path()).intersects_bbox(place, filled=False)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.5, "0.5"), (-20.0, "−20"), (1e5, "10⁵"), (2e-4, "2·10⁻⁴"), (-5e7, "−5·10⁷"), (1e-17, "10⁻¹⁷")],
)
def test_numbers_at_ticks_are_plain(value: float, text: str) -> None:
    assert plots._plain_number(value, 0) == text


@pytest.mark.parametrize(("most", "least_ticks"), [(3.0, 2), (90.0, 3), (1e6, 4)])
def test_a_logarithmic_axis_has_several_labelled_ticks_however_short(most: float, least_ticks: int) -> None:
    axes = plots.Canvas().add_subplot()
    line = Series(label="line", role=Role.OTHER, x=[1.0, most], y=[1.0, most])
    plots._draw(axes, Panel(title="t", x_label="x", y_label="y", x_scale="log", y_scale="log", series=[line]))
    for axis in (axes.xaxis, axes.yaxis):
        low, high = axis.get_view_interval()
        assert sum(low <= tick <= high for tick in axis.get_majorticklocs()) >= least_ticks
        assert not len(axis.get_minorticklocs())


def test_room_for_a_legend_adds_no_tick_beyond_the_data() -> None:
    flat = [Series(label=f"line {k}", role=Role.OTHER, x=[0, 1], y=[0.14 * k] * 2) for k in range(8)]
    axes = plots.Canvas().add_subplot()
    plots._draw(axes, Panel(title="t", x_label="x", y_label="y", series=flat))
    assert axes.get_ylim()[1] > 1.2
    assert max(axes.get_yticks()) < 1.1


def test_a_matrix_is_drawn_with_its_names_texts_colours_and_a_key_of_the_verdicts_in_it(tmp_path: Path) -> None:
    matrix = MATRIX.panels[0]
    axes = plots.Canvas().add_subplot()
    plots._draw_matrix(axes, matrix)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["naive", "exact"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["rounding", "cast", "law"]
    assert [text.get_text() for text in axes.texts] == ["0.98", "0.03"]
    red, _, blue = np.asarray(axes.images[0].get_array())[0]
    assert tuple(red) == to_rgb("#c1272d")
    assert tuple(blue) == to_rgb("#0b5fa5")
    assert {text.get_text() for text in axes.get_legend().get_texts()} == {str(verdict) for verdict in Verdict}
    assert len(plots.save(MATRIX, tmp_path)) == 2


def test_every_verdict_has_a_colour_of_its_own() -> None:
    assert len({plots.VERDICT_COLOURS[verdict] for verdict in Verdict}) == len(Verdict)


def test_a_folder_that_cannot_be_written_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        plots.save(FIGURE, tmp_path / "file")


def test_neither_the_referee_nor_the_command_line_imports_matplotlib_before_something_is_drawn() -> None:
    code = "import sys, attacklab.referee, attacklab.cli; print('matplotlib' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 - our own code
    assert run.stdout.strip() == "False"

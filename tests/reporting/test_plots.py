"""Drawing: a figure is one file, the same data gives the same bytes, and only `plots` pays for matplotlib."""

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure as Canvas

from attacklab.model.findings import Verdict
from attacklab.reporting import plots
from tests.reporting.test_figures import FIGURE, MATRIX

pytestmark = pytest.mark.slow


def test_a_figure_is_one_svg_whose_text_is_text_and_whose_places_are_short(tmp_path: Path) -> None:
    written = plots.save(FIGURE, tmp_path / "new" / "folder")
    assert (written.name, list(written.parent.iterdir())) == ("some_figure.svg", [written])
    svg = written.read_text("utf-8")
    assert ET.fromstring(svg).tag.endswith("svg")  # noqa: S314 - our own file
    assert ">advantage</text>" in svg
    assert not re.search(r' (?:d|x|y)="[^"]*\d\.\d{3}', svg)
    inline = re.findall(r'style="([^"]*)"', svg)
    rules = dict(re.findall(r"\.(s\d+)\{([^}]*)\}", svg))
    assert len({*inline, *rules.values()}) == len(inline) + len(rules)  # each way of drawing is said once
    assert set(re.findall(r'class="([^"]*)"', svg)) == set(rules)


def test_the_same_data_gives_the_same_bytes_and_other_data_others(tmp_path: Path) -> None:
    first = plots.save(FIGURE, tmp_path / "1")
    again = plots.save(FIGURE, tmp_path / "2")
    assert first.read_bytes() == again.read_bytes()
    panel = FIGURE.panels[0]
    moved = replace(panel, series=[replace(panel.series[0], y=[0.5, 0.71]), *panel.series[1:]])
    other = plots.save(replace(FIGURE, panels=[moved, FIGURE.panels[1]]), tmp_path / "3")
    assert first.read_bytes() != other.read_bytes()


def test_what_is_drawn_has_the_labels_the_legend_and_the_bounds() -> None:
    panel = FIGURE.panels[0]
    canvas = Canvas(layout="constrained")
    axes = canvas.add_subplot()
    plots._draw(axes, panel)
    assert (axes.get_title(), axes.get_xlabel(), axes.get_ylabel()) == ("left", "ε", "advantage")
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "symlog")
    (legend,) = canvas.legends
    assert [text.get_text() for text in legend.get_texts()] == ["n", "e", "i", "c"]
    assert [line.get_ydata().tolist() for line in axes.get_lines()] == [list(one.y) for one in panel.series]
    assert len(axes.collections) == 1  # the one band of confidence bounds
    colours = {line.get_color() for line in axes.get_lines()}
    assert len(colours) == len(panel.series)


def test_a_matrix_is_drawn_with_its_names_texts_colours_and_a_key_of_the_verdicts_in_it(tmp_path: Path) -> None:
    matrix = MATRIX.panels[0]
    canvas = Canvas(layout="constrained")
    axes = canvas.add_subplot()
    plots._draw_matrix(axes, matrix)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["naive", "exact", "slack"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["rounding", "cast", "law"]
    assert [text.get_text() for text in axes.texts] == ["0.98", "0.03"]
    red, _, blue = np.asarray(axes.images[0].get_array())[0]
    assert tuple(red) == to_rgb("#c1272d")
    assert tuple(blue) == to_rgb("#0b5fa5")
    shown = {str(cell.verdict or "not run") for row in matrix.cells for cell in row}
    assert {text.get_text() for text in canvas.legends[0].get_texts()} == shown
    assert len(shown) == len(Verdict) + 1  # and the cells that were not run
    assert plots.save(MATRIX, tmp_path).is_file()

"""Drawing: a figure is one file, the same data gives the same bytes, and only `plots` pays for matplotlib."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure as Canvas

from attacklab.model.findings import Verdict
from attacklab.reporting import plots
from attacklab.reporting.figures import Figure, Panel, Role, Series
from tests.unit.attacklab.reporting.test_figures import FIGURE, MATRIX


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
    axes = Canvas().add_subplot()
    plots._draw(axes, panel)
    assert (axes.get_title(), axes.get_xlabel(), axes.get_ylabel()) == ("left", "ε", "advantage")
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "symlog")
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["n", "e", "i", "c"]
    assert [line.get_ydata().tolist() for line in axes.get_lines()] == [list(one.y) for one in panel.series]
    assert len(axes.collections) == 1  # the one band of confidence bounds
    colours = {line.get_color() for line in axes.get_lines()}
    assert len(colours) == len(panel.series)


def test_a_legend_lies_within_the_figure_and_outside_all_axes() -> None:
    """Where it stands, and where the data are, is asked of matplotlib, once everything is laid out."""
    series = [
        Series(label=f"a line of some length, {y}", role=Role.NAIVE, x=[1, 2, 3], y=[y, y, y])
        for y in np.arange(8) / 10
    ]
    panel = Panel(title="t", x_label="x", y_label="y", series=series)
    canvas = plots.draw(Figure(name="f", caption="", panels=[panel] * 3))
    canvas.draw_without_rendering()
    for axes in canvas.axes:
        legend = axes.get_legend()
        assert legend is not None
        place = legend.get_window_extent()
        assert 0 <= place.x0 < place.x1 <= canvas.bbox.width
        assert 0 <= place.y0 < place.y1 <= canvas.bbox.height
        assert not any(place.overlaps(other.get_window_extent()) for other in canvas.axes)
        assert not place.overlaps(axes.xaxis.label.get_window_extent())


def test_a_legend_has_as_many_columns_as_fit() -> None:
    def columns(letters: int) -> int:
        series = [Series(label="m" * letters, role=Role.NAIVE, x=[1], y=[k]) for k in range(6)]
        panel = Panel(title="t", x_label="x", y_label="y", series=series)
        canvas = plots.draw(Figure(name="f", caption="", panels=[panel]))
        canvas.draw_without_rendering()
        (axes,) = canvas.axes
        return len({round(text.get_window_extent().x0) for text in axes.get_legend().get_texts()})

    assert [columns(letters) for letters in (1, 16, 60)] == [4, 2, 1]


def test_no_place_of_the_grid_stays_empty() -> None:
    count = 3
    panel = replace(FIGURE.panels[0], y_label="")
    canvas = plots.draw(Figure(name="f", caption="", panels=[panel] * count))
    boxes = [axes.get_position() for axes in canvas.axes]
    assert len(boxes) == count
    inch_across, inch_up = (1 / length for length in canvas.get_size_inches())
    baselines = sorted({round(box.y0, 6) for box in boxes}, reverse=True)
    assert len(baselines) == -(-count // 2)
    for baseline in baselines:
        row = sorted((box.x0, box.x1) for box in boxes if round(box.y0, 6) == baseline)
        edges = [0.0, *(edge for sides in row for edge in sides), 1.0]
        assert all(0 < right - left < 0.8 * inch_across for left, right in zip(edges[::2], edges[1::2], strict=True))
    below = [*(max(box.y1 for box in boxes if round(box.y0, 6) == baseline) for baseline in baselines[1:]), 0.0]
    assert all(0 < baseline - top < 1.6 * inch_up for baseline, top in zip(baselines, below, strict=True))


def shades(canvas: Canvas, *roles: Role) -> list[int]:
    """How many pixels within the axes have the first colour of each role."""
    drawn = FigureCanvasAgg(canvas)
    drawn.draw()
    (axes,) = canvas.axes
    x0, y0, x1, y1 = (round(edge) for edge in axes.get_window_extent().extents)
    pixels = np.asarray(drawn.buffer_rgba())[::-1][y0:y1, x0:x1, :3] / 255
    return [int((np.abs(pixels - to_rgb(plots.COLOURS[role][0])).max(axis=2) < 0.02).sum()) for role in roles]


def test_equal_series_both_show() -> None:
    x, y, roles = [0, 1, 2, 3], [0.1, 0.2, 0.4, 0.8], (Role.NAIVE, Role.EXACT)
    equal = [Series(label=str(role), role=role, x=x, y=y) for role in roles]
    panel = Panel(title="t", x_label="x", y_label="y", series=equal)
    figure = Figure(name="f", caption="", panels=[panel])
    both = shades(plots.draw(figure), *roles)
    for role, seen in zip(roles, both, strict=True):
        (only,) = (one for one in equal if one.role is role)
        (alone,) = shades(plots.draw(replace(figure, panels=[replace(panel, series=[only])])), role)
        assert seen > 0.15 * alone > 20


def test_marks_at_one_name_stand_apart() -> None:
    series = [
        Series(label="n", role=Role.NAIVE, x=[0, 1, 2], y=[0.0, 0.5, 1.0], marks_only=True),
        Series(label="e", role=Role.EXACT, x=[0, 1, 2], y=[0.0, 0.1, 0.99], marks_only=True),
    ]
    panel = Panel(title="t", x_label="x", y_label="y", series=series, x_names=["a", "b", "c"])
    (axes,) = plots.draw(Figure(name="f", caption="", panels=[panel])).axes
    naive, exact = (np.asarray(line.get_xdata()) for line in axes.get_lines())
    assert (naive < exact).all()
    assert np.abs(np.concatenate([naive, exact]) - [0, 1, 2] * 2).max() < 0.5
    assert [np.asarray(line.get_ydata()).tolist() for line in axes.get_lines()] == [list(one.y) for one in series]


def test_a_long_line_has_few_markers_and_equal_ones_have_them_at_different_points() -> None:
    x = list(range(60))
    series = [Series(label=str(k), role=Role.EXACT, x=x, y=x) for k in range(2)]
    panel = Panel(title="t", x_label="x", y_label="y", series=series)
    (axes,) = plots.draw(Figure(name="f", caption="", panels=[panel])).axes
    markers: list[Any] = [line.get_markevery() for line in axes.get_lines()]
    marked = [set(range(60)[start::step]) for start, step in markers]
    assert all(5 < len(places) < 20 for places in marked)
    assert not marked[0] & marked[1]


def test_short_names_are_written_on_lines_of_their_own_and_long_ones_aslant() -> None:
    def labels(*names: str) -> list[Any]:
        places = list(range(len(names)))
        mark = Series(label="s", role=Role.OTHER, x=places, y=places, marks_only=True)
        panel = Panel(title="t", x_label="x", y_label="y", series=[mark], x_names=names)
        (axes,) = plots.draw(Figure(name="f", caption="", panels=[panel])).axes
        return axes.get_xticklabels()

    level = labels("no lower clip, smooth", "an age of −10^6, sum", "chunks by position", "budget spent twice", "none")
    assert {label.get_rotation() for label in level} == {0.0}
    assert "".join(level[1].get_text().split()) == "anageof−10⁶,sum"
    boxes = [label.get_window_extent() for label in level]
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))
    assert all(label.get_rotation() > 0 for label in labels(*["naive_gaussian_polar"] * 7))


def test_a_title_wider_than_its_panel_is_broken_and_stays_in_the_figure() -> None:
    panel = replace(FIGURE.panels[0], title="a title of many words " * 6)
    canvas = plots.draw(Figure(name="f", caption="", panels=[panel]))
    (axes,) = canvas.axes
    title = axes.title.get_window_extent()
    assert 0 <= title.x0 < title.x1 <= canvas.bbox.width
    assert axes.get_window_extent().y1 <= title.y0 < title.y1 <= canvas.bbox.height


def test_the_colours_of_naive_and_exact_differ_in_grey_too() -> None:
    naive, exact = (np.dot(to_rgb(plots.COLOURS[role][0]), (0.299, 0.587, 0.114)) for role in (Role.NAIVE, Role.EXACT))
    assert abs(naive - exact) > 0.1


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.5, "0.5"), (-20.0, "−20"), (1e5, "10⁵"), (2e-4, "2·10⁻⁴"), (-5e7, "−5·10⁷"), (1e-17, "10⁻¹⁷")],
)
def test_numbers_at_ticks_are_plain(value: float, text: str) -> None:
    assert plots._plain_number(value, 0) == text


@pytest.mark.parametrize(("most", "least_ticks"), [(3.0, 2), (90.0, 3), (1e6, 4)])
def test_a_logarithmic_axis_has_several_labelled_ticks_however_short(most: float, least_ticks: int) -> None:
    axes = Canvas().add_subplot()
    line = Series(label="line", role=Role.OTHER, x=[1.0, most], y=[1.0, most])
    plots._draw(axes, Panel(title="t", x_label="x", y_label="y", x_scale="log", y_scale="log", series=[line]))
    for axis in (axes.xaxis, axes.yaxis):
        low, high = axis.get_view_interval()
        assert sum(low <= tick <= high for tick in axis.get_majorticklocs()) >= least_ticks
        assert not len(axis.get_minorticklocs())


def test_a_matrix_is_drawn_with_its_names_texts_colours_and_a_key_of_the_verdicts_in_it(tmp_path: Path) -> None:
    matrix = MATRIX.panels[0]
    axes = Canvas().add_subplot()
    plots._draw_matrix(axes, matrix)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["naive", "exact", "slack"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["rounding", "cast", "law"]
    assert [text.get_text() for text in axes.texts] == ["0.98", "0.03"]
    red, _, blue = np.asarray(axes.images[0].get_array())[0]
    assert tuple(red) == to_rgb("#c1272d")
    assert tuple(blue) == to_rgb("#0b5fa5")
    shown = {str(cell.verdict or "not run") for row in matrix.cells for cell in row}
    assert {text.get_text() for text in axes.get_legend().get_texts()} == shown
    assert len(shown) == len(Verdict) + 1  # and the cells that were not run
    assert plots.save(MATRIX, tmp_path).is_file()


def test_a_folder_that_cannot_be_written_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        plots.save(FIGURE, tmp_path / "file")

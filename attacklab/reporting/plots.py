"""Drawing figures, from data alone. The one place that imports matplotlib."""

from __future__ import annotations

import io
import itertools
import math
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from attacklab.model.files import write_whole
from attacklab.model.findings import Verdict
from attacklab.reporting.figures import MINUS, Figure, Matrix, Panel, Role, Scale, Series, typeset

COLOURS = {
    Role.NAIVE: ("#b2182b", "#e8743b", "#7a1048", "#b8860b", "#7a5195"),
    Role.EXACT: ("#2b7fc4", "#1b8a7a", "#6fb7e9", "#264653"),
    Role.IDEAL: ("#6c757d", "#9aa0a6", "#495057", "#adb5bd"),
    Role.CEILING: ("#000000", "#555555"),
    Role.OTHER: ("#3d3d3d", "#6a994e", "#bc6c25", "#577590", "#9c6ba8"),
}
LINES: dict[Role, tuple[Any, ...]] = {
    Role.NAIVE: ("-", (0, (6, 2)), (0, (3, 2)), (0, (6, 2, 1, 2)), (0, (1, 1.5))),
    Role.EXACT: ("-", (0, (6, 2)), (0, (3, 2)), (0, (6, 2, 1, 2))),
    Role.IDEAL: ("--", "-.", (0, (2, 1)), (0, (8, 2))),
    Role.CEILING: (":", (0, (4, 1.5, 1, 1.5))),
    Role.OTHER: ("-", (0, (6, 2)), (0, (3, 2)), (0, (6, 2, 1, 2)), (0, (1, 1.5))),
}
"""Lines of each role in turn; what lies below shows through the gaps of all but the first."""

MEASURED = (Role.NAIVE, Role.OTHER, Role.EXACT)
"""Roles with markers, from the bottom to the top."""

MARKERS = ("o", "s", "^", "D", "v", "P")
MARKER_POINTS = (9.0, 7.0, 4.5)
LINE_POINTS = (3.2, 1.8, 1.2)
"""What is drawn first, what is drawn alone, and what is drawn last, over all the others."""

MOST_MARKERS = 14
"""On a line of more points, only every second, third, … of them has a marker."""

STYLE: Any = {
    "figure.dpi": 150,
    "font.size": 10,
    "font.sans-serif": ["DejaVu Sans"],  # the name of each other one would stand at every text of an SVG
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "legend.handlelength": 2.2,
    "legend.borderpad": 0.2,
    "legend.borderaxespad": 0,
    "legend.columnspacing": 1.2,
    "svg.fonttype": "none",
    "svg.hashsalt": "attacklab",
}
NOT_SAID = dict.fromkeys(("Creator", "Date", "Format", "Type"))
"""What the same drawing would not have twice, or nobody asks for."""

PLACES = re.compile(r'(\b(?:d|x|y|width|height|viewBox|points)="|translate\()([^")]*)')
NOT_TURNED = re.compile(r' transform="rotate\(-?0 [^)]*\)"')
INLINE_STYLE = re.compile(r' style="([^"]*)"')
LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")

VERDICT_COLOURS: dict[Verdict | None, str] = {
    Verdict.VIOLATED: "#c1272d",
    Verdict.PROVED: "#0b5fa5",
    Verdict.NOT_DETECTED: "#ced4da",
    Verdict.INCONCLUSIVE: "#f6dc8b",
    Verdict.ERROR: "#edb200",
    Verdict.NOT_APPLICABLE: "#ffffff",
    None: "#e3d5ee",
}
DARK = (Verdict.VIOLATED, Verdict.PROVED)
"""Verdicts on whose colour text is white."""

MOST_COLUMNS = 2
PANEL_INCHES = 5.6
"""The width of a panel with all that is written around it."""

AXES_INCHES = 3.2
NAME_INCHES = 0.24
"""The height of a panel's axes: this much, or this much for each name at their side, whichever is more."""

CELL_INCHES = (0.46, 0.25)
CELL_POINTS = 8
PAD_INCHES = 0.1
KEY_PAD_INCHES = 0.08
"""What is left free around a panel, and between it and its legend."""

NAME_SHARE = 0.92
"""How much of the room between two ticks a name may fill."""

WITHIN_DECADES = (1.0, 2.0, 5.0)
"""The ticks of a logarithmic axis that is too short for powers of ten alone."""

SIDE_STEP, ALL_STEPS = 0.22, 0.8
"""How far apart marks at one name stand, and how far all of them reach at most, in shares of a name."""


@dataclass(slots=True)
class _Slot:
    """A panel's axes and what they take, in inches: the whole width; the axes; the margins, where text stands."""

    axes: Axes
    width: float
    inner: tuple[float, float]
    left: float = 0.0
    bottom: float = 0.0
    right: float = 0.0
    top: float = 0.0

    @property
    def key_height(self) -> float:
        """The height of the legend and of the gap above it; nothing where there is none."""
        legend = self.axes.get_legend()
        if legend is None:
            return 0.0
        return legend.get_window_extent().height / legend.figure.dpi + KEY_PAD_INCHES


def save(figure: Figure, folder: Path) -> Path:
    """Draw a figure as SVG.

    Args:
        figure: what to draw.
        folder: where to; made if it is not there.

    Returns:
        The file written.

    Raises:
        OSError: the folder cannot be written.
    """
    canvas, svg, path = draw(figure), io.StringIO(), folder / f"{figure.name}.svg"
    with mpl.rc_context(STYLE):
        FigureCanvasSVG(canvas).print_svg(svg, metadata=NOT_SAID)  # type: ignore[no-untyped-call] # matplotlib gives no types
    write_whole(path, _compact(svg.getvalue()))
    return path


def _compact(svg: str) -> str:
    """The drawing with places in hundredths of a point, which nobody can tell from finer ones, and no indentation.

    What is drawn in the same way shares a class. Where a reader has no DejaVu Sans, Verdana is as wide.
    """
    svg = NOT_TURNED.sub("", svg).replace("'DejaVu Sans'", "'DejaVu Sans', Verdana")
    rounded = PLACES.sub(
        lambda place: place[1] + LONG_NUMBER.sub(lambda number: f"{float(number[0]):.2f}", place[2]), svg
    )
    ways = Counter(INLINE_STYLE.findall(rounded))
    names = {way: f"s{number}" for number, way in enumerate(way for way, uses in ways.items() if uses > 1)}
    rounded = INLINE_STYLE.sub(lambda way: f' class="{names[way[1]]}"' if way[1] in names else way[0], rounded)
    rules = "\n".join(f".{name}{{{way}}}" for way, name in names.items())
    return re.sub(r"\s*\n\s*", "\n", rounded.replace("</style>", f"\n{rules}</style>", 1))


def draw(figure: Figure) -> Canvas:
    """Draw a figure's panels, each with its legend below it, and lay them out so that nothing covers anything else.

    Args:
        figure: what to draw.

    Returns:
        The drawing, of the size that its text takes.
    """
    with mpl.rc_context(STYLE):
        canvas = Canvas(figsize=(PANEL_INCHES * MOST_COLUMNS, PANEL_INCHES))
        FigureCanvasAgg(canvas)
        rows = [
            [_slot(canvas, panel, width) for panel, width in zip(row, widths, strict=True)]
            for row, widths in _rows(figure.panels)
        ]
        _lay_out(canvas, rows)
    return canvas


def _rows(panels: Sequence[Panel | Matrix]) -> Iterator[tuple[Sequence[Panel | Matrix], list[float]]]:
    """Rows of panels with their widths in inches: every row is as wide as the first."""
    columns = min(len(panels), 1 if isinstance(panels[0], Matrix) else MOST_COLUMNS)
    for first in range(0, len(panels), columns):
        row = panels[first : first + columns]
        yield row, [PANEL_INCHES * columns / len(row)] * len(row)


def _slot(canvas: Canvas, panel: Panel | Matrix, width: float) -> _Slot:
    axes = canvas.add_axes((0.1, 0.1, 0.8, 0.8))
    if isinstance(panel, Matrix):
        inner = (CELL_INCHES[0] * len(panel.column_names), CELL_INCHES[1] * len(panel.row_names))
        _draw_matrix(axes, panel)
        return _Slot(axes, width, inner)
    _draw(axes, panel, width)
    return _Slot(axes, width, (width - 1, max(AXES_INCHES, NAME_INCHES * (len(panel.y_names) + 1))))


def _lay_out(canvas: Canvas, rows: list[list[_Slot]]) -> None:
    """Measure the text around the axes and give every row, and the figure, the room that it takes."""
    slots = [slot for row in rows for slot in row]
    for _ in range(2):  # what is written at the ticks depends on the width that the first pass finds
        for slot in slots:
            _measure(canvas, slot)
    width = max(sum(slot.width for slot in row) for row in rows)
    heights = []
    for row in rows:
        inner = max(slot.inner[1] for slot in row)
        for slot in row:
            slot.inner = (slot.inner[0], inner)
        below = max(slot.bottom + slot.key_height for slot in row)
        heights.append(max(slot.top for slot in row) + inner + below + 2 * PAD_INCHES)
    canvas.set_size_inches(width, sum(heights))
    top = sum(heights)
    for row, height in zip(rows, heights, strict=True):
        baseline = top - PAD_INCHES - max(slot.top for slot in row) - row[0].inner[1]
        left = 0.0
        for slot in row:
            _place(canvas, slot, left, baseline)
            left += slot.width
        top -= height


def _measure(canvas: Canvas, slot: _Slot) -> None:
    """Find the margins at the present width of the axes, and the width that they leave (a matrix: the whole width)."""
    axes, (width, height) = slot.axes, slot.inner
    all_width, all_height = canvas.get_size_inches()
    axes.set_position((0.3, 0.3, width / all_width, height / all_height))
    if not axes.images and isinstance(axes.xaxis.get_major_locator(), FixedLocator):
        _fit_names(axes, width)
    inner, drawn = axes.get_window_extent(), axes.get_tightbbox()
    assert drawn is not None  # noqa: S101 - axes that can be seen have one
    title = axes.title.get_window_extent()  # in the middle of the slot, and so at neither side of the axes
    slot.left, slot.right = ((inner.x0 - drawn.x0) / canvas.dpi, (drawn.x1 - inner.x1) / canvas.dpi)
    slot.bottom, slot.top = ((inner.y0 - drawn.y0) / canvas.dpi, (max(drawn.y1, title.y1) - inner.y1) / canvas.dpi)
    margins = slot.left + slot.right + 2 * PAD_INCHES
    if axes.images:
        slot.width = width + margins
    else:
        slot.inner = (slot.width - margins, height)
    if title.width / canvas.dpi > slot.width - 2 * PAD_INCHES:
        text = axes.get_title()
        axes.set_title("\n".join(textwrap.wrap(text, math.ceil(0.55 * len(text)))))


def _fit_names(axes: Axes, width: float) -> None:
    """Write the names below the axes on several lines, or aslant where a word is too long for that."""
    names = [" ".join(label.get_text().split()) for label in axes.get_xticklabels()]
    room = NAME_SHARE * axes.figure.dpi * width / len(names)
    axes.set_xticks(axes.get_xticks(), names, rotation=0, ha="center")
    longest = max(axes.get_xticklabels(), key=lambda label: len(label.get_text()))
    letters = int(room * len(longest.get_text()) / longest.get_window_extent().width)
    wrapped = ["\n".join(textwrap.wrap(name, max(1, letters), break_long_words=False)) for name in names]
    axes.set_xticks(axes.get_xticks(), wrapped)
    if max(label.get_window_extent().width for label in axes.get_xticklabels()) > room:
        axes.set_xticks(axes.get_xticks(), names, rotation=25, ha="right", rotation_mode="anchor")


def _place(canvas: Canvas, slot: _Slot, left: float, baseline: float) -> None:
    """Put axes above their baseline, and the legend below what is written under them, in inches from the lower left."""
    all_width, all_height = canvas.get_size_inches()
    (width, height), start = slot.inner, left + slot.left + PAD_INCHES
    slot.axes.set_position((start / all_width, baseline / all_height, width / all_width, height / all_height))
    middle = left + slot.width / 2
    spare = max(0.0, slot.width / 2 - PAD_INCHES - slot.axes.title.get_window_extent().width / canvas.dpi / 2)
    title = min(max(start + width / 2, middle - spare), middle + spare)  # over the axes, or as near as it fits
    slot.axes.title.set_x((title - start) / width)
    legend = slot.axes.get_legend()
    if legend is not None:
        below = baseline - slot.bottom - KEY_PAD_INCHES
        legend.set_loc("upper center")
        legend.set_bbox_to_anchor((middle / all_width, below / all_height), canvas.transFigure)


def _draw_legend(axes: Axes, handles: Sequence[Artist], width: float) -> None:
    """Draw the legend in as many columns as fit into a width in inches; `_place` puts it where it belongs."""
    for columns in range(min(4, len(handles)), 0, -1):
        legend = axes.legend(handles=handles, ncols=columns, loc="upper center")  # "best" would search in vain
        legend.set_in_layout(False)
        if legend.get_window_extent().width / axes.figure.dpi <= width:
            return


def _draw_matrix(axes: Axes, matrix: Matrix) -> None:
    axes.imshow(
        [[to_rgb(VERDICT_COLOURS[cell.verdict]) for cell in row] for row in matrix.cells],
        aspect="auto",
        interpolation="nearest",
    )
    for y, row in enumerate(matrix.cells):
        for x, cell in enumerate(row):
            if cell.text:
                colour = "white" if cell.verdict in DARK else "black"
                axes.text(
                    x, y, typeset(cell.text), ha="center", va="center_baseline", fontsize=CELL_POINTS, color=colour
                )
    axes.set_title(typeset(matrix.title)).set_in_layout(False)
    axes.set_xticks(
        range(len(matrix.column_names)),
        [typeset(name) for name in matrix.column_names],
        rotation=45,
        ha="left",
        rotation_mode="anchor",
    )
    axes.set_yticks(range(len(matrix.row_names)), [typeset(name) for name in matrix.row_names])
    axes.set_xticks([x - 0.5 for x in range(len(matrix.column_names) + 1)], minor=True)
    axes.set_yticks([y - 0.5 for y in range(len(matrix.row_names) + 1)], minor=True)
    axes.tick_params(which="both", length=0, top=False, labeltop=True, labelbottom=False)
    axes.grid(visible=False, which="major")
    axes.set_axisbelow(False)
    axes.grid(which="minor", color="#e9ecef", linewidth=0.8, alpha=1)
    axes.spines[:].set_visible(False)
    shown = {cell.verdict for row in matrix.cells for cell in row}
    keys = [
        Patch(facecolor=colour, edgecolor="#adb5bd", label=verdict or "not run")
        for verdict, colour in VERDICT_COLOURS.items()
        if verdict in shown
    ]
    _draw_legend(axes, keys, CELL_INCHES[0] * len(matrix.column_names))


def _draw(axes: Axes, panel: Panel, width: float = PANEL_INCHES) -> None:
    axes.set_title(typeset(panel.title)).set_in_layout(False)
    axes.set_xlabel(typeset(panel.x_label))
    axes.set_ylabel(typeset(panel.y_label))
    axes.set_xscale(panel.x_scale)
    if panel.y_scale == "symlog":
        least = min((abs(y) for series in panel.series for y in series.y if y), default=1.0)
        axes.set_yscale("symlog", linthresh=least)
    else:
        axes.set_yscale(panel.y_scale)
    keys = _draw_all_series(axes, panel)
    axes.autoscale_view()
    _label_ticks(axes.xaxis, panel.x_scale)
    _label_ticks(axes.yaxis, panel.y_scale)
    if panel.x_names:
        axes.set_xticks(range(len(panel.x_names)), [typeset(name) for name in panel.x_names])
        axes.set_xlim(-0.5, len(panel.x_names) - 0.5)
    if panel.y_names:
        axes.set_yticks(range(len(panel.y_names)), [typeset(name) for name in panel.y_names])
        axes.set_ylim(-0.6, len(panel.y_names) - 0.4)
    if len(keys) > 1:
        _draw_legend(axes, keys, width - 2 * PAD_INCHES)


def _label_ticks(axis: Axis, scale: Scale) -> None:
    if scale == "log":
        low, high = axis.get_view_interval()
        axis.set_major_locator(LogLocator(subs=WITHIN_DECADES if high < 100 * low else (1.0,), numticks=8))
    if scale != "linear":
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(_plain_number))


def _draw_all_series(axes: Axes, panel: Panel) -> list[Artist]:
    """Draw the series so that equal ones all show: each thinner than the one below it, and marks side by side.

    Returns:
        Their entries in the legend, in the panel's order.
    """
    shown = _side_by_side(panel)
    upwards = sorted(range(len(shown)), key=lambda place: _height(shown[place].role))
    counts, markers = dict.fromkeys(Role, 0), itertools.count()
    keys: list[Artist] = []
    for place, series in enumerate(shown):
        rank = upwards.index(place) / (len(shown) - 1) if len(shown) > 1 and not series.marks_only else 0.5
        marker = next(markers) if series.role in MEASURED else 0
        keys.append(_draw_series(axes, series, counts[series.role], marker, rank))
        counts[series.role] += 1
    return keys


def _height(role: Role) -> int:
    return MEASURED.index(role) if role in MEASURED else len(MEASURED)


def _draw_series(axes: Axes, series: Series, of_its_role: int, measured_before: int, rank: float) -> Artist:
    colour, line = (choice[series.role][of_its_role % len(choice[series.role])] for choice in (COLOURS, LINES))
    measured, exact = series.role in MEASURED, series.role is Role.EXACT
    marker_size, line_width = (float(np.interp(rank, (0, 0.5, 1), sizes)) for sizes in (MARKER_POINTS, LINE_POINTS))
    every = 1 if series.marks_only else -(-len(series.x) // MOST_MARKERS)
    (drawn,) = axes.plot(
        series.x,
        series.y,
        linestyle="" if series.marks_only else line,
        marker=MARKERS[measured_before % len(MARKERS)] if measured else "",
        markevery=(measured_before % every, every),
        markersize=marker_size - 0.8 * exact,  # their edges are drawn outside
        markerfacecolor="white" if exact else colour,
        markeredgecolor=colour if exact else "white",
        markeredgewidth=1.2 if exact else 0.5,
        color=colour,
        linewidth=line_width if measured else 1.2,
        label=typeset(series.label),
        zorder=3 + rank if measured else 5,
    )
    if series.lower and series.upper:
        axes.fill_between(series.x, series.lower, series.upper, color=colour, alpha=0.18, linewidth=0)
    return drawn


def _side_by_side(panel: Panel) -> list[Series]:
    """Move the marks of several series at one name apart."""
    marks = [place for place, series in enumerate(panel.series) if series.marks_only]
    if not (panel.x_names or panel.y_names):
        return list(panel.series)
    shown, step = list(panel.series), min(SIDE_STEP, ALL_STEPS / max(1, len(marks)))
    along = "x" if panel.x_names else "y"
    for number, place in enumerate(marks):
        moved = [at + step * (number - (len(marks) - 1) / 2) for at in getattr(shown[place], along)]
        shown[place] = replace(shown[place], **{along: moved})  # type: ignore[arg-type] # both are places
    return shown


def _plain_number(value: float, _position: int) -> str:
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:g}".replace("-", MINUS)
    power = math.floor(math.log10(abs(value)) + 1e-9)
    factor = f"{abs(value) / 10.0**power:.3g}"
    return typeset(f"{MINUS if value < 0 else ''}{factor}e{power}")

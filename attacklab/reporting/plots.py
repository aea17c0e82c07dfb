"""Drawing figures, from data alone. The one place that imports matplotlib."""

import io
import itertools
import math
import re
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
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
from matplotlib.figure import SubFigure
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
"""Line styles of each role, in order. Gaps in all but the first let a line below show through."""

MEASURED = (Role.NAIVE, Role.OTHER, Role.EXACT)
"""The roles whose series have markers, from the bottom one to the top one."""

MARKERS = ("o", "s", "^", "D", "v", "P")
MARKER_POINTS = (9.0, 7.0, 4.5)
LINE_POINTS = (3.2, 1.8, 1.2)
"""Marker sizes and line widths, in points: of the bottom series, of a middle or single one, and of the top one."""

MOST_MARKERS = 14
"""A line has at most this many markers. If it has more points, only every second, third, … one is marked."""

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
"""Metadata that an SVG does not get: the date would differ in each run, and nobody needs the rest."""

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
"""Verdicts with a dark colour, on which text is white."""

MOST_COLUMNS = 2
PANEL_INCHES = 5.6
"""The width of a panel, with the text around it."""

AXES_INCHES = 3.2
NAME_INCHES = 0.24
"""A panel's axes are `AXES_INCHES` high, or `NAME_INCHES` for each name at their side, whichever is more."""

CELL_INCHES = (0.46, 0.25)
CELL_POINTS = 8
NAME_SHARE = 0.92
"""The share of the room between two ticks that a name may fill."""

WITHIN_DECADES = (1.0, 2.0, 5.0)
"""The multiples of powers of ten that get ticks on a logarithmic axis of less than two decades."""

SIDE_STEP, ALL_STEPS = 0.22, 0.8
"""The distance between two marks at one name, and the largest width of all marks there. Names are 1 apart."""


def save(figure: Figure, folder: Path) -> Path:
    """Draw a figure as SVG.

    Args:
        figure: what to draw.
        folder: the folder to write to; it is made if it is not there.

    Returns:
        The path of the file.

    Raises:
        OSError: the folder cannot be written.
    """
    canvas, svg, path = draw(figure), io.StringIO(), folder / f"{figure.name}.svg"
    with mpl.rc_context(STYLE):
        FigureCanvasSVG(canvas).print_svg(svg, metadata=NOT_SAID)  # type: ignore[no-untyped-call] # matplotlib gives no types
    write_whole(path, _compact(svg.getvalue()))
    return path


def _compact(svg: str) -> str:
    """Return a smaller SVG: coordinates in hundredths of a point, no indentation, and a class for each repeated style.

    Verdana is the second font after DejaVu Sans, because it is as wide.
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
    """Draw a figure's panels, each with its legend below it.

    Args:
        figure: what to draw.

    Returns:
        The drawing, as large as its axes and the text around them need.
    """
    columns = min(len(figure.panels), 1 if isinstance(figure.panels[0], Matrix) else MOST_COLUMNS)
    rows = [figure.panels[first : first + columns] for first in range(0, len(figure.panels), columns)]
    with mpl.rc_context(STYLE):
        canvas = Canvas(figsize=(PANEL_INCHES * columns, PANEL_INCHES * len(rows)), layout="constrained")
        FigureCanvasAgg(canvas)
        grid = canvas.add_gridspec(len(rows), columns)
        drawn = [
            [
                _panel(canvas.add_subfigure(grid[y, x if len(row) == columns else slice(None)]), panel)
                for x, panel in enumerate(row)
            ]
            for y, row in enumerate(rows)
        ]
        heights = [PANEL_INCHES] * len(rows)
        for _ in range(3):  # the size of the text is known once it is laid out, and moves with the size of the figure
            canvas.draw_without_rendering()
            missing = [max(_missing(axes, *wanted)[1] for axes, wanted in row) for row in drawn]
            wider = max(_missing(axes, *wanted)[0] for row in drawn for axes, wanted in row)
            heights = [height + more for height, more in zip(heights, missing, strict=True)]
            grid.set_height_ratios(heights)
            canvas.set_size_inches(canvas.get_figwidth() + wider, sum(heights))
            for axes, _ in itertools.chain(*drawn):
                _fit_text(axes)
        canvas.draw_without_rendering()
    return canvas


def _panel(part: SubFigure, panel: Panel | Matrix) -> tuple[Axes, tuple[float, float]]:
    """Draw a panel. Return its axes and the width and height that they need, in inches; a width of 0 means any."""
    axes = part.add_subplot()
    if isinstance(panel, Matrix):
        _draw_matrix(axes, panel)
        return axes, (CELL_INCHES[0] * len(panel.column_names), CELL_INCHES[1] * len(panel.row_names))
    _draw(axes, panel)
    return axes, (0.0, max(AXES_INCHES, NAME_INCHES * (len(panel.y_names) + 1)))


def _missing(axes: Axes, width: float, height: float) -> tuple[float, float]:
    """Return by how many inches axes are narrower and lower than `width` and `height`; a width of 0 means any."""
    now = axes.get_window_extent()
    dpi = axes.figure.dpi
    return (width - now.width / dpi if width else 0.0, height - now.height / dpi)


def _fit_text(axes: Axes) -> None:
    """Wrap the title if it is too wide. Wrap the names below the axes, or slant them if they are still too wide."""
    room, title = axes.figure.bbox, axes.title
    if title.get_window_extent().x0 < room.x0 or title.get_window_extent().x1 > room.x1:
        axes.set_title("\n".join(textwrap.wrap(title.get_text(), math.ceil(0.55 * len(title.get_text())))))
    if axes.images or not isinstance(axes.xaxis.get_major_locator(), FixedLocator):
        return
    names = [" ".join(label.get_text().split()) for label in axes.get_xticklabels()]
    share = NAME_SHARE * axes.get_window_extent().width / len(names)
    axes.set_xticks(axes.get_xticks(), names, rotation=0, ha="center")
    longest = max(axes.get_xticklabels(), key=lambda label: len(label.get_text()))
    letters = int(share * len(longest.get_text()) / longest.get_window_extent().width)
    wrapped = ["\n".join(textwrap.wrap(name, max(1, letters), break_long_words=False)) for name in names]
    axes.set_xticks(axes.get_xticks(), wrapped)
    if max(label.get_window_extent().width for label in axes.get_xticklabels()) > share:
        axes.set_xticks(axes.get_xticks(), names, rotation=25, ha="right", rotation_mode="anchor")


def _draw_legend(axes: Axes, handles: Sequence[Artist], most: int) -> None:
    """Draw the legend below the axes, in the most columns that fit, at most `most`."""
    part = axes.figure
    for columns in range(min(most, len(handles)), 0, -1):
        legend = part.legend(handles=handles, ncols=columns, loc="outside lower center")
        if columns == 1 or legend.get_window_extent().width <= part.bbox.width:
            return
        legend.remove()


def _draw_matrix(axes: Axes, matrix: Matrix) -> None:
    axes.imshow(
        [[to_rgb(VERDICT_COLOURS[cell.verdict]) for cell in row] for row in matrix.cells],
        aspect="auto",
        interpolation="nearest",
    )
    for (y, x), cell in np.ndenumerate(np.array(matrix.cells, dtype=object)):
        if cell.text:
            style: Any = {"ha": "center", "va": "center_baseline", "fontsize": CELL_POINTS}
            axes.text(x, y, typeset(cell.text), color="white" if cell.verdict in DARK else "black", **style)
    axes.set_title(typeset(matrix.title))
    columns, rows = (list(map(typeset, names)) for names in (matrix.column_names, matrix.row_names))
    axes.set_xticks(range(len(columns)), columns, rotation=45, ha="left", rotation_mode="anchor")
    axes.set_yticks(range(len(rows)), rows)
    axes.set_xticks(np.arange(len(columns) + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(len(rows) + 1) - 0.5, minor=True)
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
    _draw_legend(axes, keys, 4)


def _draw(axes: Axes, panel: Panel) -> None:
    axes.set_title(typeset(panel.title))
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
        _draw_legend(axes, keys, 4)


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
        The entries of the legend, in the panel's order.
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
    """Return the panel's series, with marks of several series at one name moved apart."""
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

"""Drawing figures, from data alone. The one place that imports matplotlib."""

from __future__ import annotations

import io
import itertools
import math
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from numpy.typing import NDArray

from attacklab.findings import Verdict, write_whole
from attacklab.reporting.figures import Figure, Matrix, Panel, Role, Series

COLOURS = {
    Role.NAIVE: ("#c1272d", "#e8743b", "#8c1a4b", "#b8860b", "#7a5195"),
    Role.EXACT: ("#0b5fa5", "#2a9d8f", "#5aa9e6", "#264653"),
    Role.IDEAL: ("#6c757d", "#9aa0a6", "#495057", "#adb5bd"),
    Role.CEILING: ("#000000", "#555555"),
    Role.OTHER: ("#3d3d3d", "#6a994e", "#bc6c25", "#577590"),
}
LINES = {Role.NAIVE: "-", Role.EXACT: "-", Role.IDEAL: "--", Role.CEILING: ":", Role.OTHER: "-"}
MEASURED = (Role.NAIVE, Role.EXACT, Role.OTHER)
MARKERS = ("o", "s", "^", "D", "v")
STYLE: Any = {
    "figure.dpi": 150,
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "legend.frameon": True,
    "legend.framealpha": 0.8,
    "legend.edgecolor": "none",
    "legend.fontsize": 8.5,
    "svg.fonttype": "path",
    "svg.hashsalt": "attacklab",
}
VERDICT_COLOURS = {
    Verdict.VIOLATED: "#c1272d",
    Verdict.PROVED: "#0b5fa5",
    Verdict.NOT_DETECTED: "#ced4da",
    Verdict.INCONCLUSIVE: "#f6dc8b",
    Verdict.ERROR: "#edb200",
    Verdict.NOT_APPLICABLE: "#ffffff",
}
DARK = (Verdict.VIOLATED, Verdict.PROVED)
"""Verdicts on whose colour text is white."""

PANEL_INCHES = (6.2, 4.4)
CELL_INCHES = (0.62, 0.26)
MARGIN_INCHES = (3.6, 2.4)
"""What the names of a matrix take."""

MOST_COLUMNS = 2

KEY_SHARE, LETTER_SHARE, LINE_SHARE = 0.11, 0.0135, 0.056
"""What a legend takes of a panel, about: the width of its keys and of a letter, the height of a line."""

WITHIN_DECADES = (1.0, 2.0, 5.0)
"""The ticks of a logarithmic axis that is too short for powers of ten alone."""

BETWEEN = (0.2, 0.4, 0.6, 0.8)
"""Where along a line it is looked whether a legend would cover it."""

MINUS = "\N{MINUS SIGN}"
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
"""Powers of ten in plain text: matplotlib's own notation takes it a parser."""


def save(figure: Figure, folder: Path) -> list[Path]:
    """Draw a figure as SVG and PNG.

    Args:
        figure: what to draw.
        folder: where to; made if it is not there.

    Returns:
        The two files written.

    Raises:
        OSError: the folder cannot be written.
    """
    with mpl.rc_context(STYLE):
        width, height = map(max, zip(*map(_inches, figure.panels), strict=True))
        columns = min(len(figure.panels), 1 if isinstance(figure.panels[0], Matrix) else MOST_COLUMNS)
        rows = -(-len(figure.panels) // columns)
        canvas = Canvas(figsize=(width * columns, height * rows), layout="tight")
        for place, panel in enumerate(figure.panels, 1):
            axes = canvas.add_subplot(rows, columns, place)
            if isinstance(panel, Matrix):
                _draw_matrix(axes, panel)
            else:
                _draw(axes, panel)
        # The canvases of the two formats, not `savefig`, which draws everything once more beforehand, to lay it out.
        png, svg = io.BytesIO(), io.BytesIO()
        FigureCanvasAgg(canvas).print_png(png, metadata={"Software": None})  # type: ignore[no-untyped-call] # matplotlib gives no types
        canvas.set_layout_engine("none")  # the layout is in shares of the figure, whatever the format
        FigureCanvasSVG(canvas).print_svg(svg, metadata={"Date": None})  # type: ignore[no-untyped-call] # nor here
    written = []
    for ending, content in (("svg", svg), ("png", png)):
        path = folder / f"{figure.name}.{ending}"
        write_whole(path, content.getvalue())
        written.append(path)
    return written


def _inches(panel: Panel | Matrix) -> tuple[float, float]:
    if isinstance(panel, Panel):
        return PANEL_INCHES
    columns, rows = len(panel.column_names), len(panel.row_names)
    return MARGIN_INCHES[0] + CELL_INCHES[0] * columns, MARGIN_INCHES[1] + CELL_INCHES[1] * rows


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
                axes.text(x, y, cell.text, ha="center", va="center", fontsize=7, color=colour)
    axes.set_title(matrix.title, fontsize=11)
    axes.set_xticks(range(len(matrix.column_names)), matrix.column_names, rotation=45, ha="left")
    axes.set_yticks(range(len(matrix.row_names)), matrix.row_names)
    axes.set_xticks([x - 0.5 for x in range(len(matrix.column_names) + 1)], minor=True)
    axes.set_yticks([y - 0.5 for y in range(len(matrix.row_names) + 1)], minor=True)
    axes.tick_params(which="both", length=0, top=False, labeltop=True, labelbottom=False)
    axes.grid(visible=False, which="major")
    axes.grid(which="minor", color="#e9ecef", linewidth=0.8, alpha=1)
    axes.spines[:].set_visible(False)
    shown = {cell.verdict for row in matrix.cells for cell in row}
    keys = [
        Patch(facecolor=colour, edgecolor="#adb5bd", label=str(verdict))
        for verdict, colour in VERDICT_COLOURS.items()
        if verdict in shown
    ]
    axes.legend(handles=keys, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=min(3, len(keys)))


def _draw(axes: Axes, panel: Panel) -> None:
    counts = dict.fromkeys(Role, 0)
    measured = 0
    for series in panel.series:
        _draw_series(axes, series, counts[series.role], measured)
        counts[series.role] += 1
        measured += series.role in MEASURED
    axes.set_title(panel.title, fontsize=11, y=1.0)  # where it would be put anyhow, after measuring all ticks
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    axes.set_xscale(panel.x_scale)
    if panel.y_scale == "symlog":
        least = min((abs(y) for series in panel.series for y in series.y if y), default=1.0)
        axes.set_yscale("symlog", linthresh=least)
    else:
        axes.set_yscale(panel.y_scale)
    axes.autoscale_view()
    for axis, scale in ((axes.xaxis, panel.x_scale), (axes.yaxis, panel.y_scale)):
        if scale == "log":
            low, high = axis.get_view_interval()
            axis.set_major_locator(LogLocator(subs=WITHIN_DECADES if high < 100 * low else (1.0,), numticks=8))
        if scale != "linear":
            axis.set_minor_locator(NullLocator())
            axis.set_major_formatter(FuncFormatter(_plain_number))
    if panel.x_names:
        axes.set_xticks(range(len(panel.x_names)), panel.x_names, rotation=25, ha="right")
    if panel.y_names:
        axes.set_yticks(range(len(panel.y_names)), panel.y_names)
        axes.set_ylim(-0.6, len(panel.y_names) - 0.4)
    if len(panel.series) > 1:
        _draw_legend(axes, panel)


def _draw_legend(axes: Axes, panel: Panel) -> None:
    """Draw the legend where it covers no data; above all of them, in room made for it, where there is no such place."""
    letters = max(len(series.label) for series in panel.series)
    width, height = KEY_SHARE + LETTER_SHARE * letters, LINE_SHARE * (len(panel.series) + 0.5)
    in_axes = axes.transScale + axes.transLimits
    drawn = np.concatenate([in_axes.transform(_along(series)) for series in panel.series])
    for left, bottom in itertools.product((0.0, (1 - width) / 2, 1 - width), (0.0, (1 - height) / 2, 1 - height)):
        if not (((drawn - (left, bottom)) >= 0) & (drawn <= (left + width, bottom + height))).all(axis=1).any():
            axes.legend(loc="best")
            return
    bottom, top = axes.get_ylim()
    if panel.y_scale == "linear" and not panel.y_names:  # a probability has no tick at 1.5
        axes.set_yticks([tick for tick in axes.get_yticks() if bottom <= tick <= top])
    scale = axes.yaxis.get_transform()
    low, high = scale.transform((bottom, top))
    axes.set_ylim(top=scale.inverted().transform([low + (high - low) / (1 - height)])[0])
    axes.legend(loc="upper center")


def _along(series: Series) -> NDArray[np.float64]:
    """Points of a series and, where a line joins them, between them."""
    points = np.column_stack([np.asarray(series.x, dtype=float), np.asarray(series.y, dtype=float)])
    if series.marks_only:
        return points
    return np.concatenate([points, *(points[:-1] + share * np.diff(points, axis=0) for share in BETWEEN)])


def _draw_series(axes: Axes, series: Series, of_its_role: int, measured_before: int) -> None:
    colours = COLOURS[series.role]
    colour = colours[of_its_role % len(colours)]
    axes.plot(
        series.x,
        series.y,
        linestyle="" if series.marks_only else LINES[series.role],
        marker=MARKERS[measured_before % len(MARKERS)] if series.role in MEASURED else "",
        # Each smaller than the one before it, so that series which coincide all stay visible.
        markersize=max(3.0, 8.5 - 2.0 * measured_before),
        color=colour,
        linewidth=1.6,
        label=series.label,
        zorder=4 if series.role is Role.CEILING else 3,
    )
    if series.lower and series.upper:
        axes.fill_between(series.x, series.lower, series.upper, color=colour, alpha=0.18, linewidth=0)


def _plain_number(value: float, _position: int) -> str:
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:g}".replace("-", MINUS)
    power = math.floor(math.log10(abs(value)) + 1e-9)
    factor = f"{abs(value) / 10.0**power:.3g}"
    many = "" if factor == "1" else f"{factor}·"
    return f"{MINUS if value < 0 else ''}{many}10{str(power).translate(SUPERSCRIPTS)}"

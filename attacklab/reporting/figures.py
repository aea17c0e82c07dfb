"""What a figure shows, as data: made by experiments, drawn by `plots`."""

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from attacklab.model.findings import Verdict

Scale: TypeAlias = Literal["linear", "log", "symlog"]

MINUS = "\N{MINUS SIGN}"
SUPERSCRIPTS = str.maketrans("+-−0123456789kntux", "⁺⁻⁻⁰¹²³⁴⁵⁶⁷⁸⁹ᵏⁿᵗᵘˣ")
POWER = re.compile(r"\^([+−-]?(?:\d+|[kntux])\b)")
SCIENTIFIC = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)e([+−-]?)0*(\d+)\b")


class Role(enum.StrEnum):
    """What a series stands for. Each role has its own colours and line styles."""

    NAIVE = "naive"
    EXACT = "exact"
    IDEAL = "ideal"
    CEILING = "ceiling"
    OTHER = "other"


@dataclass(frozen=True, kw_only=True)
class Series:
    """One line of a panel, with confidence bounds where it was measured.

    Attributes:
        label: the entry in the legend.
        role: what the series stands for.
        x: the x coordinates.
        y: the y coordinates, one for each x.
        lower: lower confidence bounds of y, or empty.
        upper: upper confidence bounds of y, or empty.
        marks_only: whether the points stand alone, with no line through them.
    """

    label: str
    role: Role
    x: Sequence[float]
    y: Sequence[float]
    lower: Sequence[float] = ()
    upper: Sequence[float] = ()
    marks_only: bool = False

    def __post_init__(self) -> None:
        lengths = {len(self.x), len(self.y), len(self.lower) or len(self.x), len(self.upper) or len(self.x)}
        if len(lengths) != 1 or not len(self.x):
            raise ValueError(f"series {self.label!r} needs as many y and bounds as x, and at least one")


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One set of axes.

    Attributes:
        title: the title above the axes.
        x_label: the label of the x axis, with the unit.
        y_label: the label of the y axis, with the unit.
        series: the series to draw, in the order of the legend.
        x_scale: the scale of the x axis.
        y_scale: the scale of the y axis.
        x_names: names at x = 0, 1, 2, … instead of numbers.
        y_names: names at y = 0, 1, 2, … instead of numbers.
    """

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    x_scale: Scale = "linear"
    y_scale: Scale = "linear"
    x_names: Sequence[str] = ()
    y_names: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One cell of a matrix: a verdict (None if nothing was run) and a few characters to write on it."""

    verdict: Verdict | None
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """Verdicts by rows and columns.

    Attributes:
        title: the title above the matrix.
        row_names: the names at the left, from top to bottom.
        column_names: the names at the top, from left to right.
        cells: a row for each row name, with a cell for each column name.
    """

    title: str
    row_names: Sequence[str]
    column_names: Sequence[str]
    cells: Sequence[Sequence[Cell]]

    def __post_init__(self) -> None:
        if not self.row_names or not self.column_names:
            raise ValueError(f"matrix {self.title!r} needs at least one row and one column")
        if [len(row) for row in self.cells] != [len(self.column_names)] * len(self.row_names):
            raise ValueError(f"matrix {self.title!r} needs a row of cells a row name and a cell a column name")


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure of panels, two in a row (an odd last one is as wide as two), or of matrices, one below the other.

    Attributes:
        name: the file name without its ending.
        caption: one line under the figure.
        panels: from left to right, row by row.
    """

    name: str
    caption: str
    panels: Sequence[Panel | Matrix] = field(default_factory=tuple)


def typeset(text: str) -> str:
    """Write powers as a reader expects them: "2^−1074" as "2⁻¹⁰⁷⁴", "e^−t" as "e⁻ᵗ", "1.5e-06" as "1.5·10⁻⁶"."""
    return POWER.sub(lambda match: match[1].translate(SUPERSCRIPTS), SCIENTIFIC.sub(_power_of_ten, text))


def _power_of_ten(match: re.Match[str]) -> str:
    factor, sign, power = match.groups()
    return f"{'' if factor == '1' else factor + '·'}10^{sign.replace('+', '')}{power}"

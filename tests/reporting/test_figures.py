"""Figures as data: what is refused, and how numbers in their texts are set."""

from dataclasses import replace
from typing import Any

import pytest

from attacklab.model.findings import Verdict
from attacklab.reporting.figures import Cell, Figure, Matrix, Panel, Role, Series, typeset

FIGURE = Figure(
    name="some_figure",
    caption="What is seen.",
    panels=[
        Panel(
            title="left",
            x_label="ε",
            y_label="advantage",
            x_scale="log",
            y_scale="symlog",
            series=[
                Series(label="n", role=Role.NAIVE, x=[0.1, 1.0], y=[0.5, 0.7], lower=[0.4, 0.6], upper=[0.6, 0.8]),
                Series(label="e", role=Role.EXACT, x=[0.1, 1.0], y=[0.0, -0.01]),
                Series(label="i", role=Role.IDEAL, x=[0.1, 1.0], y=[0.01, 0.02]),
                Series(label="c", role=Role.CEILING, x=[0.1, 1.0], y=[0.05, 0.46]),
            ],
        ),
        Panel(
            title="right",
            x_label="place",
            y_label="",
            x_names=["here", "there"],
            y_names=["low", "high"],
            series=[Series(label="o", role=Role.OTHER, x=[0, 1], y=[1, 0], marks_only=True)],
        ),
    ],
)

UNDECIDED = Cell(verdict=Verdict.INCONCLUSIVE)
MATRIX = Figure(
    name="some_matrix",
    caption="What is refuted.",
    panels=[
        Matrix(
            title="all",
            row_names=["naive", "exact", "slack"],
            column_names=["rounding", "cast", "law"],
            cells=[
                [
                    Cell(verdict=Verdict.VIOLATED, text="0.98"),
                    Cell(verdict=Verdict.ERROR),
                    Cell(verdict=Verdict.PROVED),
                ],
                [Cell(verdict=Verdict.NOT_DETECTED, text="0.03"), Cell(verdict=Verdict.NOT_APPLICABLE), UNDECIDED],
                [Cell(verdict=Verdict.PROVED), Cell(verdict=None), UNDECIDED],
            ],
        )
    ],
)


def test_a_malformed_figure_is_refused() -> None:
    matrix, series = MATRIX.panels[0], FIGURE.panels[0].series[0]
    changed: dict[str, Any]
    for changed in ({"cells": matrix.cells[:1]}, {"cells": [row[:2] for row in matrix.cells]}, {"row_names": []}):
        with pytest.raises(ValueError, match=r"needs a row of cells|at least one row"):
            replace(matrix, **changed)
    for changed in ({"y": [1.0]}, {"lower": [0.1]}, {"x": [], "y": [], "lower": (), "upper": ()}):
        with pytest.raises(ValueError, match="series 'n' needs as many y and bounds as x, and at least one"):
            replace(series, **changed)


@pytest.mark.parametrize(
    ("plain", "set_in_type"),
    [
        ("2^−1074", "2⁻¹⁰⁷⁴"),
        ("records in [1, 1 + 2^-48]", "records in [1, 1 + 2⁻⁴⁸]"),
        ("integers near 2^60 cast", "integers near 2⁶⁰ cast"),
        ("½·e^−t, 2^k and 2^−u", "½·e⁻ᵗ, 2ᵏ and 2⁻ᵘ"),
        ("δ = 1e-06", "δ = 10⁻⁶"),
        ("−1.8e+308", "−1.8·10³⁰⁸"),
        ("5e-3", "5·10⁻³"),
        ("10e10", "10·10¹⁰"),
        ("naive_1e5, x1e5 and 0x1e5", "naive_1e5, x1e5 and 0x1e5"),
        ("bfloat16: 64 doubles, ε = 1.05", "bfloat16: 64 doubles, ε = 1.05"),
    ],
)
def test_powers_are_raised_and_names_are_left_alone(plain: str, set_in_type: str) -> None:
    assert typeset(plain) == set_in_type
    assert typeset(set_in_type) == set_in_type

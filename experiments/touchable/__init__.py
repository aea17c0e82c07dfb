"""What the touchable figures of the lessons show, computed by the lab: `python -m experiments.touchable` writes it.

A browser's +, −, ×, ÷ are those of Python, and the figures use them. What needs a law or an attack of the lab is
computed here, once, and stands as JSON beside the figures' code in docs/_static/figures/. Doubles that must arrive to
the last bit are written in hexadecimal or as integers; other numbers are rounded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attacklab.model.files import write_whole
from experiments.touchable import (
    betting,
    coin_tree,
    noisy_doubles,
    order_of_sums,
    two_laws,
    vanishing_weight,
    which_database,
)

FOLDER = Path(__file__).parents[2] / "docs" / "_static" / "figures"

FIGURES: Mapping[str, Callable[[], dict[str, Any]]] = {
    "two_laws": two_laws.collect,
    "which_database": which_database.collect,
    "vanishing_weight": vanishing_weight.collect,
    "noisy_doubles": noisy_doubles.collect,
    "order_of_sums": order_of_sums.collect,
    "coin_tree": coin_tree.collect,
    "betting": betting.collect,
}
"""The figures by name, in the order of the lessons."""


def write(folder: Path = FOLDER) -> None:
    """Compute and write the data of every figure, one file NAME.json each."""
    for name, collect in FIGURES.items():
        write_whole(folder / f"{name}.json", json.dumps(collect(), separators=(",", ":")) + "\n")

"""The texts of the experiments' pages, with fields for measured numbers, from `data/paragraphs.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path


def read_paragraphs(package: Path) -> Mapping[str, str]:
    """Return the texts of the pages of a package of experiments, by experiment."""
    return tomllib.loads((package / "data" / "paragraphs.toml").read_text("utf-8"))


PARAGRAPHS = read_paragraphs(Path(__file__).parents[1])
"""The texts of the pages of this package, by experiment."""

"""What the pages of the experiments say, with places for what was measured: `data/paragraphs.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path


def read_paragraphs(package: Path) -> Mapping[str, str]:
    """The paragraphs of a package of experiments, by experiment."""
    return tomllib.loads((package / "data" / "paragraphs.toml").read_text("utf-8"))


PARAGRAPHS = read_paragraphs(Path(__file__).parents[1])
"""By experiment."""

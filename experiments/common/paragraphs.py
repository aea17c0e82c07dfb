"""What the pages of the experiments say, with places for what was measured: `data/paragraphs.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

_TEXT = (Path(__file__).parent.parent / "data" / "paragraphs.toml").read_text("utf-8")

PARAGRAPHS: Mapping[str, str] = tomllib.loads(_TEXT)
"""By experiment."""

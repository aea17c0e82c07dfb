"""What the files of vectors hold, and what the flags of their cases mean: `data/vector_*.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from attacklab.vectors import Note

_DATA = Path(__file__).parent.parent / "data"

DESCRIPTIONS: Mapping[str, str] = tomllib.loads((_DATA / "vector_descriptions.toml").read_text("utf-8"))
"""By type."""
NOTES: Mapping[str, Note] = {
    flag: Note(**note) for flag, note in tomllib.loads((_DATA / "vector_notes.toml").read_text("utf-8")).items()
}

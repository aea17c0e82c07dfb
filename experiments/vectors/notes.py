"""What the flags of the cases mean, from `data/vector_notes.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from attacklab.vectors import Note

_TEXT = (Path(__file__).parent.parent / "data" / "vector_notes.toml").read_text("utf-8")

NOTES: Mapping[str, Note] = {flag: Note(**note) for flag, note in tomllib.loads(_TEXT).items()}

"""The page that a reviewer signs names every file that has to be read."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanations" / "what_to_sign.md").read_text("utf-8")


def test_the_page_names_every_file_that_has_to_be_read() -> None:
    core = [Path(path) for path in json.loads((ROOT / "checker" / "readings.json").read_bytes()) if "/core/" in path]
    files = [path.stem for path in core]
    assert [name for name in files if f"`{name}`" not in PAGE and name != "__init__"] == []

"""The committed files, read once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from attacklab.vectors import read_file

FOLDER = Path(__file__).parents[3] / "vectors"


@pytest.fixture(scope="session")
def files() -> Mapping[str, Any]:
    """Type → the file."""
    return {path.stem: read_file(path) for path in sorted(FOLDER.glob("*.json"))}

"""The committed files, read once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.system.experiments.vector_files import FOLDER, vector_file


@pytest.fixture(scope="session")
def files() -> Mapping[str, Any]:
    """Type → the file."""
    return {path.stem: vector_file(path.stem) for path in sorted(FOLDER.glob("*.json"))}

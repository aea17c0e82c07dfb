"""A checkout of a lab with experiments of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = "experiments"
MARKER = f'[tool.attacklab]\nexperiments = "{PACKAGE}"\n'


@pytest.fixture
def own_experiments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A lab with an empty package `experiments`, which hides the project's own one while the test runs."""
    (tmp_path / PACKAGE).mkdir()
    (tmp_path / PACKAGE / "__init__.py").write_text("")
    (tmp_path / "pyproject.toml").write_text(MARKER)
    monkeypatch.setattr(sys, "path", list(sys.path))
    kept = _taken_out()
    yield tmp_path
    _taken_out()
    sys.modules.update(kept)


def _taken_out() -> dict[str, object]:
    names = [name for name in sys.modules if name.partition(".")[0] == PACKAGE]
    return {name: sys.modules.pop(name) for name in names}

"""What is run as `python -m experiments.…` and takes hours begins with what it was asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
MODULES = sorted(path.parent.name for path in (ROOT / "experiments").glob("*/__main__.py"))


@pytest.mark.parametrize("module", MODULES)
def test_an_unknown_option_is_refused_before_anything_is_done(module: str) -> None:
    command = [sys.executable, "-m", f"experiments.{module}", "--nothing-known"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
    assert found.returncode == 2
    assert f"usage: python -m experiments.{module}" in found.stderr

"""What `pip install .` brings is enough for audits and the pytest plugin; what draws pages is an extra."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

OF_PAGES = ("jinja2", "jsonschema", "markdown_it", "matplotlib", "referencing")
BLOCK = f"""import sys
for name in {OF_PAGES}:
    sys.modules[name] = None
"""
TARGET = """import numpy as np
def naive(answer, trials, rng):
    return answer + rng.laplace(size=trials)
"""


def run(folder: Path, code: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter in which the modules of the extra cannot be imported."""
    (folder / "target.py").write_text(TARGET)
    command = [sys.executable, "-c", BLOCK + code, *words]
    environment = {**os.environ, "PYTEST_ADDOPTS": "", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(  # noqa: S603
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


COMMAND = "from attacklab.cli import main; main()"
LINE = ("audit", "target.py:naive", "--kind", "noise", "--epsilon", "1")


def test_the_command_line_needs_nothing_that_draws_pages(tmp_path: Path) -> None:
    done = run(tmp_path, COMMAND, *LINE, "--json", "found.json", "--sarif", "found.sarif")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("FAIL  naive")
    assert {path.name for path in tmp_path.iterdir()} == {"target.py", "found.json", "found.sarif"}


@pytest.mark.parametrize(
    "words", [(*LINE, "--html", "page.html"), ("vectors", ".", "--exec", "true")], ids=["page", "vectors"]
)
def test_what_needs_the_extra_says_so_in_one_line_before_anything_runs(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = run(tmp_path, COMMAND, *words)
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.strip().splitlines()
    assert line.endswith("which is not installed: in a clone, pip install '.[pages]'")

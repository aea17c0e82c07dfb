"""Somebody installs the wheel and has no clone: what is listed runs, and what needs a clone says so in one line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from attacklab.cli import COMMANDS
from tests.installed import environment_with_wheel, run
from tests.test_packaging import ROOT

pytestmark = pytest.mark.slow

NEED_LAB = [command.name for command in COMMANDS if command.needs_lab]
LISTED = [command.name for command in COMMANDS if not command.needs_lab]


@pytest.fixture(scope="module")
def attacklab(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script that the wheel installs."""
    return str(environment_with_wheel(tmp_path_factory.mktemp("wheel")) / "attacklab")


def _listed(help_text: str) -> list[str]:
    return re.findall(r"(?m)^  (\w+)  ", help_text.partition("Commands:\n")[2])


def test_the_help_lists_what_runs_without_a_clone_and_in_a_clone_everything(attacklab: str, tmp_path: Path) -> None:
    assert NEED_LAB == ["run", "demo", "challenge"]
    assert _listed(run([attacklab, "--help"], tmp_path).stdout) == LISTED
    assert _listed(run([attacklab, "--help"], ROOT).stdout) == [command.name for command in COMMANDS]
    (tmp_path / "pyproject.toml").write_text("[tool", "utf-8")
    assert _listed(run([attacklab, "--help"], tmp_path).stdout) == LISTED


@pytest.mark.parametrize("words", [["challenge"], ["demo", "low_bits"], ["vectors", "write"]])
def test_what_needs_a_clone_says_so_in_one_line_and_ends_with_2(
    attacklab: str, tmp_path: Path, words: list[str]
) -> None:
    done = run([attacklab, *words], tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("attacklab: no experiments/ in this folder; run it from a checkout of the lab's repository")
    assert list(tmp_path.iterdir()) == []

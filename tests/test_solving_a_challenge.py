"""The student's first challenge: the page's commands run in a clone and print what it shows."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from challenges import CHALLENGES
from challenges.library import choices
from tests.sessions import ROOT, require_shown, sessions, write_files

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs" / "how_to" / "challenges.md").read_text("utf-8")


def test_the_table_has_a_row_for_every_step() -> None:
    steps = re.findall(r"(?m)^## (\w+)$", PAGE)
    assert re.findall(r"(?m)^\| \[(\w+)\]\(#\w+\) \|", PAGE) == steps


def test_the_lines_that_are_shown_are_the_mechanism_s() -> None:
    (shown,) = re.findall(r"```python\n(weights.*?)```", PAGE, flags=re.DOTALL)
    source = Path(choices.__file__).read_text("utf-8")
    assert all(line in source for line in shown.splitlines())
    assert f"`WEIGHT_BITS` is {choices.WEIGHT_BITS}" in PAGE
    assert CHALLENGES[7].mechanism is choices.cheapest_plan


@pytest.mark.skipif(os.name != "posix", reason="the commands are those of a POSIX shell")
@pytest.mark.parametrize("session", sessions(PAGE), ids=lambda session: session.splitlines()[0])
def test_a_step_goes_as_it_is_told(session: str, tmp_path: Path) -> None:
    for entry in ROOT.iterdir():  # the repository, and beside its files room for others
        if not entry.name.startswith("."):
            (tmp_path / entry.name).symlink_to(entry)
    write_files(PAGE, tmp_path)
    require_shown(session, tmp_path, tmp_path / "bin")

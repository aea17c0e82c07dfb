"""The sheet of journeys: each runs as it stands, in an empty folder, and prints what the page shows."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from tests.system.sessions import ROOT, require_shown, sessions, write_files

(SHEET,) = ROOT.glob("docs/**/journeys.md")
SECTIONS = dict(re.findall(r"(?ms)^## ([^\n]+)\n(.*?)(?=^## |\Z)", SHEET.read_text("utf-8")))
NEEDED = {"C": "cc", "Java": "javac"}
INSTALLS = "A wheel in an empty environment"
"""What it says is tested by tests/system/test_packaging.py, without a registry of packages."""


def test_the_table_has_a_row_for_every_journey() -> None:
    rows = re.findall(r"(?m)^\| \[[^\]]+\]\(#([\w-]+)\) \|", SHEET.read_text("utf-8"))
    assert rows == [re.sub(r"\W+", "-", title).lower() for title in SECTIONS]
    assert len(rows) == 9


@pytest.mark.skipif(os.name != "posix", reason="the commands are those of a POSIX shell")
@pytest.mark.parametrize("title", [title for title in SECTIONS if title != INSTALLS])
def test_a_journey_goes_as_it_is_told(title: str, tmp_path: Path) -> None:
    needed = NEEDED.get(title)
    if needed is not None and shutil.which(needed) is None:
        pytest.skip(f"there is no {needed} here")
    folder = tmp_path / "folder"
    shutil.copytree(ROOT / "examples", folder / "examples")
    write_files(SECTIONS[title], folder)
    (session,) = sessions(SECTIONS[title])
    require_shown(session, folder, tmp_path / "bin")

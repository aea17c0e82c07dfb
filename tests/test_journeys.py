"""The sheet of journeys: each runs as it stands, in an empty folder, and prints what the page shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
(SHEET,) = ROOT.glob("docs/**/journeys.md")
SECTIONS = dict(re.findall(r"(?ms)^## ([^\n]+)\n(.*?)(?=^## |\Z)", SHEET.read_text("utf-8")))
NEEDED = {"C": "cc", "JavaScript": "node", "Java": "javac"}
INSTALLS = "A wheel in an empty environment"
"""What it says is tested by tests/test_packaging.py, without a registry of packages."""

PROGRAMS = {"python": [sys.executable], "attacklab": [sys.executable, "-m", "attacklab"]}


def test_the_table_has_a_row_for_every_journey() -> None:
    rows = re.findall(r"(?m)^\| \[[^\]]+\]\(#([\w-]+)\) \|", SHEET.read_text("utf-8"))
    assert rows == [re.sub(r"\W+", "-", title).lower() for title in SECTIONS]
    assert len(rows) == 10


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="the commands are those of a POSIX shell")
@pytest.mark.parametrize("title", [title for title in SECTIONS if title != INSTALLS])
def test_a_journey_goes_as_it_is_told(title: str, tmp_path: Path) -> None:
    needed = NEEDED.get(title)
    if needed is not None and shutil.which(needed) is None:
        pytest.skip(f"there is no {needed} here")
    folder = tmp_path / "folder"
    shutil.copytree(ROOT / "examples", folder / "examples")
    for name, text in re.findall(r"(?ms)^<!-- ([\w.]+) -->\n```\w+\n(.*?)^```", SECTIONS[title]):
        (folder / name).write_text(text, "utf-8")
    (session,) = re.findall(r"(?ms)^```console\n(.*?)^```", SECTIONS[title])
    printed = _printed(session, folder, tmp_path / "bin")
    for line in session.splitlines():
        if line.startswith("$ "):
            place = printed.index(line)
            printed = printed[place + 1 :]
        elif line != "...":
            shown = re.compile(re.escape(line).replace(r"\.\.\.", ".*").replace(r"\ ", " +"))
            place = next((place for place, one in enumerate(printed) if shown.fullmatch(one)), None)
            assert place is not None, f"{line!r} is not in\n" + "\n".join(printed)
            printed = printed[place + 1 :]


def _printed(session: str, folder: Path, programs: Path) -> list[str]:
    """What a shell prints, each command before its own output."""
    programs.mkdir()
    for name, words in PROGRAMS.items():
        (programs / name).write_text(f'#!/bin/sh\nexec {" ".join(words)} "$@"\n', "utf-8")
        (programs / name).chmod(0o755)
    lines = ["status=0"]
    for line in session.splitlines():
        if line == "$ echo $?":
            lines += ["echo '$ echo $?'", "echo $status"]
        elif line.startswith("$ "):
            lines += [f"cat <<'END'\n{line}\nEND", line.removeprefix("$ "), "status=$?"]
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    environment.pop("COLUMNS", None)
    done = subprocess.run(  # noqa: S603 - our own page
        ["/bin/sh", "-c", "\n".join(lines)],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    return done.stdout.splitlines()

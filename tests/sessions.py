"""What a page shows of a session in a shell, held to what the commands print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROGRAMS = {"python": [sys.executable], "attacklab": [sys.executable, "-m", "attacklab"]}


def write_files(text: str, folder: Path) -> None:
    """Write the files that a page shows, each below its name in a comment."""
    for name, content in re.findall(r"(?ms)^<!-- ([\w.]+) -->\n```\w+\n(.*?)^```", text):
        (folder / name).write_text(content, "utf-8")


def sessions(text: str) -> list[str]:
    """The sessions that a page shows."""
    return re.findall(r"(?ms)^```console\n(.*?)^```", text)


def require_shown(session: str, folder: Path, programs: Path) -> None:
    """Run a session's commands in a folder; what is shown must be printed, where `...` stands for anything.

    Args:
        session: lines, of which those that begin with `$ ` are commands.
        folder: where they run.
        programs: a folder for scripts that stand for the programs.
    """
    printed = _printed(session, folder, programs)
    for line in session.splitlines():
        if line.startswith("$ "):
            place = printed.index(line)
            printed = printed[place + 1 :]
        elif line != "...":
            shown = re.compile(re.escape(line).replace(r"\.\.\.", ".*").replace(r"\ ", " +"))
            place = next((place for place, one in enumerate(printed) if shown.fullmatch(one)), -1)
            assert place >= 0, f"{line!r} is not in\n" + "\n".join(printed)
            printed = printed[place + 1 :]


def _printed(session: str, folder: Path, programs: Path) -> list[str]:
    """What a shell prints, each command before its own output."""
    programs.mkdir(exist_ok=True)
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

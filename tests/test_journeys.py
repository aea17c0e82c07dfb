"""Each session that a page shows runs as it stands, and prints what is shown: mechanisms tested, challenges solved."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from challenges import CHALLENGES
from challenges.library import choices

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PROGRAMS = {"python": [sys.executable], "attacklab": [sys.executable, "-m", "attacklab"]}
PAGES = {
    name: (ROOT / "docs" / "how_to" / f"{name}.md").read_text("utf-8")
    for name in ("auditing", "any_language", "challenges")
}
SESSIONS = [
    (page, session) for page, text in PAGES.items() for session in re.findall(r"(?ms)^```console\n(.*?)^```", text)
]
COMPILERS = ("cc", "javac")


@pytest.mark.skipif(os.name != "posix", reason="the commands are those of a POSIX shell")
@pytest.mark.parametrize(("page", "session"), SESSIONS, ids=[session.splitlines()[0] for _, session in SESSIONS])
def test_a_session_goes_as_it_is_told(page: str, session: str, tmp_path: Path) -> None:
    """What is shown must be printed, in this order, where `...` stands for anything."""
    for needed in COMPILERS:
        if session.startswith(f"$ {needed} ") and shutil.which(needed) is None:
            pytest.skip(f"there is no {needed} here")
    _require_shown(session, _folder(page, tmp_path / "folder"), tmp_path / "bin")


def _require_shown(session: str, folder: Path, programs: Path) -> None:
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


def test_the_lines_that_the_last_challenge_shows_are_the_mechanism_s() -> None:
    (shown,) = re.findall(r"```python\n(weights.*?)```", PAGES["challenges"], flags=re.DOTALL)
    source = Path(choices.__file__).read_text("utf-8")
    assert all(line in source for line in shown.splitlines())
    assert f"`WEIGHT_BITS` is {choices.WEIGHT_BITS}" in PAGES["challenges"]
    assert CHALLENGES[7].mechanism is choices.cheapest_plan


def _folder(page: str, folder: Path) -> Path:
    """The folder of a page's sessions, with the files that the page shows, each below its name in a comment."""
    folder.mkdir()
    for entry in ROOT.iterdir():  # a challenge runs in a clone, and beside its files there is room for others
        if page == "challenges" and not entry.name.startswith("."):
            (folder / entry.name).symlink_to(entry)
    if page != "challenges":
        shutil.copytree(ROOT / "examples", folder / "examples")
    for name, content in re.findall(r"(?ms)^<!-- ([\w.]+) -->\n```\w+\n(.*?)^```", PAGES[page]):
        (folder / name).write_text(content, "utf-8")
    return folder


def _printed(session: str, folder: Path, programs: Path) -> list[str]:
    """What a shell prints, each command before its own output; scripts in a folder stand for the programs."""
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

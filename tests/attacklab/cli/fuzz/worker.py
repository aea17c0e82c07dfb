"""Runs cases of the command line, each in a fork of this process, which has imported all that they use.

It reads one case a line, as JSON, and writes one outcome a line. Whatever a case starts and leaves behind becomes a
child of this process, wherever in the tree of processes it was, so that none is overlooked.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import importlib
import json
import os
import shutil
import signal
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from attacklab.cli import app
from attacklab.errors import UsageError
from tests.attacklab.cli.fuzz.cases import Case, Outcome

SECONDS = 120.0
"""How long a case may take, on a loaded machine too."""

ENDING_SECONDS = 5.0
"""How long processes of a case may take to end after it."""

PR_SET_CHILD_SUBREAPER = 36

PRELOADED = ("audit", "prove", "explain", "calibrate", "list_", "vectors", "supervised")


def main() -> None:
    """Answer every case until the input ends."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for name in (
        *(f"attacklab.cli.{each}" for each in PRELOADED),
        "scipy.special",
        "scipy.stats",
        "concurrent.futures",
    ):
        importlib.import_module(name)
    with contextlib.suppress(UsageError):  # what parsing imports
        app(["audit", "nowhere.py:x", "--epsilon", "1", "--seed", "0"], standalone_mode=False)
    answers = os.dup(1)
    os.dup2(2, 1)
    for line in sys.stdin:
        case = Case(**json.loads(line))
        place = Path(tempfile.mkdtemp())  # not for a context: the fork that is the case leaves it too, by an exit
        outcome = _outcome(case, place)
        shutil.rmtree(place)
        os.write(answers, f"{json.dumps(asdict(outcome))}\n".encode())


def _outcome(case: Case, place: Path) -> Outcome:
    folder, temporary = place / "folder", place / "temporary"
    folder.mkdir()
    temporary.mkdir()
    _fill(folder, case)
    before = _contents(folder)
    output, error = place / "output", place / "error"
    started = time.monotonic()
    child = os.fork()
    if not child:
        _become(case, folder, temporary, output, error)
    status = _ended(child, started + SECONDS)
    seconds = time.monotonic() - started
    orphans = tuple(_orphans())
    after = _contents(folder)
    altered = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    record = None if case.record in (None, "-") else folder / str(case.record)
    return Outcome(
        status=status,
        output=output.read_bytes().decode("utf-8", "replace"),
        error=error.read_bytes().decode("utf-8", "replace"),
        record=record.read_text("utf-8") if record is not None and record.is_file() else None,
        orphans=orphans,
        altered=tuple(sorted(altered - set(case.changes))),
        left=tuple(str(path.relative_to(temporary)) for path in temporary.rglob("*")),
        seconds=seconds,
    )


def _fill(folder: Path, case: Case) -> None:
    for name, text in case.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8", errors="surrogateescape")
    for name, leads_to in case.links.items():
        (folder / name).symlink_to(leads_to)
    for name in case.pipes:
        os.mkfifo(folder / name)
    for name in case.read_only:
        (folder / name).chmod(0o444)


def _contents(folder: Path) -> dict[str, str]:
    """Every file of a folder, but for compiled modules, with its mode and what it holds."""
    found = {}
    for path in folder.rglob("*"):
        if "__pycache__" in path.parts:
            continue
        mode = path.lstat().st_mode
        held = str(path.readlink()) if stat.S_ISLNK(mode) else ""
        if stat.S_ISREG(mode):
            held = hashlib.sha256(path.read_bytes()).hexdigest()
        found[str(path.relative_to(folder))] = f"{mode:o} {held}"
    return found


def _become(case: Case, folder: Path, temporary: Path, output: Path, error: Path) -> None:
    """Be a process that a shell has just started."""
    os.setsid()
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    for number, file, how in ((0, Path(os.devnull), os.O_RDONLY), (1, output, flags), (2, error, flags)):
        os.dup2(os.open(file, how, 0o600), number)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", errors="backslashreplace")  # noqa: SIM115
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc]
    os.chdir(folder)
    os.environ["TMPDIR"], tempfile.tempdir = str(temporary), None
    sys.argv = ["attacklab", *case.words]
    importlib.import_module("attacklab.cli.supervised").main()


def _ended(child: int, deadline: float) -> int | None:
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _orphans() -> list[str]:
    """The command lines of what a case has left running, once it had the time to end; it is ended now."""
    deadline = time.monotonic() + ENDING_SECONDS
    while (left := list(_children())) and time.monotonic() < deadline:
        time.sleep(0.02)
    told = []
    for child in left:
        with contextlib.suppress(OSError):
            told.append(Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    return told


def _children() -> Iterator[int]:
    """The children of this process, which reaps those that have ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            if int(place.read_text("latin-1").rpartition(")")[2].split()[1]) == os.getpid():
                yield int(place.parent.name)


if __name__ == "__main__":
    main()

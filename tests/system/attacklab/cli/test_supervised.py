"""The program `attacklab`: whatever a target does to its process, the status says what was found, and no more."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
MAIN = [sys.executable, "-c", "from attacklab.cli.supervised import main; main()"]
POSIX = pytest.mark.skipif(not hasattr(os, "fork"), reason="the parent is there where a system can fork")

TARGETS = """
import os
import signal
import time

def leaves(answer, trials, rng):
    os._exit(0)

def crashes(answer, trials, rng):
    os.kill(os.getpid(), signal.SIGSEGV)

def waits(answer, trials, rng):
    open("began", "w").close()
    for _ in range(6000):  # a signal that comes just before a sleep is handled after it
        time.sleep(0.01)
"""


def audited(folder: Path, name: str, *options: str) -> list[str]:
    (folder / "targets.py").write_text(TARGETS)
    claimed = ["--kind", "noise", "--epsilon", "1"]
    return [*MAIN, "audit", f"targets.py:{name}", *claimed, "--attack", "generator_seed", *options]


def run(line: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=False)  # noqa: S603


@POSIX
@pytest.mark.parametrize(
    ("name", "told"), [("leaves", "was ended from within (status 0)"), ("crashes", "was killed by SIGSEGV")]
)
def test_a_target_that_ends_the_process_is_noticed(tmp_path: Path, name: str, told: str) -> None:
    done = run(audited(tmp_path, name, "--trials", "100"), tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1] == (
        f"attacklab: the process {told}, so nothing was judged; run the target in a process of its own: --isolate"
    )


def test_the_status_of_a_command_is_handed_on(tmp_path: Path) -> None:
    assert run([*MAIN, "nonsense"], tmp_path).returncode == 2
    assert run([*MAIN, "--help"], tmp_path).returncode == 0


@POSIX
@pytest.mark.parametrize("group", [True, False])
@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGKILL, -signal.SIGKILL)],
)
def test_a_signal_ends_the_command_and_the_process_that_works_for_it(
    tmp_path: Path, number: signal.Signals, status: int, group: bool
) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(  # noqa: S603
        audited(tmp_path, "waits", "--trials", "100"),
        cwd=tmp_path,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        deadline = time.monotonic() + 60
        while not (tmp_path / "began").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        (os.killpg if group else os.kill)(process.pid, number)
        _, told = process.communicate(timeout=30)  # its end: the working process holds the stream open too
    assert process.returncode == status, told
    assert "Traceback" not in told
    assert ("interrupted, nothing was saved" in told) is (number is signal.SIGINT)


ENDS_FIRST = """
import os
import signal
from attacklab.cli.supervised import main

real = os.waitpid

def waitpid(child, options):
    ended = real(child, options)
    signal.raise_signal(signal.SIGTERM)  # handled when the child has ended of the same signal
    return ended

os.waitpid = waitpid
main()
"""


@POSIX
def test_a_signal_may_arrive_after_the_working_process_ended(tmp_path: Path) -> None:
    done = run([sys.executable, "-c", ENDS_FIRST, "--help"], tmp_path)
    assert (done.returncode, done.stderr) == (0, "")

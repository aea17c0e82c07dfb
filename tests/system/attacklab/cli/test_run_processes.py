"""What runs experiments beside each other ends with the command that started it, even if that is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

STARTS = """
import multiprocessing, os, sys, time
from concurrent.futures import ProcessPoolExecutor
from attacklab.cli.run import _end_with_parent

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, initializer=_end_with_parent) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        pool.submit(time.sleep, 600).result()
"""


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_worker_ends_when_its_command_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "starts.py"
    script.write_text(STARTS, "utf-8")
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as command:  # noqa: S603
        assert command.stdout is not None
        worker = int(command.stdout.readline())
        command.send_signal(signal.SIGKILL)
    until = time.monotonic() + 60
    while _is_alive(worker) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _is_alive(worker)

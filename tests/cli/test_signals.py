"""The program `attacklab` as a process: its status, and how signals end it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer

from attacklab.cli.audit import _interruptible
from attacklab.cli.messages import Status
from attacklab.model.findings import Interrupted

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
MAIN = [sys.executable, "-c", "from attacklab.cli import main; main()"]
POSIX = pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has other signals")

TARGETS = """
import time

def waits(answer, trials, rng):
    open("began", "w").close()
    for _ in range(6000):  # a signal that comes just before a sleep is handled after it
        time.sleep(0.01)
"""


def audited(folder: Path, name: str, *options: str) -> list[str]:
    (folder / "targets.py").write_text(TARGETS)
    claimed = ["--kind", "noise", "--epsilon", "1"]
    return [*MAIN, "audit", f"targets.py:{name}", *claimed, "--attack", "generator_seed", *options]


@POSIX
@pytest.mark.parametrize(
    ("number", "status", "group"), [(signal.SIGINT, 130, True), (signal.SIGTERM, -signal.SIGTERM, False)]
)
def test_a_signal_ends_the_command(tmp_path: Path, number: signal.Signals, status: int, group: bool) -> None:
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
        _, told = process.communicate(timeout=30)
    assert process.returncode == status, told
    assert "Traceback" not in told
    assert ("interrupted, nothing was saved" in told) is (number is signal.SIGINT)


@pytest.mark.parametrize(("refutes", "said"), [(True, "what was refuted by then"), (False, "nothing was saved")])
def test_ctrl_c_shows_what_was_refuted_by_then(refutes: bool, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown: list[Any] = []
    finding: Any = SimpleNamespace(refutes=refutes)
    with pytest.raises(typer.Exit) as ended, _interruptible(shown.extend):
        raise Interrupted([finding])
    assert shown == [finding] * refutes
    assert ended.value.exit_code == Status.INTERRUPTED
    assert said in capsys.readouterr().err
